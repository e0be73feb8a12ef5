from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.effects import RemoveContainer, RemovePodSandbox, StopPodSandbox
from probetui.kubelet.kuberuntime.container_gc import ContainerGC, containers_to_delete
from tests.builders import (
    START,
    a_container,
    a_runtime_status,
    an_instance,
)
from tests.kubelet.effect_executor import EffectExecutor

EXITED = RuntimeState.EXITED
WEB = "uid-of-web"


class Bench(EffectExecutor):
    """A disposer; `forgotten` are the pods of which nothing is left."""

    def __init__(self, kept: int = 1) -> None:
        super().__init__()
        self.forgotten: list[tuple[str, datetime]] = []
        self.disposer = ContainerGC(
            self.runner,
            kept,
            lambda uid, at: self.forgotten.append((uid, at)),
        )

    def remove_content(self, status: RuntimePodStatus | None) -> None:
        self.disposer.remove_content(WEB, status, self.now)

    def remove_surplus(
        self, status: RuntimePodStatus, names: Iterable[str] = ("app",)
    ) -> None:
        self.disposer.remove_surplus(status, names, self.now)


class TestContent:
    def test_containers_go_then_sandboxes_then_the_pod_is_forgotten(self) -> None:
        bench = Bench()
        old, dead = an_instance(state=EXITED, number=1), an_instance(state=EXITED)
        bench.remove_content(a_runtime_status(old, dead))

        result_of_sync = []
        while bench.pending_operations():
            result_of_sync += bench.pending_operations()
            bench.answer()

        assert result_of_sync == [
            RemoveContainer(old.container_id),
            RemoveContainer(dead.container_id),
            StopPodSandbox("sandbox"),
            RemovePodSandbox("sandbox"),
        ]
        assert bench.forgotten == [(WEB, START)]

    def test_a_pod_of_which_there_is_nothing_is_forgotten_at_once(self) -> None:
        bench = Bench()

        bench.remove_content(None)

        assert bench.forgotten == [(WEB, START)]

    def test_what_is_being_removed_is_not_removed_twice(self) -> None:
        bench = Bench()

        for _ in range(2):
            bench.remove_content(a_runtime_status())

        assert bench.pending_operations() == [StopPodSandbox("sandbox")]

    def test_garbage_collection_continues_after_an_error_and_can_be_retried(
        self,
    ) -> None:
        bench = Bench()
        status = a_runtime_status(an_instance(state=EXITED))
        bench.remove_content(status)
        for error in ("busy", None, None):
            bench.answer(error=error)
        assert bench.forgotten == []

        bench.remove_content(status)
        for _ in range(3):
            bench.answer()

        assert bench.forgotten == [(WEB, START)]

    def test_an_error_of_any_step_counts(self) -> None:
        forgotten = []
        for errors in ((None, "no"), ("no", None), (None, None)):
            bench = Bench()
            bench.remove_content(a_runtime_status())
            for error in errors:
                bench.answer(error=error)
            forgotten.append(bench.forgotten)

        assert forgotten == [[], [], [(WEB, START)]]


class TestSurplus:
    STATUS = a_runtime_status(
        an_instance(number=3),
        *(an_instance(state=EXITED, number=number) for number in (2, 1, 0)),
    )

    def test_dead_instances_go_but_the_newest(self) -> None:
        bench = Bench()
        bench.remove_surplus(self.STATUS)

        result_of_sync = []
        while bench.pending_operations():
            result_of_sync += bench.pending_operations()
            bench.answer()

        assert result_of_sync == [
            RemoveContainer(an_instance(number=number).container_id)
            for number in (1, 0)
        ]

    def test_only_those_of_the_containers_that_are_named(self) -> None:
        bench = Bench()

        bench.remove_surplus(self.STATUS, ["another"])

        assert bench.pending_operations() == []

    def test_what_is_being_removed_is_not_removed_twice(self) -> None:
        bench = Bench()

        for _ in range(2):
            bench.remove_surplus(self.STATUS)

        assert len(bench.pending_operations()) == 1

    def test_a_failed_removal_is_retried_the_next_time(self) -> None:
        bench = Bench()
        bench.remove_surplus(self.STATUS)
        for _ in range(2):
            bench.answer(error="busy")

        bench.remove_surplus(self.STATUS)

        assert len(bench.pending_operations()) == 1


INSTANCES = a_runtime_status(
    an_instance(number=4),
    an_instance(state=EXITED, number=3),
    an_instance(a_container("other"), EXITED, number=1),
    an_instance(state=RuntimeState.CREATED, number=2),
    an_instance(state=EXITED, number=1),
    an_instance(state=EXITED, number=0),
)


def test_of_the_dead_instances_of_a_container_the_newest_stays() -> None:
    surplus = containers_to_delete(INSTANCES, "app", kept=1)

    assert [status.restart_count for status in surplus] == [1, 0]


def test_how_many_stay_can_be_chosen() -> None:
    assert len(containers_to_delete(INSTANCES, "app", kept=0)) == 3
    assert containers_to_delete(INSTANCES, "app", kept=3) == ()


def test_each_container_is_counted_by_itself() -> None:
    assert containers_to_delete(INSTANCES, "other", kept=1) == ()
    assert containers_to_delete(INSTANCES, "unknown", kept=0) == ()
