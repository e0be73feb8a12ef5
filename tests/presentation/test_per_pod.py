"""Values cached per pod equal freshly computed ones."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from probetui.engine.snapshot import PodSnapshot
from probetui.presentation.container.sorting import ContainerOrder, ContainerSorter
from probetui.presentation.per_pod import PerPod, changed_pods
from tests.ticks import NOW
from tests.tui.snapshots import demo, shop


def test_values_are_computed_again_for_changed_pods_only() -> None:
    asked: list[PodSnapshot] = []

    def length(pod: PodSnapshot) -> int:
        asked.append(pod)
        return len(pod.containers)

    lengths = PerPod(length)
    one, two, other = demo("sss"), shop(), demo("ssf")

    assert lengths.of((one, two)) == [1, len(two.containers)]
    assert lengths.of((other, two)) == [1, len(two.containers)]
    assert asked == [one, two, other]


def test_other_pods_at_the_same_positions_have_their_own_values() -> None:
    one, two = demo("sss"), shop()
    lengths = PerPod(lambda pod: len(pod.containers))
    lengths.of((one, two))

    assert lengths.of((two, one)) == [len(two.containers), 1]
    assert lengths.of((two,)) == [len(two.containers)]
    assert lengths.of(()) == []


def test_all_pods_count_as_changed_when_a_pod_is_added() -> None:
    one, two, other = demo("sss"), shop(), demo("ssf")

    assert changed_pods((one, two), (one,)) == (one, two)
    assert changed_pods((one, other), (one, two)) == [other]
    assert changed_pods((one, two), (one, two)) == []


@pytest.mark.parametrize(
    "order", [order for order in ContainerOrder if order is not ContainerOrder.WORST]
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_sorter_with_a_cache_sorts_like_a_new_one(
    order: ContainerOrder, *, is_reversed: bool
) -> None:
    random = Random(3)
    sorter = ContainerSorter()
    choice = [demo("sss"), demo("ssf"), demo("sff"), shop()]
    pods = tuple(choice)
    for second in range(40):
        if random.random() < 0.7:
            pods = tuple(random.choices(choice, k=random.choice([4, 4, 4, 3])))
        now = NOW + timedelta(seconds=second)
        fresh = ContainerSorter().places(pods, order, now, is_reversed=is_reversed)

        assert sorter.places(pods, order, now, is_reversed=is_reversed) == fresh


def test_a_recovered_pod_moves_down_without_another_change() -> None:
    sorter = ContainerSorter()
    bad, good, calm = demo("sff"), demo("sss"), shop()

    def places(pod: PodSnapshot, seconds: int) -> tuple[tuple[int, int], ...]:
        now = NOW + timedelta(seconds=seconds)
        return sorter.places((calm, pod), ContainerOrder.WORST, now)

    bad_places = places(bad, 0)
    assert places(good, 1) == bad_places
    assert places(good, 30) != bad_places


def test_the_positions_are_the_same_object_while_nothing_moves() -> None:
    sorter = ContainerSorter()
    first = sorter.places((demo("sss"), shop()), ContainerOrder.NAME, NOW)

    assert sorter.places((demo("ssf"), shop()), ContainerOrder.NAME, NOW) is first
