"""Scenarios of pod termination and of a lost runtime, on virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from probetui.debugger.commands import RestartContainer
from probetui.drive.scenario.behavior import CallBehavior, InstanceBehavior
from probetui.drive.scenario.world import World
from probetui.engine.engine import Engine
from probetui.engine.inputs import AddPod, DeletePod
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ProbeType
from probetui.k8s.status import PodPhase
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    CreateContainer,
    Operation,
    Relist,
    RemoveContainer,
    RunPodSandbox,
    StartContainer,
    StopContainer,
)
from probetui.kubelet.journal import (
    ExitCause,
    LifecycleStep,
    NoteEntry,
    PodGoneEntry,
    StateField,
    TickEntry,
    UserEntry,
)
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.engine_bench import EngineBench, seconds

LIVENESS, READINESS, STARTUP = ProbeType
WEB = "uid-of-web"
SLOW = {"app": (InstanceBehavior(stops_after=timedelta(seconds=5)),)}
STUBBORN = {"app": (InstanceBehavior(stops_after=None),)}


def pod_removal_times(bench: EngineBench) -> list[float]:
    return [seconds(entry.at) for entry in bench.of(PodGoneEntry)]


def refusing(kind: type[Operation], times: int) -> Any:
    """Refuse the first calls of one kind."""
    left = [CallBehavior(error="daemon busy")] * times

    def refuse_first_calls(call: Operation | Relist) -> CallBehavior:
        return left.pop() if isinstance(call, kind) and left else CallBehavior()

    return refuse_first_calls


class TestDeletion:
    def test_a_deleted_pod_ends_and_leaves_nothing(self) -> None:
        bench = EngineBench(a_pod(), lives=SLOW)
        bench.run_until(10)

        bench.send(DeletePod(WEB))
        bench.run_until(20)

        assert bench.events("Killing") == [(10, "Stopping container app")]
        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert (seconds(exited.at), exited.by) == (15, ExitCause.DELETE)
        assert pod_removal_times(bench) == [16]
        assert bench.runtime_pods() == ()
        assert bench.snapshot.pods == ()
        assert bench.engine.pod_uids() == ()
        assert bench.changes(StateField.PHASE)[-1] == (15, "Running", "Succeeded")

    def test_its_grace_period_can_be_chosen(self) -> None:
        bench = EngineBench(a_pod(), lives=STUBBORN)
        bench.run_until(10)

        bench.send(DeletePod(WEB, grace_period_seconds=4))
        bench.run_until(20)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert (seconds(exited.at), exited.exit_code) == (14, 137)
        assert exited.grace_period_seconds == 4

    def test_while_it_ends_nothing_is_started(self) -> None:
        app, other = a_container(), a_container("other")
        bench = EngineBench(
            a_pod(app, other),
            lives={
                "app": STUBBORN["app"],
                "other": (InstanceBehavior(timedelta(seconds=12), 1),),
            },
        )
        bench.run_until(10)

        bench.send(DeletePod(WEB))
        bench.run_until(60)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED, "other")) == 1
        assert bench.runtime_pods() == ()

    def test_a_second_deletion_changes_nothing(self) -> None:
        bench = EngineBench(a_pod(), lives=SLOW)
        bench.run_until(10)

        for second in (10, 11):
            bench.run_until(second)
            bench.send(DeletePod(WEB))
        bench.run_until(30)

        assert [entry.command for entry in bench.of(UserEntry)] == ["delete"]
        assert pod_removal_times(bench) == [16]

    def test_an_unknown_pod_cannot_be_deleted(self) -> None:
        bench = EngineBench()

        bench.send(DeletePod("nobody"))

        assert bench.journal == []

    def test_a_pod_that_has_ended_is_only_removed(self) -> None:
        bench = EngineBench(
            a_pod(restart_policy=RestartPolicy.NEVER),
            lives={"app": (InstanceBehavior(timedelta(seconds=3)),)},
        )
        bench.run_until(10)

        bench.send(DeletePod(WEB))
        bench.run_until(12)

        assert bench.times("Killing") == []
        assert len(pod_removal_times(bench)) == 1
        assert bench.runtime_pods() == ()
        assert bench.engine.pod_uids() == ()

    def test_a_pod_that_is_added_again_while_it_terminates_starts_again(self) -> None:
        bench = EngineBench(a_pod(), lives=SLOW)
        bench.run_until(10)
        bench.send(DeletePod(WEB))
        bench.run_until(11)

        bench.send(AddPod(a_pod()))
        bench.run_until(30)

        first, second = bench.lifecycle_entries(LifecycleStep.STARTED)
        assert pod_removal_times(bench) == [16]
        assert second.at > at(16)
        assert (first.restart_count, second.restart_count) == (0, 0)
        assert list(bench.running()) == ["app"]
        assert bench.snapshot.pods[0].status.phase is PodPhase.RUNNING

    def test_a_pod_that_completed_and_is_added_again_starts_again(self) -> None:
        bench = EngineBench(
            a_pod(restart_policy=RestartPolicy.NEVER),
            lives={"app": (InstanceBehavior(timedelta(seconds=3)),)},
        )
        bench.run_until(10)

        bench.send(AddPod(a_pod(restart_policy=RestartPolicy.NEVER)))
        bench.run_until(20)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 2
        assert len(pod_removal_times(bench)) == 2

    def test_a_pod_that_is_added_again_can_be_deleted_before_it_starts(self) -> None:
        bench = EngineBench(a_pod(), lives=SLOW)
        bench.run_until(10)
        bench.send(DeletePod(WEB))
        bench.send(AddPod(a_pod()))
        assert bench.engine.pod_uids() == (WEB,)
        bench.run_until(16.5)
        assert bench.engine.pod_uids() == (WEB,)

        bench.send(DeletePod(WEB))
        bench.run_until(30)

        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 1
        assert bench.engine.pod_uids() == ()

    def test_the_history_of_a_deleted_pod_is_removed_with_it(self) -> None:
        bench = EngineBench(
            a_pod(),
            lives={
                "app": (InstanceBehavior(timedelta(seconds=3), 1), InstanceBehavior())
            },
        )
        bench.run_until(10)
        bench.send(DeletePod(WEB))
        bench.run_until(30)

        bench.send(AddPod(a_pod()))

        app = bench.container()
        assert (app.last_exit, app.stopping) == (None, None)
        assert app.backoff is None

    def test_the_engine_returns_the_longest_grace_period_of_all_pods(self) -> None:
        bench = EngineBench(
            a_pod(termination_grace_period_seconds=7),
            a_pod(name="other", termination_grace_period_seconds=40),
            a_pod(name="third", termination_grace_period_seconds=None),
        )

        assert bench.engine.longest_grace_period() == timedelta(seconds=40)
        assert EngineBench().engine.longest_grace_period() == timedelta()


class TestDeadline:
    def test_a_pod_past_its_deadline_fails_within_a_second(self) -> None:
        bench = EngineBench(a_pod(active_deadline_seconds=30))

        bench.run_until(40)

        assert bench.times("DeadlineExceeded") == [30]
        assert bench.snapshot.pods[0].status.phase is PodPhase.FAILED
        assert list(bench.running()) == []


class TestEarlierRuns:
    def world_with_earlier_run(self, pod: Pod, **lives: Any) -> World:
        """Return a world in which an earlier run left a pod."""
        world = World(lives)
        earlier = EngineBench(pod, world=world)
        earlier.run_until(10)
        return world

    def begin(self, world: World, *pods: Pod) -> EngineBench:
        """Begin another run in that world, at the 10th second."""
        bench = EngineBench(world=world, engine=Engine(KubeletConfig(), at(10)))
        bench.simulation.now = at(10)
        for pod in pods:
            bench.send(AddPod(pod))
        return bench

    def test_containers_of_unknown_pods_are_killed_and_removed(self) -> None:
        world = self.world_with_earlier_run(a_pod(name="old"), **STUBBORN)

        bench = self.begin(world, a_pod())
        bench.run_until(20)

        assert [status.name for status in bench.runtime_pods()] == ["web"]
        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert seconds(exited.at) == 14
        assert exited.grace_period_seconds == 1
        assert bench.times("Killing") == []

    def test_a_container_of_the_same_pod_and_definition_is_adopted(self) -> None:
        world = self.world_with_earlier_run(a_pod())

        bench = self.begin(world, a_pod())
        bench.run_until(20)

        assert bench.lifecycle_entries(LifecycleStep.STARTED) == []
        assert list(bench.running()) == ["app"]
        assert bench.snapshot.pods[0].status.phase is PodPhase.RUNNING

    def test_probes_of_an_adopted_container_begin_at_once(self) -> None:
        pod = a_pod(a_container(liveness_probe=a_probe(period_seconds=1)))
        world = self.world_with_earlier_run(pod)

        bench = self.begin(world, pod)
        bench.run_until(12)

        assert bench.probed(LIVENESS)[0] <= 11

    def test_a_container_with_another_definition_is_replaced(self) -> None:
        world = self.world_with_earlier_run(a_pod(a_container(image="busybox:1")))

        bench = self.begin(world, a_pod(a_container(image="busybox:2")))
        bench.run_until(20)

        assert bench.events("Killing")[0][1] == (
            "Container app definition changed, will be restarted"
        )
        assert (
            bench.lifecycle_entries(LifecycleStep.STOPPING)[0].by
            is ExitCause.DEFINITION
        )
        assert bench.runtime_pods()[0].containers[0].image == "busybox:2"

    def test_exits_that_were_reported_are_not_reported_again(self) -> None:
        world = self.world_with_earlier_run(
            a_pod(), app=(InstanceBehavior(timedelta(seconds=3), 1), InstanceBehavior())
        )

        bench = self.begin(world, a_pod())
        bench.run_until(20)

        assert bench.lifecycle_entries(LifecycleStep.EXITED) == []


class TestRuntimeLost:
    def test_a_lost_runtime_and_its_return_are_noted(self) -> None:
        bench = EngineBench(a_pod())
        bench.run_until(10)

        bench.world.unreachable = "no daemon"
        bench.run_until(20)
        lost = bench.snapshot
        bench.world.unreachable = ""
        bench.run_until(30)

        assert bench.notes() == [
            (11, "the container runtime does not answer: no daemon", True),
            (22, "the container runtime answers again, after 11s", False),
        ]
        assert (lost.runtime_lost_since, lost.runtime_error) == (at(11), "no daemon")
        assert bench.snapshot.runtime_lost_since is None

    def test_probes_continue_while_the_runtime_is_lost(self) -> None:
        pod = a_pod(a_container(liveness_probe=a_probe(period_seconds=1)))
        bench = EngineBench(pod)
        bench.run_until(10)

        bench.world.unreachable = "no daemon"
        bench.run_until(20)

        assert len([entry for entry in bench.of(TickEntry) if entry.at > at(10)]) == 10

    def test_a_container_that_exited_while_the_runtime_was_lost_is_restarted_afterwards(
        self,
    ) -> None:
        bench = EngineBench(
            a_pod(),
            lives={
                "app": (InstanceBehavior(timedelta(seconds=12), 1), InstanceBehavior())
            },
        )
        bench.run_until(10)
        bench.world.unreachable = "no daemon"
        bench.run_until(20)
        assert bench.lifecycle_entries(LifecycleStep.EXITED) == []

        bench.world.unreachable = ""
        bench.run_until(30)

        (exited,) = bench.lifecycle_entries(LifecycleStep.EXITED)
        assert exited.by is ExitCause.ITSELF
        assert bench.container().last_exit is not None
        assert len(bench.lifecycle_entries(LifecycleStep.STARTED)) == 2

    def test_a_pod_deleted_while_the_runtime_was_lost_ends_afterwards(self) -> None:
        bench = EngineBench(a_pod())
        bench.run_until(10)
        bench.world.unreachable = "no daemon"
        bench.send(DeletePod(WEB))
        bench.run_until(40)
        assert pod_removal_times(bench) == []
        assert bench.times("FailedKillPod")

        bench.world.unreachable = ""
        bench.run_until(80)

        assert len(pod_removal_times(bench)) == 1
        assert bench.runtime_pods() == ()


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "reason"),
        [
            pytest.param(RunPodSandbox, "FailedCreatePodSandBox", id="sandbox"),
            pytest.param(CreateContainer, "Failed", id="create"),
            pytest.param(StartContainer, "Failed", id="start"),
        ],
    )
    def test_a_failed_start_is_reported_and_retried(
        self, kind: type[Operation], reason: str
    ) -> None:
        bench = EngineBench(a_pod(), dealing=refusing(kind, 1))

        bench.run_until(20)

        (failed,) = bench.times(reason)
        started = bench.lifecycle_entries(LifecycleStep.STARTED)[-1]
        assert timedelta() < started.at - at(failed) < timedelta(seconds=16)
        assert list(bench.running()) == ["app"]

    def test_a_container_that_was_created_but_not_started_is_replaced(self) -> None:
        bench = EngineBench(a_pod(), dealing=refusing(StartContainer, 1))

        bench.run_until(20)

        assert [
            entry.restart_count
            for entry in bench.lifecycle_entries(LifecycleStep.CREATED)
        ] == [
            0,
            1,
        ]
        assert bench.starts() == [
            (seconds(bench.lifecycle_entries(LifecycleStep.CREATED)[1].at), 0, False)
        ]

    def test_a_failed_kill_of_a_pod_is_retried(self) -> None:
        bench = EngineBench(a_pod(), dealing=refusing(StopContainer, 2))
        bench.run_until(5)

        bench.send(DeletePod(WEB))
        bench.run_until(60)

        assert bench.times("FailedKillPod") == [5]
        assert len(pod_removal_times(bench)) == 1
        assert bench.runtime_pods() == ()

    def test_a_failed_removal_is_retried(self) -> None:
        bench = EngineBench(a_pod(), dealing=refusing(RemoveContainer, 2))
        bench.run_until(5)

        bench.send(DeletePod(WEB))
        bench.run_until(20)

        assert bench.runtime_pods() == ()
        assert bench.engine.pod_uids() == ()

    def test_a_restart_that_fails_is_noted(self) -> None:
        bench = EngineBench(a_pod(), dealing=refusing(StopContainer, 1))
        bench.run_until(5)

        bench.send(RestartContainer(WEB, "app"))
        bench.run_until(5)

        assert bench.of(NoteEntry)[0].text == "restart failed: daemon busy"
        assert bench.of(NoteEntry)[0].is_fault
