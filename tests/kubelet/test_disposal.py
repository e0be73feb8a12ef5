from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from random import Random

from tests.builders import (
    START,
    a_container,
    a_pod,
    a_runtime_status,
    a_sandbox,
    an_instance,
)
from tests.kubelet.carrier import Carrier

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.disposal import Disposer, orphan_pod
from probetui.kubelet.effects import RemoveContainer, RemovePodSandbox, StopPodSandbox
from probetui.kubelet.pod_update import Call, CallKind, PodUpdate, UpdateType
from probetui.kubelet.pod_worker import PodWorkers

EXITED = RuntimeState.EXITED
WEB = "uid-of-web"


class Bench(Carrier):
    """A disposer; `forgotten` are the pods of which nothing is left."""

    def __init__(self, kept: int = 1) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.forgotten: list[tuple[str, datetime]] = []
        self.workers = PodWorkers(
            KubeletConfig(),
            Random(0),
            begin=lambda call, _now: self.calls.append(call),
            is_fresh=lambda _uid, _since: True,
            is_idle=lambda _uid: True,
        )
        self.disposer = Disposer(
            self.runner,
            self.workers,
            kept,
            lambda uid, at: self.forgotten.append((uid, at)),
        )

    def remove_content(self, status: RuntimePodStatus | None) -> None:
        self.disposer.remove_content(WEB, status, self.now)

    def remove_surplus(
        self, status: RuntimePodStatus, names: Iterable[str] = ("app",)
    ) -> None:
        self.disposer.remove_surplus(status, names, self.now)

    def end_orphans(
        self, *statuses: RuntimePodStatus, known: Iterable[Pod] = ()
    ) -> None:
        self.disposer.end_orphans(
            {each.pod_uid: each for each in statuses},
            {each.uid: each for each in known},
            self.now,
        )


class TestContent:
    def test_containers_go_then_sandboxes_then_the_pod_is_forgotten(self) -> None:
        bench = Bench()
        old, dead = an_instance(state=EXITED, number=1), an_instance(state=EXITED)
        bench.remove_content(a_runtime_status(old, dead))

        done = []
        while bench.asked():
            done += bench.asked()
            bench.answer()

        assert done == [
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

        assert bench.asked() == [StopPodSandbox("sandbox")]

    def test_after_an_error_it_goes_on_and_can_be_tried_again(self) -> None:
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

        done = []
        while bench.asked():
            done += bench.asked()
            bench.answer()

        assert done == [
            RemoveContainer(an_instance(number=number).container_id)
            for number in (1, 0)
        ]

    def test_only_those_of_the_containers_that_are_named(self) -> None:
        bench = Bench()

        bench.remove_surplus(self.STATUS, ["another"])

        assert bench.asked() == []

    def test_what_is_being_removed_is_not_removed_twice(self) -> None:
        bench = Bench()

        for _ in range(2):
            bench.remove_surplus(self.STATUS)

        assert len(bench.asked()) == 1

    def test_what_could_not_be_removed_is_tried_again_the_next_time(self) -> None:
        bench = Bench()
        bench.remove_surplus(self.STATUS)
        for _ in range(2):
            bench.answer(error="busy")

        bench.remove_surplus(self.STATUS)

        assert len(bench.asked()) == 1


class TestOrphans:
    def test_what_runs_of_a_pod_that_nobody_knows_is_killed(self) -> None:
        bench = Bench()

        bench.end_orphans(a_runtime_status(an_instance()))

        (call,) = bench.calls
        assert call.kind is CallKind.TERMINATING_RUNTIME
        assert call.grace_period_seconds == 1
        assert bench.asked() == []

    def test_once_nothing_of_it_runs_it_is_removed(self) -> None:
        bench = Bench()

        bench.end_orphans(a_runtime_status(an_instance(state=EXITED)))

        assert bench.calls == []
        assert bench.asked() == [RemoveContainer(an_instance().container_id)]

    def test_one_that_is_empty_is_forgotten_although_all_are_looked_at(self) -> None:
        bench = Bench()
        in_runtime = {
            each.pod_uid: each
            for each in (
                a_runtime_status(sandboxes=()),
                a_runtime_status(sandboxes=(), pod="other"),
            )
        }
        bench.disposer._forget = lambda uid, at: bench.forgotten.append(
            (in_runtime.pop(uid).pod_uid, at)
        )

        bench.disposer.end_orphans(in_runtime, {}, START)

        assert bench.forgotten == [(WEB, START), ("uid-of-other", START)]

    def test_pods_that_are_known_or_have_a_worker_are_left_alone(self) -> None:
        bench = Bench()
        bench.workers.update(
            PodUpdate(UpdateType.CREATE, a_pod(name="other")), bench.now
        )
        bench.calls.clear()

        bench.end_orphans(
            a_runtime_status(an_instance()),
            a_runtime_status(an_instance(), pod="other"),
            known=[a_pod()],
        )

        assert bench.calls == []
        assert bench.asked() == []


def test_of_an_orphan_as_much_of_a_pod_is_made_as_can_be_made_out() -> None:
    status = a_runtime_status(
        an_instance(number=1),
        an_instance(a_container("side")),
        an_instance(),
        name="old",
        sandboxes=(a_sandbox(),),
    )

    assert orphan_pod(status) == Pod(
        WEB,
        "old",
        "default",
        restart_policy=RestartPolicy.NEVER,
        containers=(Container("app"), Container("side")),
    )
