"""Instances that ended alike are told together."""

from __future__ import annotations

from datetime import timedelta

from probetui.analysis.container_history import ContainerInstance, fold_instances
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import ContainerEntry, ExitCause, LifecycleStep
from tests.builders import at


def instance(
    number: int, exit_code: int | None = 1, *, oom_killed: bool = False
) -> ContainerInstance:
    """Return an instance that started 100 s after the one before it."""
    container_id = ContainerID(f"fake://app-{number}")
    exited = ContainerEntry(
        sequence=0,
        at=at(100 * number + 10),
        pod_uid="uid",
        container_name="app",
        what=LifecycleStep.EXITED,
        container_id=container_id,
        restart_count=number - 1,
        exit_code=exit_code,
        oom_killed=oom_killed,
        by=ExitCause.ITSELF,
    )
    return ContainerInstance(
        container_id,
        number - 1,
        started_at=at(100 * number),
        exited=None if exit_code is None else exited,
    )


def folded(*instances: ContainerInstance) -> list[tuple[int, int]]:
    return [(run.first.number, run.last.number) for run in fold_instances(instances)]


def test_instances_that_ended_alike_are_a_run() -> None:
    (run,) = fold_instances(instance(number) for number in range(1, 19))

    assert (run.first.number, run.last.number) == (1, 18)
    assert run.is_folded
    assert run.intervals == [timedelta(seconds=100)] * 17


def test_two_are_told_one_by_one() -> None:
    assert folded(instance(1), instance(2)) == [(1, 1), (2, 2)]


def test_another_end_begins_another_run() -> None:
    three, four = [instance(number) for number in (1, 2, 3)], instance(4, 137)

    assert folded(*three, four) == [(1, 3), (4, 4)]
    assert folded(*three, instance(4, oom_killed=True)) == [(1, 3), (4, 4)]


def test_an_instance_that_runs_is_alone() -> None:
    assert folded(*(instance(number, None) for number in (1, 2, 3))) == [
        *((1, 1), (2, 2), (3, 3))
    ]
    assert folded(*map(instance, (1, 2, 3)), instance(4, None)) == [(1, 3), (4, 4)]
