from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.active_faults import ActiveFaults
from probetui.debugger.dry_runs import DryRuns
from probetui.debugger.overrides import ProbeOverrides
from probetui.engine.snapshot import (
    BackoffSnapshot,
    ContainerSnapshot,
    PodSnapshot,
    ProbeSnapshot,
    QueuedTick,
    Snapshot,
)
from probetui.engine.snapshot_builder import SnapshotBuilder
from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod, RestartPolicy
from probetui.k8s.probe import ExecAction, ProbeType
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.k8s.status import ContainerStatus, PodPhase, Running, Waiting
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
    """All that snapshots are made of; a test changes it, and looks."""

    def __init__(self, *pods: Pod) -> None:
        self.overrides = ProbeOverrides()
        self.kubelet = Kubelet(
            KubeletConfig(),
            START,
            pods={pod.uid: pod for pod in pods or (a_pod(),)},
            hooks=self.overrides,
        )
        self.pods = self.kubelet.pods
        self.ledger = self.kubelet.turn
        self.runner = self.kubelet.runner
        self.statuses = self.kubelet.statuses
        self.lifecycle = self.kubelet.runtime.lifecycle
        self.probes = self.kubelet.probes
        self.syncer = self.kubelet.runtime.syncer
        self.workers = self.kubelet.workers
        self.maker = SnapshotBuilder(
            START,
            self.kubelet,
            self.overrides,
            DryRuns(self.ledger, self.overrides),
            ActiveFaults(self.kubelet.cache, shares_network=True),
        )
        self.asked: list[RunProbe] = []

    @property
    def pod(self) -> Pod:
        return next(iter(self.pods.values()))

    def publish(self, *containers: ContainerStatus, **status: Any) -> None:
        pod = self.pod
        self.statuses.set_pod_status(pod, a_status(*containers, **status), START)
        self.kubelet.changed_pods.add(pod.uid)

    def probe(self, seconds: float = 0) -> None:
        """Let the workers of all pods step."""
        for pod in self.pods.values():
            self.probes.add_pod(pod, START)
        self.probes.scheduler.run_due(at(seconds))
        self.note()

    def answer(self, result: ProbeResult = ProbeResult.SUCCESS) -> None:
        probe_id = self.asked.pop(0).probe_id
        self.probes.scheduler.finish(ProbeFinished(probe_id, an_outcome(result)), START)
        self.note()

    def note(self) -> None:
        turn = self.ledger.finish()
        self.asked += [
            effect for effect in turn.effects if isinstance(effect, RunProbe)
        ]
        self.maker.on_turn(turn)

    def operate(self, *operations: Operation) -> None:
        """Have operations of the first pod begin."""

        def doing(operation: Operation) -> Routine[None]:
            yield operation

        for operation in operations:
            self.runner.start(self.pod.uid, doing(operation), _ignore, START)
        self.note()

    def look(self, seconds: float = 0) -> Snapshot:
        return self.maker.build(at(seconds))

    def look_at_pod(self, seconds: float = 0) -> PodSnapshot:
        return self.look(seconds).pods[0]

    def look_at_container(self, name: str = "app") -> ContainerSnapshot:
        return next(
            container
            for container in self.look_at_pod().containers
            if container.container.name == name
        )

    def look_at_probe(self, seconds: float = 0) -> ProbeSnapshot:
        (probe,) = self.look_at_pod(seconds).containers[0].probes
        return probe


def _ignore(_value: None, _at: datetime) -> None:
    """Want to know nothing of the end."""


def probed_pod(kind: ProbeType = LIVENESS, **probe: Any) -> Pod:
    fields: dict[str, Any] = {f"{kind.lower()}_probe": a_probe(**probe)}
    return a_pod(a_container(**fields))


class TestSharing:
    def test_a_pod_that_did_not_change_is_the_same_object(self) -> None:
        bench = Bench(a_pod(), a_pod(name="other"))
        before = bench.look()

        bench.kubelet.changed_pods.add("uid-of-other")
        after = bench.look(1)

        assert after.pods[0] is before.pods[0]
        assert after.pods[1] is not before.pods[1]
        assert after.pods[1] == before.pods[1]

    def test_so_are_the_entries_where_nothing_was_written(self) -> None:
        bench = Bench()
        bench.ledger.write(NoteEntry(1, START, "one"))
        bench.note()

        assert bench.look().entries is bench.look(1).entries

    def test_a_tick_changes_its_pod_and_no_other(self) -> None:
        bench = Bench(probed_pod(), a_pod(name="other"))
        bench.probe()
        before = bench.look()

        bench.probe(10)

        assert bench.look().pods[0] is not before.pods[0]
        assert bench.look().pods[1] is before.pods[1]

    def test_a_changed_definition_is_seen_without_being_told(self) -> None:
        bench = Bench()
        bench.look()

        bench.pods[bench.pod.uid] = replace(bench.pod, labels={"a": "b"})

        assert bench.look_at_pod().pod.labels == {"a": "b"}

    @pytest.mark.parametrize(
        ("write", "is_same"),
        [
            pytest.param(
                lambda ledger: ledger.event(
                    a_pod(), EventType.NORMAL, "Reason", "", now=START
                ),
                False,
                id="event",
            ),
            pytest.param(
                lambda ledger: ledger.write(PodGoneEntry(1, START, a_pod().uid)),
                False,
                id="pod-gone",
            ),
            pytest.param(
                lambda ledger: ledger.write(NoteEntry(1, START, "text")),
                True,
                id="note",
            ),
            pytest.param(
                lambda ledger: ledger.write(UserEntry(1, START, "pause", "all")),
                True,
                id="user",
            ),
        ],
    )
    def test_entries_about_a_pod_change_it(self, write: Any, *, is_same: bool) -> None:
        bench = Bench()
        before = bench.look_at_pod()

        write(bench.ledger)
        bench.note()

        assert (bench.look_at_pod() is before) is is_same

    def test_a_pod_that_is_forgotten_is_made_anew(self) -> None:
        bench = Bench()
        before = bench.look_at_pod()

        bench.maker.forget(bench.pod.uid)

        assert bench.look_at_pod() is not before


class TestWhole:
    def test_it_says_when_it_was_taken_and_when_all_began(self) -> None:
        snapshot = Bench().look(7)

        assert (snapshot.taken_at, snapshot.started_at) == (at(7), START)

    def test_only_the_newest_entries_are_shown(self) -> None:
        bench = Bench()
        for number in range(1, 602):
            bench.ledger.write(NoteEntry(number, START, ""))
        bench.note()

        snapshot = bench.look()

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
            bench.ledger.event(a_pod(), event_type, "Reason", "", now=START)
        bench.note()

        assert (bench.look().faults, bench.look().restarts) == (2, 5)

    def test_statuses_that_are_null_have_no_restarts(self) -> None:
        bench = Bench()
        bench.publish(container_statuses=None, init_container_statuses=None)

        assert bench.look().restarts == 0

    def test_the_queue_is_shown_while_paused(self) -> None:
        bench = Bench(probed_pod())
        bench.publish(a_container_status())
        bench.probe()
        bench.answer()
        assert (bench.look().queue, bench.look().is_paused) == ((), False)

        bench.overrides.pause()

        assert bench.look().is_paused
        assert bench.look().queue == (QueuedTick(a_key(LIVENESS), at(10)),)

    def test_a_runtime_that_is_gone_is_shown_with_its_error(self) -> None:
        bench = Bench()

        bench.kubelet.relists.on_relist_failed("no daemon", at(5))
        lost = bench.look()
        bench.kubelet.relists.on_relisted(at(6), at(6))
        found = bench.look()

        assert (lost.runtime_lost_since, lost.runtime_error) == (at(5), "no daemon")
        assert (found.runtime_lost_since, found.runtime_error) == (None, "")


class TestPod:
    def test_before_anything_is_known_it_is_pending_and_syncing(self) -> None:
        pod = Bench().look_at_pod()

        assert pod.status.phase is PodPhase.PENDING
        assert (pod.state, pod.operation) == (PodWorkerState.SYNC, "")

    def test_it_has_the_published_status_and_the_state_of_its_worker(self) -> None:
        bench = Bench()
        bench.publish(a_container_status())
        bench.workers.update(UpdatePodOptions(UpdateType.KILL, bench.pod), START)

        pod = bench.look_at_pod()

        assert pod.status is bench.statuses.get(bench.pod.uid)
        assert pod.state is PodWorkerState.TERMINATING

    def test_init_containers_come_first(self) -> None:
        bench = Bench(a_pod(init_containers=(a_container("init"),)))

        shown = [
            (container.container.name, container.is_init)
            for container in bench.look_at_pod().containers
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
                "running a hook of app",
                id="hook",
            ),
        ],
    )
    def test_what_is_being_done_for_it_is_said_in_words(
        self, operation: Operation, words: str
    ) -> None:
        bench = Bench()
        bench.look()

        bench.operate(operation)

        assert bench.look_at_pod().operation == words

    def test_of_several_operations_the_first_is_told(self) -> None:
        bench = Bench()

        bench.operate(StopContainer(APP, "app", 30), RemoveContainer(APP))

        assert bench.look_at_pod().operation == "stopping app (grace 30s)"

    def test_progress_is_told_until_the_operation_is_over(self) -> None:
        bench = Bench()
        bench.operate(PullImage(a_pod(), IMAGE))
        told = [bench.look_at_pod().operation]

        bench.maker.on_operation(OperationProgress(1, "40%"))
        told.append(bench.look_at_pod().operation)
        bench.maker.on_operation(OperationFinished(1))
        bench.runner.finish(OperationFinished(1), START)
        told.append(bench.look_at_pod().operation)

        assert told == [f"pulling {IMAGE}", f"pulling {IMAGE} 40%", ""]

    def test_news_of_an_operation_that_is_not_known_change_nothing(self) -> None:
        bench = Bench()
        before = bench.look_at_pod()

        bench.maker.on_operation(OperationProgress(99, "40%"))
        bench.maker.on_operation(OperationFinished(99))

        assert bench.look_at_pod() is before


class TestContainer:
    def test_it_has_its_status_and_its_probes_in_order(self) -> None:
        probe = a_probe()
        bench = Bench(
            a_pod(
                a_container(
                    startup_probe=probe, readiness_probe=probe, liveness_probe=probe
                )
            )
        )
        bench.publish(a_container_status())

        container = bench.look_at_container()

        assert container.status is not None
        assert container.status.container_id == APP
        assert [snapshot.key.probe_type for snapshot in container.probes] == [
            LIVENESS,
            READINESS,
            STARTUP,
        ]

    def test_one_that_is_being_stopped_says_by_whom(self) -> None:
        bench = Bench()
        bench.publish(a_container_status())
        bench.lifecycle.stopping(
            bench.pod, an_instance(), ExitCause.LIVENESS, 30, "pod", at(5)
        )

        assert bench.look_at_container().stopping == StoppingSnapshot(
            at(5), 30, "pod", ExitCause.LIVENESS
        )

    def test_it_says_how_its_last_instance_ended(self) -> None:
        bench = Bench()
        bench.lifecycle.exited(
            bench.pod.uid, an_instance(state=RuntimeState.EXITED, exit_code=3), at(12)
        )

        last = bench.look_at_container().last_exit

        assert last is not None
        assert (last.exit_code, last.by) == (3, ExitCause.ITSELF)

    @pytest.mark.parametrize(
        ("status", "until"),
        [
            pytest.param(a_container_status(state=Waiting()), at(18), id="waiting"),
            pytest.param(a_container_status(), None, id="running"),
            pytest.param(a_container_status("other"), at(18), id="unknown"),
        ],
    )
    def test_what_waits_says_until_when(
        self, status: ContainerStatus, until: datetime | None
    ) -> None:
        bench = Bench()
        bench.publish(status)
        ten, twenty = timedelta(seconds=10), timedelta(seconds=20)
        bench.syncer.backoff_decisions[bench.pod.uid, "app"] = BackoffDecision(
            waits=True, window=ten, since=at(8), until=at(18), next_window=twenty
        )

        assert bench.look_at_container().backoff == BackoffSnapshot(
            ten, at(8), until, twenty
        )


class TestProbe:
    def test_before_its_worker_there_is_little_to_say(self) -> None:
        probe = Bench(probed_pod()).look_at_probe()

        assert not probe.worker_alive
        assert (probe.stored_result, probe.next_tick_at, probe.upcoming_skip) == (
            None,
            None,
            None,
        )
        assert (probe.ticks, probe.history, probe.is_held_back) == (0, (), False)

    def test_a_worker_is_shown_as_it_stands(self) -> None:
        bench = Bench(probed_pod(failure_threshold=2))
        bench.publish(a_container_status())
        bench.probe()
        bench.answer(ProbeResult.FAILURE)

        probe = bench.look_at_probe()

        assert probe.worker_alive
        assert (probe.stored_result, probe.last_result, probe.result_run) == (
            Result.SUCCESS,
            Result.FAILURE,
            1,
        )
        assert (probe.on_hold, probe.in_flight_since) == (False, None)
        assert (probe.next_tick_at, probe.upcoming_skip) == (at(10), None)
        assert (probe.ticks, probe.failures, probe.successes) == (1, 1, 0)
        assert (probe.errors, probe.skips) == (0, 0)
        assert probe.history == (probe.last_run,)

    def test_a_probe_that_is_under_way_says_since_when(self) -> None:
        bench = Bench(probed_pod())
        bench.publish(a_container_status())

        bench.probe(3)

        probe = bench.look_at_probe(4)
        assert (probe.in_flight_since, probe.next_tick_at) == (at(3), None)

    def test_it_is_foreseen_what_the_next_tick_will_do(self) -> None:
        bench = Bench(probed_pod(initial_delay_seconds=15))
        bench.publish(a_container_status())
        bench.probe()
        soon = bench.look_at_probe()

        bench.probe(10)
        later = bench.look_at_probe()

        assert (soon.upcoming_skip, later.upcoming_skip) == (Skip.INITIAL_DELAY, None)
        assert soon.delay_until == at(15)

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
        bench.probe()

        assert bench.look_at_probe().delay_until is None

    def test_while_paused_its_ticks_are_held_back(self) -> None:
        bench = Bench(probed_pod())
        bench.probe()
        assert not bench.look_at_probe().is_held_back

        bench.overrides.pause()
        assert bench.look_at_probe().is_held_back

    def test_a_worker_that_left_is_not_alive(self) -> None:
        bench = Bench(replace(probed_pod(), restart_policy=RestartPolicy.NEVER))
        bench.publish(phase=PodPhase.FAILED)
        bench.probe()

        assert not bench.look_at_probe().worker_alive
