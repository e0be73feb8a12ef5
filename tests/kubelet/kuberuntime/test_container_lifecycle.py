from __future__ import annotations

from typing import Any

import pytest

from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.journal import (
    ContainerEntry,
    ExitCause,
    LastExit,
    LifecycleStep,
    StoppingSnapshot,
)
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import a_container, a_pod, an_instance, at

EXITED = RuntimeState.EXITED
APP = an_instance()
POD = a_pod()


class Bench:
    """A container lifecycle and its journal entries."""

    def __init__(self, *, began_at: float | None = None) -> None:
        self.turn_builder = TurnBuilder()
        self.lifecycle = ContainerLifecycle(
            self.turn_builder, None if began_at is None else at(began_at)
        )

    def new_entries(self) -> list[ContainerEntry]:
        """Return the entries since the last call."""
        entries = self.turn_builder.finish().entries
        return [entry for entry in entries if isinstance(entry, ContainerEntry)]

    def stop(self, by: ExitCause, seconds: float, grace: int = 30) -> None:
        self.lifecycle.stopping(POD, APP, by, grace, "pod", at(seconds))


def ended(**fields: Any) -> RuntimeContainerStatus:
    return an_instance(state=EXITED, **fields)


def test_a_container_is_created_and_started() -> None:
    bench = Bench()

    bench.lifecycle.record_step(
        POD.uid, "app", APP.container_id, 3, LifecycleStep.CREATED, at(1)
    )
    bench.lifecycle.record_step(
        POD.uid, "app", APP.container_id, 3, LifecycleStep.STARTED, at(2)
    )

    assert bench.new_entries() == [
        ContainerEntry(
            sequence,
            at(sequence),
            POD.uid,
            "app",
            APP.container_id,
            3,
            what,
        )
        for sequence, what in ((1, LifecycleStep.CREATED), (2, LifecycleStep.STARTED))
    ]


def test_the_cause_of_a_stop_is_kept_until_the_exit() -> None:
    bench = Bench()

    bench.stop(ExitCause.LIVENESS, 5)

    stopping = bench.lifecycle.stopping_of(APP.container_id)
    assert stopping == StoppingSnapshot(at(5), 30, "pod", ExitCause.LIVENESS)
    bench.lifecycle.exited(POD.uid, ended(), at(9))
    assert bench.lifecycle.stopping_of(APP.container_id) is None


def test_the_first_stop_request_is_the_cause() -> None:
    bench = Bench()

    bench.stop(ExitCause.LIVENESS, 5)
    bench.stop(ExitCause.DELETE, 8, grace=2)

    stopping = bench.lifecycle.stopping_of(APP.container_id)
    assert stopping == StoppingSnapshot(at(8), 2, "pod", ExitCause.LIVENESS)
    assert [entry.by for entry in bench.new_entries()] == [
        ExitCause.LIVENESS,
        ExitCause.DELETE,
    ]


def test_a_later_longer_grace_period_does_not_delay_the_end() -> None:
    bench = Bench()

    bench.stop(ExitCause.LIVENESS, 5, grace=4)
    bench.stop(ExitCause.USER, 7, grace=8)

    stopping = bench.lifecycle.stopping_of(APP.container_id)
    assert stopping == StoppingSnapshot(at(5), 4, "pod", ExitCause.LIVENESS)


def test_an_exit_without_a_stop_has_no_other_cause() -> None:
    bench = Bench()

    bench.lifecycle.exited(POD.uid, ended(exit_code=3, reason="Error"), at(12))

    (entry,) = bench.new_entries()
    assert (entry.what, entry.by, entry.exit_code) == (
        LifecycleStep.EXITED,
        ExitCause.ITSELF,
        3,
    )
    assert (entry.grace_period_seconds, entry.grace_source) == (None, "")


def test_a_requested_exit_has_its_cause_and_grace_period() -> None:
    bench = Bench()
    bench.stop(ExitCause.USER, 5, grace=9)
    bench.new_entries()

    bench.lifecycle.exited(POD.uid, ended(), at(12))

    (entry,) = bench.new_entries()
    assert (entry.by, entry.grace_period_seconds, entry.grace_source) == (
        ExitCause.USER,
        9,
        "pod",
    )


@pytest.mark.parametrize(
    ("exit_code", "signal"),
    [
        pytest.param(0, None, id="success"),
        pytest.param(1, None, id="failure"),
        pytest.param(128, None, id="no-signal"),
        pytest.param(137, 9, id="killed"),
        pytest.param(143, 15, id="terminated"),
        pytest.param(192, 64, id="the-last-signal"),
        pytest.param(193, None, id="beyond-the-signals"),
        pytest.param(-1, None, id="negative"),
    ],
)
def test_the_signal_is_derived_from_the_exit_code(
    exit_code: int, signal: int | None
) -> None:
    bench = Bench()

    bench.lifecycle.exited(POD.uid, ended(exit_code=exit_code), at(12))

    assert bench.new_entries()[0].signal == signal


def test_an_exit_is_journaled_once() -> None:
    bench = Bench()

    for _ in range(2):
        bench.lifecycle.exited(POD.uid, ended(), at(12))

    assert len(bench.new_entries()) == 1


def test_the_last_end_of_a_container_is_kept() -> None:
    bench = Bench()
    instance = ended(exit_code=137, reason="OOMKilled", oom_killed=True)

    bench.lifecycle.exited(POD.uid, instance, at(12))

    assert bench.lifecycle.last_exit(POD.uid, "app") == LastExit(
        at(11),
        137,
        ExitCause.ITSELF,
        "OOMKilled",
        oom_killed=True,
        container_id=APP.container_id,
    )
    assert bench.lifecycle.last_exit(POD.uid, "other") is None


def test_an_exit_without_a_time_has_that_of_its_relist() -> None:
    bench = Bench()

    bench.lifecycle.exited(POD.uid, ended(finished_at=None), at(12))

    last = bench.lifecycle.last_exit(POD.uid, "app")
    assert last is not None
    assert last.at == at(12)


def test_new_exits_of_many_instances_are_journaled_oldest_first() -> None:
    bench = Bench()
    instances = (
        an_instance(number=3),
        an_instance(state=EXITED, number=2),
        an_instance(state=EXITED, number=1),
        an_instance(state=EXITED, number=0),
    )
    bench.lifecycle.exited(POD.uid, instances[3], at(12))
    bench.new_entries()

    bench.lifecycle.journal_exits(POD.uid, instances, at(320))

    assert [entry.restart_count for entry in bench.new_entries()] == [1, 2]


def test_exits_before_this_session_are_not_journaled() -> None:
    bench = Bench(began_at=100)
    instances = (
        an_instance(state=EXITED, number=1),
        an_instance(state=EXITED, number=0),
        an_instance(a_container("x"), EXITED, finished_at=None),
    )

    for _ in range(2):
        bench.lifecycle.journal_exits(POD.uid, instances, at(120))

    assert [
        (entry.container_name, entry.restart_count) for entry in bench.new_entries()
    ] == [
        ("x", 0),
        ("app", 1),
    ]


def test_what_this_session_created_ended_in_it_whatever_the_runtime_s_clock() -> None:
    bench = Bench(began_at=1000)
    bench.lifecycle.record_step(
        POD.uid, "app", APP.container_id, 0, LifecycleStep.CREATED, at(1001)
    )
    bench.new_entries()

    bench.lifecycle.journal_exits(POD.uid, (ended(),), at(1002))

    assert [entry.what for entry in bench.new_entries()] == [LifecycleStep.EXITED]


def test_a_removal_is_journaled_and_ends_the_history() -> None:
    bench = Bench()
    bench.stop(ExitCause.USER, 5)
    bench.new_entries()

    bench.lifecycle.removed(POD.uid, APP, at(6))

    assert [entry.what for entry in bench.new_entries()] == [LifecycleStep.REMOVED]
    assert bench.lifecycle.stopping_of(APP.container_id) is None


def test_a_removed_pod_leaves_no_history() -> None:
    bench = Bench()
    bench.lifecycle.exited(POD.uid, ended(), at(12))
    bench.lifecycle.exited("another", an_instance(state=EXITED, number=1), at(112))

    bench.lifecycle.forget_pod(POD.uid)

    assert bench.lifecycle.last_exit(POD.uid, "app") is None
    assert bench.lifecycle.last_exit("another", "app") is not None
