from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.dry_runs import DryRuns
from probetui.debugger.overrides import ProbeOverrides
from probetui.debugger.timing import Timing
from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
    Upcoming,
    UpcomingKind,
)
from probetui.engine.snapshot_builder import SnapshotBuilder
from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.k8s.status import (
    ContainerStatus,
    PodPhase,
    Running,
    Terminated,
    Waiting,
)
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    GetPodSandboxStatus,
    MountVolume,
    Operation,
    PullImage,
    RemoveContainer,
    RemovePodSandbox,
    RunHook,
    RunPodSandbox,
    RunProbe,
    StartContainer,
    StopContainer,
    StopPodSandbox,
    UnmountVolume,
)
from probetui.kubelet.facts import (
    OperationFinished,
    OperationProgress,
    ProbeFinished,
)
from probetui.kubelet.journal import (
    Exit,
    ExitCause,
    NoteEntry,
    PodGoneEntry,
    Skip,
    StoppingSnapshot,
    UserEntry,
)
from probetui.kubelet.kubelet import Kubelet
from probetui.kubelet.kuberuntime.backoff import BackoffDecision
from probetui.kubelet.outcome import ProbeResult, Result
from probetui.kubelet.pod_workers.pod_update import (
    PodWorkerState,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.runtime.routines import Routine
from tests.builders import (
    START,
    a_container,
    a_container_status,
    a_key,
    a_pod,
    a_probe,
    a_status,
    an_instance,
    an_outcome,
    at,
)

LIVENESS, READINESS, STARTUP = ProbeType
APP = ContainerID("fake://app-0")
IMAGE = "busybox:1.36"
SCRATCH = Volume("scratch", EmptyDir())


class Bench:
    """The inputs of a snapshot builder, which a test changes."""

    def __init__(self, *pods: Pod) -> None:
        self.overrides = ProbeOverrides()
        self.kubelet = Kubelet(
            KubeletConfig(),
            START,
            pods={pod.uid: pod for pod in pods or (a_pod(),)},
            hooks=self.overrides,
        )
        self.pods = self.kubelet.pods
        self.turn_builder = self.kubelet.turn
        self.runner = self.kubelet.runner
        self.statuses = self.kubelet.statuses
        self.lifecycle = self.kubelet.runtime.lifecycle
        self.probes = self.kubelet.probes
        self.syncer = self.kubelet.runtime.syncer
        self.workers = self.kubelet.workers
        self.builder = SnapshotBuilder(
            START,
            self.kubelet,
            self.overrides,
            DryRuns(self.turn_builder, self.overrides),
            ActiveFaults(self.kubelet.cache, shares_network=True),
        )
        self.started_probes: list[RunProbe] = []

    @property
    def pod(self) -> Pod:
        return next(iter(self.pods.values()))

    def publish(self, *containers: ContainerStatus, **status: Any) -> None:
        pod = self.pod
        self.statuses.set_pod_status(pod, a_status(*containers, **status), START)
        self.kubelet.changed_pods.add(pod.uid)

    def step_workers(self, seconds: float = 0) -> None:
        """Run the due ticks of the workers of all pods."""
        for pod in self.pods.values():
            self.probes.add_pod(pod, START)
        self.probes.scheduler.run_due(at(seconds))
        self.finish_turn()

    def answer(self, result: ProbeResult = ProbeResult.SUCCESS) -> None:
        probe_id = self.started_probes.pop(0).probe_id
        self.probes.scheduler.finish(ProbeFinished(probe_id, an_outcome(result)), START)
        self.finish_turn()

    def finish_turn(self) -> None:
        turn = self.turn_builder.finish()
        self.started_probes += [
            effect for effect in turn.effects if isinstance(effect, RunProbe)
        ]
        self.builder.on_turn(turn)

    def start_operations(self, *operations: Operation) -> None:
        """Start operations of the first pod."""

        def run_operation(operation: Operation) -> Routine[None]:
            yield operation

        for operation in operations:
            self.runner.start(self.pod.uid, run_operation(operation), _ignore, START)
        self.finish_turn()

    def build(self, seconds: float = 0) -> Snapshot:
        return self.builder.build(at(seconds))

    def pod_snapshot(self, seconds: float = 0) -> PodSnapshot:
        return self.build(seconds).pods[0]

    def container_snapshot(self, name: str = "app") -> ContainerSnapshot:
        return next(
            container
            for container in self.pod_snapshot().containers
            if container.container.name == name
        )

    def probe_snapshot(self, seconds: float = 0) -> ProbeSnapshot:
        (probe,) = self.pod_snapshot(seconds).containers[0].probes
        return probe


def _ignore(_value: None, _at: datetime) -> None:
    """Ignore the end of an operation."""


def probed_pod(kind: ProbeType = LIVENESS, **probe: Any) -> Pod:
    fields: dict[str, Any] = {f"{kind.lower()}_probe": a_probe(**probe)}
    return a_pod(a_container(**fields))


class TestSharing:
    def test_a_pod_that_did_not_change_is_the_same_object(self) -> None:
        bench = Bench(a_pod(), a_pod(name="other"))
        before = bench.build()

        bench.kubelet.changed_pods.add("uid-of-other")
        after = bench.build(1)

        assert after.pods[0] is before.pods[0]
        assert after.pods[1] is not before.pods[1]
        assert after.pods[1] == before.pods[1]

    def test_so_are_the_entries_where_nothing_was_written(self) -> None:
        bench = Bench()
        bench.turn_builder.write(NoteEntry(1, START, "one"))
        bench.finish_turn()

        assert bench.build().entries is bench.build(1).entries

    def test_so_are_the_workers_of_pods_where_none_changed(self) -> None:
        bench = Bench()
        bench.workers.update(UpdatePodOptions(UpdateType.CREATE, bench.pod), START)
        first, second = bench.build().node, bench.build().node

        assert [worker.pod_uid for worker in first.workers] == [bench.pod.uid]
        assert second.workers is first.workers

    def test_a_tick_changes_its_pod_and_no_other(self) -> None:
        bench = Bench(probed_pod(), a_pod(name="other"))
        bench.step_workers()
        before = bench.build()

        bench.step_workers(10)

        assert bench.build().pods[0] is not before.pods[0]
        assert bench.build().pods[1] is before.pods[1]

    def test_a_changed_definition_is_shown_without_an_entry(self) -> None:
        bench = Bench()
        bench.build()

        bench.pods[bench.pod.uid] = replace(bench.pod, labels={"a": "b"})

        assert bench.pod_snapshot().pod.labels == {"a": "b"}

    @pytest.mark.parametrize(
        ("write", "is_same"),
        [
            pytest.param(
                lambda turn_builder: turn_builder.event(
                    a_pod(), EventType.NORMAL, "Reason", "", now=START
                ),
                False,
                id="event",
            ),
            pytest.param(
                lambda turn_builder: turn_builder.write(
                    PodGoneEntry(1, START, a_pod().uid)
                ),
                False,
                id="pod-gone",
            ),
            pytest.param(
                lambda turn_builder: turn_builder.write(NoteEntry(1, START, "text")),
                True,
                id="note",
            ),
            pytest.param(
                lambda turn_builder: turn_builder.write(
                    UserEntry(1, START, "pause", "all")
                ),
                True,
                id="user",
            ),
        ],
    )
    def test_entries_about_a_pod_change_it(self, write: Any, *, is_same: bool) -> None:
        bench = Bench()
        before = bench.pod_snapshot()

        write(bench.turn_builder)
        bench.finish_turn()

        assert (bench.pod_snapshot() is before) is is_same

    def test_a_forgotten_pod_is_built_again(self) -> None:
        bench = Bench()
        before = bench.pod_snapshot()

        bench.builder.forget(bench.pod.uid)

        assert bench.pod_snapshot() is not before


class TestWhole:
    def test_a_snapshot_has_its_instant_and_the_start_of_the_session(self) -> None:
        snapshot = Bench().build(7)

        assert (snapshot.taken_at, snapshot.started_at) == (at(7), START)

    def test_only_the_newest_entries_are_shown(self) -> None:
        bench = Bench()
        for number in range(1, 602):
            bench.turn_builder.write(NoteEntry(number, START, ""))
        bench.finish_turn()

        snapshot = bench.build()

        assert len(snapshot.entries) == 500
        assert snapshot.sequence == snapshot.entries[-1].sequence == 601
        assert snapshot.entries[0].sequence == 102

    def test_warnings_and_restarts_are_counted(self) -> None:
        bench = Bench(a_pod(), a_pod(name="other"))
        bench.publish(
            a_container_status(number=3),
            init_container_statuses=(a_container_status("init", number=2),),
        )
        for event_type in (EventType.WARNING, EventType.NORMAL, EventType.WARNING):
            bench.turn_builder.event(a_pod(), event_type, "Reason", "", now=START)
        bench.finish_turn()

        assert (bench.build().faults, bench.build().restarts) == (2, 5)

    def test_statuses_that_are_null_have_no_restarts(self) -> None:
        bench = Bench()
        bench.publish(container_statuses=None, init_container_statuses=None)

        assert bench.build().restarts == 0

    def test_the_queue_is_shown_while_paused(self) -> None:
        bench = Bench(probed_pod())
        bench.publish(a_container_status())
        bench.step_workers()
        bench.answer()
        assert (bench.build().queue, bench.build().is_paused) == ((), False)

        bench.overrides.pause()

        assert bench.build().is_paused
        assert bench.build().queue == (QueuedTick(a_key(LIVENESS), at(10)),)

    def test_while_paused_the_ends_of_waits_are_upcoming_with_their_container(
        self,
    ) -> None:
        bench = Bench(a_pod(a_container("stops"), a_container("waits")))
        bench.publish(a_container_status("stops"))
        bench.lifecycle.stopping(
            bench.pod,
            an_instance(a_container("stops")),
            ExitCause.LIVENESS,
            30,
            "pod",
            at(5),
        )
        bench.syncer.backoff_decisions[bench.pod.uid, "waits"] = BackoffDecision(
            waits=True,
            window=timedelta(seconds=10),
            since=at(8),
            until=at(18),
            next_window=timedelta(seconds=20),
        )
        bench.overrides.pause()

        assert bench.build(10).upcoming == (
            Upcoming(UpcomingKind.BACKOFF_OVER, at(18), bench.pod.uid, "waits"),
            Upcoming(UpcomingKind.GRACE_OVER, at(35), bench.pod.uid, "stops"),
        )

    def test_a_held_result_is_upcoming_since_its_probe_ended(self) -> None:
        bench = Bench(probed_pod())
        outcome = an_outcome(started_at=at(3), duration=timedelta(seconds=2))
        bench.probes.scheduler.held[a_key()] = ProbeFinished(1, outcome)
        bench.overrides.pause()

        assert bench.build(10).upcoming == (
            Upcoming(UpcomingKind.HELD_RESULT, at(5), *a_key()),
        )

    def test_a_lost_runtime_is_shown_with_its_error(self) -> None:
        bench = Bench()

        bench.kubelet.relists.on_relist_failed("no daemon", at(5))
        lost = bench.build()
        bench.kubelet.relists.on_relisted(at(6), at(6))
        found = bench.build()

        assert (lost.runtime_lost_since, lost.runtime_error) == (at(5), "no daemon")
        assert (found.runtime_lost_since, found.runtime_error) == (None, "")


class TestPod:
    def test_a_new_pod_is_pending_and_syncing(self) -> None:
        pod = Bench().pod_snapshot()

        assert pod.status.phase is PodPhase.PENDING
        assert (pod.state, pod.operation) == (PodWorkerState.SYNC, "")

    def test_a_pod_has_the_published_status_and_the_state_of_its_worker(self) -> None:
        bench = Bench()
        bench.publish(a_container_status())
        bench.workers.update(UpdatePodOptions(UpdateType.KILL, bench.pod), START)

        pod = bench.pod_snapshot()

        assert pod.status is bench.statuses.get(bench.pod.uid)
        assert pod.state is PodWorkerState.TERMINATING

    def test_init_containers_come_first(self) -> None:
        bench = Bench(a_pod(init_containers=(a_container("init"),)))

        shown = [
            (container.container.name, container.is_init)
            for container in bench.pod_snapshot().containers
        ]

        assert shown == [("init", True), ("app", False)]

    @pytest.mark.parametrize(
        ("operation", "words"),
        [
            pytest.param(
                RunPodSandbox(a_pod(), 0), "creating the sandbox", id="run-sandbox"
            ),
            pytest.param(
                GetPodSandboxStatus("s"), "creating the sandbox", id="look-at-sandbox"
            ),
            pytest.param(
                StopPodSandbox("s"), "stopping the sandbox", id="stop-sandbox"
            ),
            pytest.param(
                RemovePodSandbox("s"), "removing the sandbox", id="remove-sandbox"
            ),
            pytest.param(
                MountVolume(a_pod(), SCRATCH, (), START),
                "mounting volume scratch",
                id="mount",
            ),
            pytest.param(
                UnmountVolume("uid", "scratch"),
                "unmounting volume scratch",
                id="unmount",
            ),
            pytest.param(GetImageStatus(IMAGE), f"looking for {IMAGE}", id="image"),
            pytest.param(PullImage(a_pod(), IMAGE), f"pulling {IMAGE}", id="pull"),
            pytest.param(
                CreateContainer(a_pod(), a_container(), "s", 0, "i"),
                "creating container app",
                id="create",
            ),
            pytest.param(StartContainer(APP), "starting a container", id="start"),
            pytest.param(
                StopContainer(APP, "app", 30), "stopping app (grace 30s)", id="stop"
            ),
            pytest.param(RemoveContainer(APP), "removing a container", id="remove"),
            pytest.param(
                RunHook(a_pod(), a_container(), APP, ExecAction(("x",)), ""),
                "hook of app runs",
                id="hook",
            ),
        ],
    )
    def test_an_operation_of_a_pod_has_a_description(
        self, operation: Operation, words: str
    ) -> None:
        bench = Bench()
        bench.build()

        bench.start_operations(operation)

        assert bench.pod_snapshot().operation == words

    def test_the_first_of_several_operations_is_shown(self) -> None:
        bench = Bench()

        bench.start_operations(StopContainer(APP, "app", 30), RemoveContainer(APP))

        assert bench.pod_snapshot().operation == "stopping app (grace 30s)"

    def test_progress_is_shown_until_the_operation_ends(self) -> None:
        bench = Bench()
        bench.start_operations(PullImage(a_pod(), IMAGE))
        shown = [bench.pod_snapshot().operation]

        bench.builder.on_operation(OperationProgress(1, "40%"))
        shown.append(bench.pod_snapshot().operation)
        bench.builder.on_operation(OperationFinished(1))
        bench.runner.finish(OperationFinished(1), START)
        shown.append(bench.pod_snapshot().operation)

        assert shown == [f"pulling {IMAGE}", f"pulling {IMAGE} 40%", ""]

    def test_progress_of_an_unknown_operation_changes_nothing(self) -> None:
        bench = Bench()
        before = bench.pod_snapshot()

        bench.builder.on_operation(OperationProgress(99, "40%"))
        bench.builder.on_operation(OperationFinished(99))

        assert bench.pod_snapshot() is before


class TestContainer:
    def test_a_container_has_its_status_and_its_probes_in_order(self) -> None:
        probe = a_probe()
        bench = Bench(
            a_pod(
                a_container(
                    startup_probe=probe,
                    readiness_probe=probe,
                    liveness_probe=probe,
                )
            )
        )
        bench.publish(a_container_status())

        container = bench.container_snapshot()

        assert container.status is not None
        assert container.status.container_id == APP
        assert [snapshot.key.probe_type for snapshot in container.probes] == [
            LIVENESS,
            READINESS,
            STARTUP,
        ]

    def test_a_container_that_is_being_stopped_has_the_cause(self) -> None:
        bench = Bench()
        bench.publish(a_container_status())
        bench.lifecycle.stopping(
            bench.pod, an_instance(), ExitCause.LIVENESS, 30, "pod", at(5)
        )

        assert bench.container_snapshot().stopping == StoppingSnapshot(
            at(5), 30, "pod", ExitCause.LIVENESS
        )

    def test_a_container_has_the_exit_of_its_last_instance(self) -> None:
        bench = Bench()
        bench.lifecycle.exited(
            bench.pod.uid, an_instance(state=RuntimeState.EXITED, exit_code=3), at(12)
        )

        last = bench.container_snapshot().last_exit

        assert last is not None
        assert (last.exit_code, last.by) == (3, ExitCause.ITSELF)

    @pytest.mark.parametrize(
        ("status", "is_waiting"),
        [
            pytest.param(a_container_status(state=Waiting()), True, id="waiting"),
            pytest.param(a_container_status(), False, id="running"),
            pytest.param(a_container_status("other"), True, id="unknown"),
        ],
    )
    def test_a_waiting_container_has_the_end_of_its_wait(
        self, status: ContainerStatus, *, is_waiting: bool
    ) -> None:
        bench = Bench()
        bench.publish(status)
        ten, twenty = timedelta(seconds=10), timedelta(seconds=20)
        bench.syncer.backoff_decisions[bench.pod.uid, "app"] = BackoffDecision(
            waits=True,
            window=ten,
            since=at(8),
            until=at(18),
            next_window=twenty,
            latest=at(28),
        )
        until, latest = (at(18), at(28)) if is_waiting else (None, None)

        assert bench.container_snapshot().backoff == BackoffSnapshot(
            ten, at(8), until, twenty, latest
        )


class TestProbe:
    def test_a_probe_without_a_worker_has_its_initial_state(self) -> None:
        probe = Bench(probed_pod()).probe_snapshot()

        assert not probe.worker_alive
        assert (
            probe.stored_result,
            probe.next_tick_at,
            probe.upcoming_skip,
        ) == (
            None,
            None,
            None,
        )
        assert (
            probe.ticks,
            probe.history,
            probe.is_held_back,
        ) == (0, (), False)

    @pytest.mark.parametrize("has_worker", [False, True], ids=["without", "with"])
    def test_a_probe_of_other_timing_shows_what_the_manifest_has(
        self, *, has_worker: bool
    ) -> None:
        bench = Bench(probed_pod(period_seconds=10))
        manifest = bench.pod.containers[0].liveness_probe
        assert manifest is not None
        if has_worker:
            bench.step_workers()
        bench.overrides.timings[a_key()] = replace(
            Timing.of(manifest), period_seconds=3
        )

        probe = bench.probe_snapshot()

        assert probe.worker_alive is has_worker
        assert (probe.probe.period_seconds, probe.manifest_probe) == (3, manifest)

    def test_a_probe_shows_the_state_of_its_worker(self) -> None:
        bench = Bench(probed_pod(failure_threshold=2))
        bench.publish(a_container_status())
        bench.step_workers()
        bench.answer(ProbeResult.FAILURE)

        probe = bench.probe_snapshot()

        assert probe.worker_alive
        assert (
            probe.stored_result,
            probe.last_result,
            probe.result_run,
        ) == (
            Result.SUCCESS,
            Result.FAILURE,
            1,
        )
        assert (probe.on_hold, probe.in_flight_since) == (False, None)
        assert (probe.next_tick_at, probe.upcoming_skip) == (at(10), None)
        assert (probe.ticks, probe.failures, probe.successes) == (
            1,
            1,
            0,
        )
        assert (probe.errors, probe.skips) == (0, 0)
        assert probe.history == (probe.last_run,)

    def test_a_probe_in_flight_has_its_start(self) -> None:
        bench = Bench(probed_pod())
        bench.publish(a_container_status())

        bench.step_workers(3)

        probe = bench.probe_snapshot(4)
        assert (probe.in_flight_since, probe.next_tick_at) == (
            at(3),
            None,
        )

    def test_it_is_foreseen_what_the_next_tick_will_do(self) -> None:
        bench = Bench(probed_pod(initial_delay_seconds=15))
        bench.publish(a_container_status())
        bench.step_workers()
        soon = bench.probe_snapshot()

        bench.step_workers(10)
        later = bench.probe_snapshot()

        assert (soon.upcoming_skip, later.upcoming_skip) == (Skip.INITIAL_DELAY, None)
        assert soon.delay_until == at(15)

    def test_it_is_foreseen_that_a_worker_leaves_with_its_next_tick(self) -> None:
        bench = Bench(replace(probed_pod(), restart_policy=RestartPolicy.NEVER))
        bench.publish(a_container_status())
        bench.step_workers()
        bench.answer()

        bench.publish(a_container_status(state=Terminated(0)))

        assert bench.probe_snapshot().upcoming_skip is Exit.CONTAINER_WILL_NOT_RESTART

    @pytest.mark.parametrize("is_first", [False, True])
    def test_a_worker_that_is_stopped_leaves_once_its_step_is_over(
        self, *, is_first: bool
    ) -> None:
        bench = Bench(probed_pod())
        if is_first:
            bench.probes.add_pod(bench.pod, START)
        else:
            bench.publish(a_container_status())
            bench.step_workers()

        bench.probes.scheduler.stop(a_key())

        assert bench.probe_snapshot().upcoming_skip is Exit.STOPPED

    @pytest.mark.parametrize(
        ("status", "delay_seconds"),
        [
            pytest.param(a_container_status(), 0, id="no-delay"),
            pytest.param(a_container_status(state=Waiting()), 15, id="waiting"),
            pytest.param(a_container_status(state=Running()), 15, id="start-unknown"),
            pytest.param(a_container_status("other"), 15, id="not-there"),
        ],
    )
    def test_a_delay_is_shown_only_of_what_runs(
        self, status: ContainerStatus, delay_seconds: int
    ) -> None:
        bench = Bench(probed_pod(initial_delay_seconds=delay_seconds))
        bench.publish(status)
        bench.step_workers()

        assert bench.probe_snapshot().delay_until is None

    def test_while_paused_its_ticks_are_held_back(self) -> None:
        bench = Bench(probed_pod())
        bench.step_workers()
        assert not bench.probe_snapshot().is_held_back

        bench.overrides.pause()
        assert bench.probe_snapshot().is_held_back

    def test_a_worker_that_left_is_not_alive(self) -> None:
        bench = Bench(replace(probed_pod(), restart_policy=RestartPolicy.NEVER))
        bench.publish(phase=PodPhase.FAILED)
        bench.step_workers()

        assert not bench.probe_snapshot().worker_alive
