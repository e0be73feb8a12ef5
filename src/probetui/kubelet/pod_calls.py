"""What is done for one pod in each state of its worker.

Source: kubelet.go, v1.32.10, SyncPod, SyncTerminatingPod, SyncTerminatingRuntimePod,
SyncTerminatedPod.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import RuntimeState
from probetui.k8s.status import PodStatus
from probetui.kubelet.api_status import (
    DEADLINE_EXCEEDED,
    DEADLINE_MESSAGE,
    generate_api_pod_status,
    past_active_deadline,
)
from probetui.kubelet.backoff import CRASH_LOOP_BACK_OFF
from probetui.kubelet.images import IMAGE_PULL_BACK_OFF
from probetui.kubelet.journal import By, StateEntry, StatusEntry
from probetui.kubelet.killing import Killer
from probetui.kubelet.pleg import PodCache
from probetui.kubelet.pod_update import Call, CallKind, CallResult
from probetui.kubelet.probe_manager import ProbeManager
from probetui.kubelet.reason_cache import ReasonCache, StartFailure
from probetui.kubelet.restraint import Restraint
from probetui.kubelet.routine import NOW, Await, Latch, Routine
from probetui.kubelet.status_changes import status_changes
from probetui.kubelet.status_manager import NO_STATUS, StatusManager
from probetui.kubelet.sync_pod import PodSyncer
from probetui.kubelet.sync_result import PodSyncResult
from probetui.kubelet.turn import Ledger
from probetui.kubelet.volumes import VolumeManager

BACK_OFFS = {CRASH_LOOP_BACK_OFF, IMAGE_PULL_BACK_OFF}
FRESH_STATUS_LIMIT = timedelta(minutes=2)


class PodCalls:
    """Writes the routine of each call; owned by the engine.

    Args:
        fresh: returns a latch that is set when a relist newer than the instant has
            come; asks for that relist.
    """

    def __init__(
        self,
        ledger: Ledger,
        probes: ProbeManager,
        statuses: StatusManager,
        cache: PodCache,
        reasons: ReasonCache,
        syncer: PodSyncer,
        killer: Killer,
        fresh: Callable[[datetime], Latch],
        volumes: VolumeManager,
        restraint: Restraint,
    ) -> None:
        self._restraint = restraint
        self._ledger = ledger
        self._probes = probes
        self._statuses = statuses
        self._cache = cache
        self._reasons = reasons
        self._syncer = syncer
        self._killer = killer
        self._fresh = fresh
        self._volumes = volumes

    def routine(self, call: Call, now: datetime) -> Routine[CallResult]:
        """Return what carries out a call."""
        match call.kind:
            case CallKind.SYNC:
                return self._sync(call.pod, now)
            case CallKind.TERMINATING:
                return self._terminate(call, now)
            case CallKind.TERMINATING_RUNTIME:
                return self._terminate_runtime(call, now)
            case CallKind.TERMINATED:
                return self._finish(call.pod, now)

    def publish(
        self, pod: Pod, status: PodStatus | None, old: PodStatus | None, now: datetime
    ) -> None:
        """Write down what of a published status is new."""
        if status is None or status is old:
            return
        for change in status_changes(old, status):
            self._ledger.write(
                StateEntry(self._ledger.next_sequence(), now, pod.uid, *change)
            )
        self._ledger.write(
            StatusEntry(self._ledger.next_sequence(), now, pod.uid, status)
        )

    def _sync(self, pod: Pod, now: datetime) -> Routine[CallResult]:
        status = self._generate(pod, now)
        self._set(pod, status, now)
        if status.phase.is_terminal:
            return CallResult.TERMINAL
        # What the runtime had is read before the wait, as in the kubelet.
        in_runtime = self._cache.get(pod.uid)
        has_volumes = yield from self._volumes.wait_for_mounts(pod, now)
        if not has_volumes:
            return CallResult.ERROR
        now = (yield NOW).at
        self._probes.add_pod(pod, now)
        result = yield from self._syncer.sync_pod(pod, in_runtime, now)
        self._remember_reasons(pod, result)
        return _judge(result)

    def _terminate(self, call: Call, now: datetime) -> Routine[CallResult]:
        """End a pod; liveness and startup stop at once, readiness at the end.

        One that has ended by its own rules, with something left that may not be
        stopped, stays as it is, to be looked at again.
        """
        pod = call.pod
        if pod.deletion_requested_at is None and not self._restraint.kills:
            running = [
                each
                for each in self._cache.get(pod.uid).containers
                if each.state is RuntimeState.RUNNING
            ]
            if running:
                self._restraint.tell_stops(pod, running, By.POD, now)
                return CallResult.ERROR
        self._set(pod, self._generate(pod, now), now)
        self._probes.stop_liveness_and_startup(pod)
        by = By.POD if pod.deletion_requested_at is None else By.DELETE
        killed = yield from self._killer.kill_pod(
            pod,
            self._cache.get(pod.uid),
            now,
            by=by,
            override_seconds=call.grace_period_seconds,
        )
        now = (yield NOW).at
        if killed.error is not None:
            self._ledger.event(
                pod,
                EventType.WARNING,
                "FailedKillPod",
                f"error killing pod: {killed.error}",
                now=now,
            )
            return CallResult.ERROR
        self._probes.remove_pod(pod)
        # What is judged next must have been seen after the last stop.
        looked = yield Await((self._fresh(now),), now + FRESH_STATUS_LIMIT)
        if looked.timed_out or self._has_running(pod.uid):
            return CallResult.ERROR
        status = self._generate(pod, looked.at, is_terminal=True)
        self._set(pod, status, looked.at)
        return CallResult.OK

    def _terminate_runtime(self, call: Call, now: datetime) -> Routine[CallResult]:
        """Kill what the runtime has of a pod that nobody knows.

        There is no spec that events could refer to, and so there are none.
        """
        killed = yield from self._killer.kill_pod(
            call.pod,
            self._cache.get(call.pod.uid),
            now,
            override_seconds=call.grace_period_seconds,
            is_announced=False,
        )
        return CallResult.OK if killed.error is None else CallResult.ERROR

    def _finish(self, pod: Pod, now: datetime) -> Routine[CallResult]:
        self._set(pod, self._generate(pod, now, is_terminal=True), now)
        is_unmounted = yield from self._volumes.wait_for_unmounts(pod, now)
        if not is_unmounted:
            return CallResult.ERROR
        now = (yield NOW).at
        old = self._statuses.get(pod.uid)
        last = self._statuses.terminate_pod(pod, now, api_status=old or NO_STATUS)
        self.publish(pod, last, old, now)
        return CallResult.OK

    def _generate(
        self, pod: Pod, now: datetime, *, is_terminal: bool = False
    ) -> PodStatus:
        """Return the pod's status as of now; the end of its time is told once."""
        published = self._statuses.get(pod.uid)
        is_past = published is not None and past_active_deadline(pod, published, now)
        if is_past and published is not None and published.reason != DEADLINE_EXCEEDED:
            self._ledger.event(
                pod, EventType.NORMAL, DEADLINE_EXCEEDED, DEADLINE_MESSAGE, now=now
            )
        return generate_api_pod_status(
            pod,
            self._cache.get(pod.uid),
            published,
            self._reasons,
            self._probes.update_pod_status,
            api_status=published or NO_STATUS,
            is_terminal=is_terminal,
            is_past_deadline=is_past,
        )

    def _set(self, pod: Pod, status: PodStatus, now: datetime) -> None:
        old = self._statuses.get(pod.uid)
        self.publish(pod, self._statuses.set_pod_status(pod, status, now), old, now)

    def _has_running(self, pod_uid: str) -> bool:
        return any(
            each.state is RuntimeState.RUNNING
            for each in self._cache.get(pod_uid).containers
        )

    def _remember_reasons(self, pod: Pod, result: PodSyncResult) -> None:
        """Keep why containers did not start, for the next status.

        Source: kubelet/reason_cache.go, v1.32.10, Update.
        """
        for each in result.results:
            if each.action != "StartContainer":
                continue
            if each.reason:
                failure = StartFailure(each.reason, each.message)
                self._reasons.set(pod.uid, each.target, failure)
            else:
                self._reasons.remove(pod.uid, each.target)


def _judge(result: PodSyncResult) -> CallResult:
    """Tell how a sync went; containers in back-off alone are no error.

    Quirk, kept: the sandbox's own good result is among the rest, so that a pod with a
    container in back-off is nearly always an error, and tried again after 10 s.
    """
    if result.error is None:
        return CallResult.OK
    if result.sync_error is None and all(
        each.reason in BACK_OFFS for each in result.results
    ):
        return CallResult.OK
    return CallResult.ERROR
