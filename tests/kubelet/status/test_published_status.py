from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from probetui.k8s.status import (
    ConditionStatus,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    Waiting,
)
from probetui.kubelet.status.published_status import (
    is_status_equal,
    published_status,
    to_seconds,
)
from tests.builders import START, a_container, a_pod, at

TRUE, FALSE, _ = ConditionStatus
NEW = PodStatus()


def running(name: str, started: float = 5) -> ContainerStatus:
    return ContainerStatus(name, state=Running(at(started)))


class TestTimes:
    def test_the_start_is_that_of_the_first_status(self) -> None:
        first = published_status(a_pod(), NEW, NEW, at(1.5))
        second = published_status(a_pod(), NEW, first, at(100))

        assert first.start_time == second.start_time == at(1)

    def test_a_start_time_that_is_given_counts(self) -> None:
        given = PodStatus(start_time=at(3))

        assert published_status(a_pod(), given, NEW, at(100)).start_time == at(3)

    def test_a_condition_has_the_time_of_its_last_change(self) -> None:
        unready = PodStatus(conditions=(PodCondition("Ready", FALSE, "A"),))
        other_reason = PodStatus(conditions=(PodCondition("Ready", FALSE, "B"),))
        ready = PodStatus(conditions=(PodCondition("Ready", TRUE),))

        first = published_status(a_pod(), unready, NEW, at(1))
        second = published_status(a_pod(), other_reason, first, at(2))
        third = published_status(a_pod(), ready, second, at(3))

        assert [
            status.conditions[0].last_transition_at for status in (first, second, third)
        ] == [at(1), at(1), at(3)]

    def test_conditions_of_others_keep_their_time(self) -> None:
        others = (PodCondition("x.io/gate", TRUE, last_transition_at=at(0.5)),)

        status = published_status(a_pod(), PodStatus(conditions=others), NEW, at(9))

        assert status.conditions[0].last_transition_at == at(0)

    def test_all_times_are_whole_seconds(self) -> None:
        ended = Terminated(0, started_at=at(1.5), finished_at=at(2.5))
        status = PodStatus(
            container_statuses=(
                replace(running("app", 3.5), last_state=ended),
                ContainerStatus("other", state=Waiting()),
                ContainerStatus("third", state=Running()),
            )
        )

        published = published_status(a_pod(), status, NEW, at(9))

        assert published.container_statuses == (
            ContainerStatus(
                "app",
                state=Running(at(3)),
                last_state=Terminated(0, started_at=at(1), finished_at=at(2)),
            ),
            ContainerStatus("other", state=Waiting()),
            ContainerStatus("third", state=Running()),
        )

    @pytest.mark.parametrize("microseconds", [0, 1, 999_999])
    def test_seconds_are_cut_not_rounded(self, microseconds: int) -> None:
        instant = START + timedelta(microseconds=microseconds)

        assert to_seconds(instant) == START


class TestMessages:
    def message_of(self, message: str, containers: int) -> str:
        pod = a_pod(*(a_container(f"c{number}") for number in range(containers)))
        ended = ContainerStatus("c0", state=Terminated(1, message=message))
        status = PodStatus(container_statuses=(ended,))

        (published,) = (
            published_status(pod, status, NEW, at(0)).container_statuses or ()
        )

        assert isinstance(published.state, Terminated)
        return published.state.message

    @pytest.mark.parametrize(("containers", "limit"), [(1, 12288), (3, 4096)])
    def test_the_containers_of_a_pod_share_the_room(
        self, containers: int, limit: int
    ) -> None:
        assert self.message_of("a" * 13000, containers) == "a" * limit

    def test_room_is_in_bytes(self) -> None:
        message = self.message_of("é" * 5000, 2)

        assert message == "é" * 3072

    def test_a_cut_character_leaves_its_bytes(self) -> None:
        message = self.message_of("a" + "é" * 5000, 2)

        assert message == "a" + "é" * 3071 + "\udcc3"

    def test_what_fits_stays(self) -> None:
        assert self.message_of("é" * 6000, 1) == "é" * 6000


class TestOrder:
    def test_regular_containers_go_by_name(self) -> None:
        status = PodStatus(container_statuses=(running("b"), running("a")))

        published = published_status(a_pod(), status, NEW, at(0))

        assert [
            container_status.name
            for container_status in published.container_statuses or ()
        ] == ["a", "b"]

    def test_init_containers_go_by_the_spec(self) -> None:
        pod = a_pod(init_containers=(a_container("z"), a_container("a")))
        statuses = (running("gone"), running("a"), running("z"))

        published = published_status(
            pod, PodStatus(init_container_statuses=statuses), NEW, at(0)
        )

        names = [status.name for status in published.init_container_statuses or ()]
        assert names == ["z", "a", "gone"]

    def test_null_stays_null(self) -> None:
        nothing = PodStatus(init_container_statuses=None, container_statuses=None)

        published = published_status(a_pod(), nothing, NEW, at(0))

        assert published.init_container_statuses is None
        assert published.container_statuses is None


def test_what_is_equal_to_what_it_was_is_the_same_object() -> None:
    status = PodStatus(
        conditions=(PodCondition("Ready", TRUE),),
        container_statuses=(running("app", 1.5),),
    )
    first = published_status(a_pod(), status, NEW, at(1))

    second = published_status(a_pod(), status, first, at(2))

    assert second == first
    assert second.conditions[0] is first.conditions[0]
    assert (second.container_statuses or ())[0] is (first.container_statuses or ())[0]


class TestSameToTheKubelet:
    GATE = PodCondition("x.io/gate", TRUE)
    READY = PodCondition("Ready", TRUE)

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            pytest.param(NEW, NEW, True, id="equal"),
            pytest.param(NEW, PodStatus(PodPhase.RUNNING), False, id="phase"),
            pytest.param(
                NEW, PodStatus(conditions=(GATE,)), True, id="others-condition"
            ),
            pytest.param(
                NEW, PodStatus(conditions=(READY,)), False, id="own-condition"
            ),
            pytest.param(PodStatus(conditions=(READY,)), NEW, True, id="one-less"),
            pytest.param(
                PodStatus(container_statuses=None), NEW, True, id="null-and-empty"
            ),
        ],
    )
    def test_only_the_status_of_the_kubelet_counts(
        self,
        old: PodStatus,
        new: PodStatus,
        expected: bool,  # noqa: FBT001  # a column of the table
    ) -> None:
        assert is_status_equal(old, new) is expected
