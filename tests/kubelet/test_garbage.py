from __future__ import annotations

from tests.builders import a_container, a_runtime_status, an_instance

from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.garbage import surplus_instances

EXITED = RuntimeState.EXITED
STATUS = a_runtime_status(
    an_instance(number=4),
    an_instance(state=EXITED, number=3),
    an_instance(a_container("other"), EXITED, number=1),
    an_instance(state=RuntimeState.CREATED, number=2),
    an_instance(state=EXITED, number=1),
    an_instance(state=EXITED, number=0),
)


def test_of_the_dead_instances_of_a_container_the_newest_stays() -> None:
    surplus = surplus_instances(STATUS, "app", kept=1)

    assert [each.restart_count for each in surplus] == [1, 0]


def test_how_many_stay_can_be_chosen() -> None:
    assert len(surplus_instances(STATUS, "app", kept=0)) == 3
    assert surplus_instances(STATUS, "app", kept=3) == ()


def test_each_container_is_counted_by_itself() -> None:
    assert surplus_instances(STATUS, "other", kept=1) == ()
    assert surplus_instances(STATUS, "unknown", kept=0) == ()
