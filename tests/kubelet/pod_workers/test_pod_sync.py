from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.k8s.pod import Pod, RestartPolicy, VolumeMount
from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import RuntimePodStatus, RuntimeState
from probetui.k8s.status import (
    ConditionStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Terminated,
    Waiting,
)
from probetui.k8s.volume import EmptyDir, Volume
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    CreateContainer,
    GetImageStatus,
    MountVolume,
    RunPodSandbox,
    StopContainer,
    StopPodSandbox,
)
from probetui.kubelet.images.image_manager import ImageManager
from probetui.kubelet.journal import ContainerEntry, ExitCause, StateEntry, StatusEntry
from probetui.kubelet.kuberuntime.action_policy import ActionPolicy
from probetui.kubelet.kuberuntime.container_lifecycle import ContainerLifecycle
from probetui.kubelet.kuberuntime.killing import Killer
from probetui.kubelet.kuberuntime.reason_cache import ReasonCache
from probetui.kubelet.kuberuntime.sync_pod import PodSyncer, PodSyncResult
from probetui.kubelet.object_store import ObjectStore
from probetui.kubelet.pleg.pleg import CachedStatus, PodCache
from probetui.kubelet.pod_workers.pod_sync import PodSync, _judge_sync
from probetui.kubelet.pod_workers.pod_update import (
    SyncCall,
    SyncCallKind,
    SyncCallResult,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.prober.prober_manager import ProbeManager
from probetui.kubelet.runtime.backoff import Backoff
from probetui.kubelet.runtime.routines import OneShotEvent
from probetui.kubelet.runtime_health import RuntimeHealth
from probetui.kubelet.status.conditions import CONTAINERS_READY
from probetui.kubelet.status.status_manager import StatusManager
from probetui.kubelet.volumes.volume_manager import WAIT_LIMIT, VolumeManager
from tests.builders import (
    START,
    a_container,
    a_pod,
    a_probe,
    a_runtime_status,
    an_instance,
    at,
)
from tests.kubelet.effect_executor import EffectExecutor

LIVENESS, READINESS, STARTUP = ProbeType
EXITED = RuntimeState.EXITED
NEVER = RestartPolicy.NEVER
OK, TERMINAL, ERROR, *_ = SyncCallResult


class Bench(EffectExecutor):
    """The calls of a pod worker, with a cache that a test fills."""

    def __init__(self, pod: Pod, *instances: Any) -> None:
        super().__init__()
        self.pod = pod
        self.cache = PodCache()
        self.set_runtime_status(*instances)
        self.statuses = StatusManager()
        self.reasons = ReasonCache()
        self.probes = ProbeManager(
            KubeletConfig(), START, status_of=self.statuses.get, turn=self.turn_builder
        )
        self.status_requests: list[tuple[datetime, OneShotEvent]] = []
        self.health = RuntimeHealth(
            self.turn_builder, START, polls_status=False, polls_images=False
        )
        lifecycle = ContainerLifecycle(self.turn_builder)
        killer = Killer(self.turn_builder, lifecycle)
        windows = [timedelta(seconds=operation) for operation in (10, 300, 600)]
        self.calls = PodSync(
            self.turn_builder,
            self.probes,
            self.statuses,
            self.cache,
            self.reasons,
            PodSyncer(
                self.turn_builder,
                killer,
                ImageManager(self.turn_builder, Backoff(*windows)),
                Backoff(*windows),
                lifecycle,
                {},
                {},
            ),
            killer,
            self.status_since,
            self.health,
            VolumeManager(self.turn_builder, self.runner, ObjectStore()),
            ActionPolicy(),
        )

    def status_since(self, since: datetime) -> OneShotEvent:
        event = OneShotEvent()
        self.status_requests.append((since, event))
        return event

    def looked(self) -> None:
        """Report a fresh status of the runtime."""
        _, event = self.status_requests.pop()
        event.set()
        self.runner.resume_released(self.now)

    def set_runtime_status(self, *instances: Any, **status: Any) -> None:
        """Let this be what the runtime has."""
        self.cache.set(
            CachedStatus(a_runtime_status(*instances, **status), None, self.now)
        )

    def call(
        self,
        kind: SyncCallKind = SyncCallKind.SYNC,
        grace: int | None = None,
        **update: Any,
    ) -> None:
        what = UpdatePodOptions(UpdateType.SYNC, self.pod, **update)
        self.start(self.calls.routine(SyncCall(kind, what, grace), self.now))

    def delete(self) -> None:
        self.pod = replace(
            self.pod, deletion_requested_at=START, deletion_grace_period_seconds=30
        )

    def status(self) -> PodStatus:
        status = self.statuses.get(self.pod.uid)
        assert status is not None
        return status

    def workers(self) -> list[ProbeType]:
        return [
            worker.worker.key.probe_type
            for worker in self.probes.scheduler.loops.values()
        ]

    def run_probes(self) -> None:
        """Run the probe workers so that they stop."""
        self.probes.scheduler.run_due(self.now)
        self.turn_builder.finish()

    def start_failures(self) -> list[str]:
        return [reason for _, reason, _ in self.events()]


def a_probed_pod(**fields: Any) -> Pod:
    probe = a_probe()
    app = a_container(liveness_probe=probe, readiness_probe=probe, startup_probe=probe)
    return a_pod(app, **fields)


class TestSync:
    def test_the_status_is_published_before_the_first_operation(self) -> None:
        bench = Bench(a_pod(), an_instance())

        bench.call()

        assert bench.status().phase is PodPhase.RUNNING
        assert bench.returned == [OK]
        assert bench.entries(StatusEntry)[-1].status is bench.status()
        assert ("", "Running") in [
            (entry.before, entry.after) for entry in bench.entries(StateEntry)
        ]

    def test_an_unchanged_status_is_not_reported_again(self) -> None:
        bench = Bench(a_pod(), an_instance())

        bench.call()
        bench.call()

        assert len(bench.entries(StatusEntry)) == 1

    def test_a_condition_keeps_its_time_from_the_kubelet_before(self) -> None:
        bench = Bench(a_pod(a_container()), an_instance())
        before = PodCondition(
            CONTAINERS_READY, ConditionStatus.TRUE, last_transition_at=at(-600)
        )
        bench.statuses.set_api_conditions(bench.pod.uid, [before])

        bench.call()

        status = bench.statuses.get(bench.pod.uid)
        assert status is not None
        assert status.condition(CONTAINERS_READY) == before

    def test_probe_workers_are_there_before_the_container(self) -> None:
        bench = Bench(a_probed_pod())

        bench.call()

        assert bench.workers() == [STARTUP, READINESS, LIVENESS]
        assert isinstance(bench.pending_operations()[0], GetImageStatus)

    def test_a_pod_that_has_ended_is_not_synced(self) -> None:
        bench = Bench(a_probed_pod(restart_policy=NEVER), an_instance(state=EXITED))

        bench.call()

        assert bench.returned == [TERMINAL]
        assert bench.workers() == []
        assert bench.pending_operations() == []

    def test_why_a_container_did_not_start_is_in_its_next_status(self) -> None:
        bench = Bench(a_pod())
        bench.call()
        bench.answer(error="daemon gone")
        bench.call()
        bench.answer("sha256:1")

        (status,) = bench.status().container_statuses or ()

        assert bench.returned == [ERROR]
        assert status.state == Waiting(
            "ImageInspectError", 'Failed to inspect image "": daemon gone'
        )

    def test_a_successful_start_removes_the_failure_reason(self) -> None:
        bench = Bench(a_pod())
        for error in ("no", None):
            bench.call()
            bench.answer("sha256:1")
            bench.answer("fake://new", error=error)
        bench.answer()

        assert bench.returned == [ERROR, OK]
        assert bench.reasons.get(bench.pod.uid, "app") is None

    def test_a_container_in_back_off_makes_the_whole_sync_an_error(self) -> None:
        """Quirk: for the sandbox's own good result stands beside it."""
        bench = Bench(a_pod())
        for number in range(2):
            bench.set_runtime_status(
                an_instance(state=EXITED, number=number, finished_at=START)
            )
            bench.call()
            for value in ("sha256:1", "fake://new", None)[: 3 * (1 - number)]:
                bench.answer(value)

        assert bench.returned == [OK, ERROR]
        assert bench.start_failures()[-1] == "BackOff"


class TestTerminate:
    def test_containers_stop_then_the_sandbox_then_a_fresh_status_is_read(self) -> None:
        bench = Bench(a_pod(), an_instance())
        bench.delete()
        bench.call(SyncCallKind.TERMINATING, grace=7)
        assert bench.pending_operations() == [
            StopContainer(an_instance().container_id, "app", 7)
        ]

        bench.answer(after=3)
        assert bench.pending_operations() == [StopPodSandbox("sandbox")]
        bench.answer(after=1)
        assert bench.status_requests[0][0] == at(4)
        assert bench.returned == []
        bench.set_runtime_status(an_instance(state=EXITED, exit_code=0))
        bench.looked()

        assert bench.returned == [OK]
        assert bench.status().phase is PodPhase.SUCCEEDED

    @pytest.mark.parametrize(
        ("is_deleted", "by"),
        [
            pytest.param(True, ExitCause.DELETE, id="deleted"),
            pytest.param(False, ExitCause.POD, id="ended"),
        ],
    )
    def test_the_cause_of_the_end_is_reported(
        self, *, is_deleted: bool, by: ExitCause
    ) -> None:
        bench = Bench(a_pod(deletion_requested_at=START if is_deleted else None))
        bench.set_runtime_status(an_instance())

        bench.call(SyncCallKind.TERMINATING)

        assert [entry.by for entry in bench.entries(ContainerEntry)] == [by]

    def test_liveness_and_startup_probes_stop_at_once_and_readiness_continues(
        self,
    ) -> None:
        bench = Bench(a_probed_pod(), an_instance(a_probed_pod().containers[0]))
        bench.probes.add_pod(bench.pod, START)
        bench.run_probes()

        bench.call(SyncCallKind.TERMINATING)
        bench.run_probes()

        assert bench.workers() == [READINESS]

    def test_readiness_stops_once_all_containers_have(self) -> None:
        bench = Bench(a_probed_pod())
        bench.probes.add_pod(bench.pod, START)
        bench.run_probes()
        bench.call(SyncCallKind.TERMINATING)

        bench.answer()
        bench.run_probes()

        assert bench.workers() == []

    def test_a_failed_kill_of_a_pod_is_an_event_and_retried(self) -> None:
        bench = Bench(a_pod(), an_instance())
        bench.call(SyncCallKind.TERMINATING)

        bench.answer(error="busy")
        bench.answer()

        assert bench.returned == [ERROR]
        assert bench.events()[-1] == (
            "Warning",
            "FailedKillPod",
            "error killing pod: busy",
        )

    def test_a_container_that_runs_on_is_an_error(self) -> None:
        bench = Bench(a_pod(), an_instance())
        bench.call(SyncCallKind.TERMINATING)
        bench.answer()
        bench.answer()

        bench.looked()

        assert bench.returned == [ERROR]

    def test_a_fresh_status_that_never_comes_times_out(self) -> None:
        bench = Bench(a_pod())
        bench.call(SyncCallKind.TERMINATING)
        bench.answer()

        bench.wait(120)

        assert bench.returned == [ERROR]


class TestTerminateOfTheRuntimeOnly:
    @pytest.mark.parametrize(
        ("error", "result"),
        [pytest.param(None, OK, id="killed"), pytest.param("busy", ERROR, id="failed")],
    )
    def test_all_containers_of_the_runtime_are_killed(
        self, error: str | None, result: SyncCallResult
    ) -> None:
        bench = Bench(a_pod(), an_instance())
        bench.call(SyncCallKind.TERMINATING_RUNTIME, grace=1, is_runtime_only=True)
        assert bench.pending_operations() == [
            StopContainer(an_instance().container_id, "app", 2)
        ]

        bench.answer(error=error)
        bench.answer()

        assert bench.returned == [result]

    def test_the_kill_of_an_orphan_makes_no_event(self) -> None:
        bench = Bench(a_pod(), an_instance())

        bench.call(SyncCallKind.TERMINATING_RUNTIME, is_runtime_only=True)

        assert bench.events() == []


class TestFinish:
    def test_the_last_status_is_published(self) -> None:
        bench = Bench(a_pod(), an_instance(state=EXITED, exit_code=1))
        bench.delete()

        bench.call(SyncCallKind.TERMINATED)

        assert bench.returned == [OK]
        assert bench.status().phase is PodPhase.FAILED

    def test_what_nobody_saw_end_counts_as_lost(self) -> None:
        bench = Bench(a_pod(), an_instance())
        bench.call()
        bench.cache.delete(bench.pod.uid)

        bench.call(SyncCallKind.TERMINATED)

        (status,) = bench.status().container_statuses or ()
        assert isinstance(status.state, Terminated)
        assert (status.state.exit_code, status.state.reason) == (
            137,
            "ContainerStatusUnknown",
        )
        assert bench.status().phase is PodPhase.FAILED


class TestVolumes:
    """Waiting for volumes; `test_volume_manager` has their mounts."""

    MOUNT = VolumeMount("scratch", "/scratch")

    def pod(self) -> Pod:
        return a_pod(
            a_container(volume_mounts=(self.MOUNT,)),
            volumes=(Volume("scratch", EmptyDir()),),
        )

    def test_a_sync_waits_for_them_and_then_for_nothing_else(self) -> None:
        bench = Bench(self.pod())
        bench.call()
        (mount,) = bench.pending_operations()

        bench.answer()

        assert isinstance(mount, MountVolume)
        assert isinstance(bench.pending_operations()[0], GetImageStatus)

    def test_one_that_waits_in_vain_is_an_error(self) -> None:
        bench = Bench(self.pod())
        bench.call()

        bench.wait(WAIT_LIMIT.total_seconds())

        assert bench.returned == [ERROR]
        assert bench.workers() == []

    def test_a_pod_has_not_terminated_before_its_containers_are_removed(self) -> None:
        bench = Bench(self.pod())
        bench.call()
        bench.answer()
        bench.call(SyncCallKind.TERMINATED)
        waiting = list(bench.returned)

        bench.wait(WAIT_LIMIT.total_seconds())

        assert waiting == []
        assert bench.returned == [ERROR]


class TestDeadline:
    def test_the_deadline_of_a_pod_is_reported_once(self) -> None:
        bench = Bench(a_pod(active_deadline_seconds=60), an_instance())
        bench.call()
        bench.now = at(61)

        bench.call()
        bench.call(SyncCallKind.TERMINATING)

        assert bench.returned == [OK, TERMINAL]
        assert bench.events() == [
            (
                "Normal",
                "DeadlineExceeded",
                "Pod was active on the node longer than the specified deadline",
            ),
            ("Normal", "Killing", "Stopping container app"),
        ]
        assert bench.status().phase is PodPhase.FAILED


@pytest.mark.parametrize(
    ("results", "judged"),
    [
        pytest.param([], OK, id="nothing-to-do"),
        pytest.param(["", "CrashLoopBackOff"], ERROR, id="beside-a-good-result"),
        pytest.param(["CrashLoopBackOff", "ImagePullBackOff"], OK, id="alone"),
        pytest.param(["CrashLoopBackOff", "ErrImagePull"], ERROR, id="beside-an-error"),
    ],
)
def test_only_where_every_result_is_a_back_off_it_is_no_error(
    results: list[str], judged: SyncCallResult
) -> None:
    result = PodSyncResult()
    for reason in results:
        result.add("StartContainer", "app", reason)

    assert _judge_sync(result) is judged


def test_an_error_of_the_whole_sync_is_one_whatever_else_there_is() -> None:
    result = PodSyncResult(sync_error="gone")
    result.add("StartContainer", "app", "CrashLoopBackOff")

    assert _judge_sync(result) is ERROR


def test_nothing_is_written_of_a_status_that_is_not_there() -> None:
    bench = Bench(a_pod())

    bench.calls.journal_changes(bench.pod, None, None, START)

    assert bench.entries(StatusEntry) == []


def test_a_new_pod_is_synced_from_its_sandbox_on() -> None:
    bench = Bench(a_pod())
    bench.cache.set(CachedStatus(RuntimePodStatus(bench.pod.uid), None, START))

    bench.call()

    assert isinstance(bench.pending_operations()[0], RunPodSandbox)
    assert not [
        operation
        for operation in bench.pending_operations()
        if isinstance(operation, CreateContainer)
    ]
