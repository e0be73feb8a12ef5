"""Pod workers: one per pod, from sync to terminated.

A pod's worker moves from syncing to terminating, terminated and finished, and never
back. Of the updates during a call, only the last one is delivered.

Source: pod_workers.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.kuberuntime.grace_period import effective_grace_period
from probetui.kubelet.pod_workers.pod_update import (
    CallOutcome,
    InBackOff,
    PodWorkerState,
    SyncCall,
    SyncCallKind,
    SyncCallResult,
    UpdatePodOptions,
    UpdateType,
)
from probetui.kubelet.runtime.timers import Timers


class _PodSyncStatus(Struct):
    """The state of one pod worker; owned by `PodWorkers`.

    A worker takes the `pending` update before it waits for a fresh status: an update
    from then on is `later` and causes another sync (pod_workers.go, podWorkerLoop).
    """

    full_name: str
    is_static: bool
    pending: UpdatePodOptions | None = None
    later: UpdatePodOptions | None = None
    is_waiting: bool = False
    active: UpdatePodOptions | None = None
    call: SyncCall | None = None
    is_cancelled: bool = False
    synced_at: datetime | None = None
    terminating: bool = False
    started_terminating: bool = False
    terminated: bool = False
    finished: bool = False
    deleted: bool = False
    evicted: bool = False
    restart_requested: bool = False
    waits_for_name: bool = False
    is_in_api: bool = False
    grace_period_seconds: int = 0

    @property
    def state(self) -> PodWorkerState:
        if self.finished:
            return PodWorkerState.FINISHED
        if self.terminated:
            return PodWorkerState.TERMINATED
        if self.terminating:
            return PodWorkerState.TERMINATING
        return PodWorkerState.SYNC


class PodWorkers:
    """All pod workers; owned by the engine.

    Args:
        config: resync and retry times.
        rng: the engine's random source, for their jitter.
        start_call: starts a call; `finish` receives its result.
        has_fresh_status: whether the status of a pod in the cache is newer than an
            instant; a worker waits until it is.
        is_idle: whether no container of a pod runs.
    """

    def __init__(
        self,
        config: KubeletConfig,
        rng: Random,
        start_call: Callable[[SyncCall, datetime], None],
        has_fresh_status: Callable[[str, datetime | None], bool],
        is_idle: Callable[[str], bool],
    ) -> None:
        self._config = config
        self._rng = rng
        self._start_call = start_call
        self._is_fresh = has_fresh_status
        self._is_idle = is_idle
        self._statuses: dict[str, _PodSyncStatus] = {}
        self._waiting_static: dict[str, list[str]] = {}
        self._started_static: dict[str, str] = {}
        self._has_synced_pods = False
        self.queue: Timers[str] = Timers()
        """When each pod is to be synced again, at the earliest."""
        self.changes = 0
        """Incremented whenever a worker may have changed."""

    # -- what is asked

    def update(self, update: UpdatePodOptions, now: datetime) -> None:
        """Queue an update, and handle it once the worker is free.

        Source: pod_workers.go, v1.32.10, UpdatePod.
        """
        if update.is_runtime_only and update.update_type is not UpdateType.KILL:
            return  # "runtime pods can only be killed"
        self.changes += 1
        uid = update.pod.uid
        status = self._statuses.get(uid)
        is_new = status is None
        if status is None:
            status = self._create_status(uid, update)
        elif update.is_runtime_only:
            status.deleted = True
            known = status.pending or status.active
            if known is not None and not known.is_runtime_only:
                update = UpdatePodOptions(
                    update.update_type,
                    known.pod,
                    is_static=known.is_static,
                    evict=update.evict,
                    grace_period_override=update.grace_period_override,
                )
        is_create = update.update_type is UpdateType.CREATE
        if status.terminating and is_create and not is_new:
            status.restart_requested = True
            return
        if status.finished:
            return
        became_terminating = self._make_terminating(status, update)
        shortened = False
        if status.terminating:
            effective = effective_grace_period(
                update.pod,
                status.grace_period_seconds,
                update.grace_period_override,
                self._config.rules,
            )
            status.grace_period_seconds = effective.seconds
            shortened = effective.is_changed
        grace = status.grace_period_seconds if status.terminating else None
        update = replace(update, grace_period_override=grace)
        is_taken = status.is_waiting and self._config.queues_while_waiting
        if is_taken and not status.terminating:
            status.later = update
        else:
            status.pending = update
        status.waits_for_name = False
        if (became_terminating or shortened) and status.call is not None:
            status.is_cancelled = True
        self._start_if_ready(uid, status, now)

    def finish(self, pod_uid: str, result: CallOutcome, now: datetime) -> None:
        """Process the result of a call, and start the next one.

        Source: pod_workers.go, v1.32.10, podWorkerLoop, completeWork.
        """
        self.changes += 1
        status = self._statuses[pod_uid]
        call = status.call
        if call is None:
            msg = f"no call is running for {pod_uid}"
            raise AssertionError(msg)
        status.call = None
        status.is_cancelled = False
        status.synced_at = now
        if (
            call.kind is SyncCallKind.TERMINATING_RUNTIME
            and result is SyncCallResult.OK
        ):
            self._forget(pod_uid)
            return
        has_moved_on = self._complete_transition(pod_uid, status, call.kind, result)
        if status.finished:
            status.pending = None
            self.queue.cancel(pod_uid)
            self._wake_next(status.full_name, now)
        else:
            if has_moved_on or result is SyncCallResult.AGAIN:
                self._requeue_last(status)
            delay = self._delay(result, now, has_moved_on=has_moved_on)
            self.queue.set(pod_uid, now + delay)
            self._start_if_ready(pod_uid, status, now)

    def sync_known_pods(
        self, desired: Mapping[str, Pod], now: datetime
    ) -> dict[str, PodWorkerState]:
        """Reconcile the workers with the desired pods.

        Returns the state of every worker that is left.

        Source: pod_workers.go, v1.32.10, SyncKnownPods.
        """
        self.changes += 1
        self._has_synced_pods = True
        for uid, status in list(self._statuses.items()):
            if uid not in desired or status.restart_requested:
                self._remove_or_end(uid, status, is_orphan=uid not in desired)
        self.run_ready(now)
        return {uid: status.state for uid, status in self._statuses.items()}

    def run_ready(self, now: datetime) -> None:
        """Start the call of each free worker with an update and a fresh status."""
        for uid, status in list(self._statuses.items()):
            self._start_if_ready(uid, status, now)

    # -- what can be asked

    def state(self, pod_uid: str) -> PodWorkerState | None:
        """Return the state of a pod's worker, None without one."""
        status = self._statuses.get(pod_uid)
        return None if status is None else status.state

    def activity(
        self, pod_uid: str
    ) -> tuple[PodWorkerState, str, bool, datetime | None]:
        """Return the state, running call and pending work of a worker.

        The last two are whether an update waits, and when a sync is due.
        """
        status = self._statuses[pod_uid]
        return (
            status.state,
            "" if status.call is None else status.call.kind.value,
            status.pending is not None,
            self.queue.deadline(pod_uid),
        )

    def has_worker(self, pod_uid: str) -> bool:
        """Return whether there is a worker for a pod."""
        return pod_uid in self._statuses

    def uids(self) -> tuple[str, ...]:
        """Return the pods that have a worker."""
        return tuple(self._statuses)

    def call_of(self, pod_uid: str) -> SyncCall | None:
        """Return the running call of a pod, None without one."""
        status = self._statuses.get(pod_uid)
        return None if status is None else status.call

    def is_cancelled(self, pod_uid: str) -> bool:
        """Return whether the running call of a pod has been asked to end early."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.is_cancelled

    def could_have_running_containers(self, pod_uid: str) -> bool:
        """Return whether containers of a pod may still run.

        Source: pod_workers.go, v1.32.10, CouldHaveRunningContainers.
        """
        status = self._statuses.get(pod_uid)
        return not self._has_synced_pods if status is None else not status.terminated

    def is_known_terminated(self, pod_uid: str) -> bool:
        """Return whether a pod's containers have all been stopped for good."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.terminated

    def is_termination_requested(self, pod_uid: str) -> bool:
        """Return whether a pod is to terminate, or has terminated."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.terminating

    def should_be_terminating(self, pod_uid: str) -> bool:
        """Return whether a pod's worker has started to terminate it."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.started_terminating

    def should_runtime_be_removed(self, pod_uid: str) -> bool:
        """Return whether the pod's containers at the runtime can be removed."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.terminated

    def should_content_be_removed(self, pod_uid: str) -> bool:
        """Return whether dead containers and logs of a pod can be removed."""
        status = self._statuses.get(pod_uid)
        if status is None:
            return self._has_synced_pods
        return status.evicted or (status.deleted and status.terminated)

    def should_be_finished(self, pod_uid: str) -> bool:
        """Return whether a pod is finished."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.finished

    # -- inside

    def _start_if_ready(self, uid: str, status: _PodSyncStatus, now: datetime) -> None:
        update = status.pending
        if update is None or status.call is not None or status.waits_for_name:
            return
        if not self._allow_static_pod_start(uid, status, now):
            return
        status.is_waiting = not (
            update.is_runtime_only or self._is_fresh(uid, status.synced_at)
        )
        if not status.is_waiting:
            self._start(status, update, now)

    def _create_status(self, uid: str, update: UpdatePodOptions) -> _PodSyncStatus:
        status = _PodSyncStatus(
            update.pod.full_name, update.is_static, is_in_api=update.is_in_api
        )
        has_ended = update.phase is not None and update.phase.is_terminal
        if not update.is_runtime_only and has_ended and self._is_idle(uid):
            status.terminating = status.started_terminating = True
            status.terminated = True
        self._statuses[uid] = status
        if update.is_static:
            self._waiting_static.setdefault(status.full_name, []).append(uid)
        return status

    def _make_terminating(
        self, status: _PodSyncStatus, update: UpdatePodOptions
    ) -> bool:
        """Return whether this update terminates the pod."""
        if update.pod.deletion_requested_at is not None:
            status.deleted = True
        if update.update_type is UpdateType.KILL and update.evict:
            status.evicted = True
        if status.terminating:
            return False
        status.terminating = (
            update.is_runtime_only
            or update.pod.deletion_requested_at is not None
            or (update.phase is not None and update.phase.is_terminal)
            or update.update_type is UpdateType.KILL
        )
        return status.terminating

    def _allow_static_pod_start(
        self, uid: str, status: _PodSyncStatus, now: datetime
    ) -> bool:
        """Return whether a static pod may start; other pods always may.

        Source: pod_workers.go, v1.32.10, allowStaticPodStart.
        """
        if not status.is_static or status.active is not None:
            return True
        if status.terminating:
            # It never started, so there is nothing to terminate.
            status.pending = None
            status.terminated = status.finished = True
            return False
        name = status.full_name
        if name in self._started_static:
            may = self._started_static[name] == uid
        else:
            waiting = self._waiting_static.get(name, [])
            while waiting and not self._still_wants_to_start(waiting[0]):
                waiting.pop(0)
            may = bool(waiting) and waiting[0] == uid
            if may:
                waiting.pop(0)
                self._started_static[name] = uid
        if not may:
            # It is checked again only on its next update.
            status.waits_for_name = True
            delay = self._jittered(self._config.retry_after_error)
            self.queue.set(uid, now + delay)
        return may

    def _wake_next(self, full_name: str, now: datetime) -> None:
        """Start the next pod with the full name, if it is at an API server.

        Difference: if a manifest stands for an API server, the new pod is known before
        the old one is gone, so that it waits like a static pod. An API server would
        have it as soon as the old one is gone, so it starts then.
        """
        for uid in self._waiting_static.get(full_name, ()):
            if self._still_wants_to_start(uid):
                if self._statuses[uid].is_in_api:
                    self.queue.set(uid, now)
                return

    def _still_wants_to_start(self, uid: str) -> bool:
        status = self._statuses.get(uid)
        return status is not None and not status.terminating

    def _start(
        self, status: _PodSyncStatus, update: UpdatePodOptions, now: datetime
    ) -> None:
        self.changes += 1
        status.pending, status.later = status.later, None
        status.active = update
        if status.terminated:
            kind, grace = SyncCallKind.TERMINATED, None
        elif status.terminating:
            status.started_terminating = True
            is_runtime_only = update.is_runtime_only
            kind = (
                SyncCallKind.TERMINATING_RUNTIME
                if is_runtime_only
                else SyncCallKind.TERMINATING
            )
            grace = update.grace_period_override
        else:
            kind, grace = SyncCallKind.SYNC, None
        call = SyncCall(kind, update, grace)
        status.call = call
        self._start_call(call, now)

    def _complete_transition(
        self,
        uid: str,
        status: _PodSyncStatus,
        kind: SyncCallKind,
        result: CallOutcome,
    ) -> bool:
        """Advance to the next state if the result of this call allows it."""
        if kind is SyncCallKind.SYNC and result is SyncCallResult.TERMINAL:
            status.terminating = True
            status.started_terminating = True
            return True
        if result is not SyncCallResult.OK:
            return False
        if kind is SyncCallKind.TERMINATING:
            status.terminated = True
            return True
        if kind is SyncCallKind.TERMINATED:
            status.finished = True
            self._release_name(uid, status)
            return True
        return False

    def _release_name(self, uid: str, status: _PodSyncStatus) -> None:
        if self._started_static.get(status.full_name) == uid:
            del self._started_static[status.full_name]

    def _requeue_last(self, status: _PodSyncStatus) -> None:
        """Queue the last update again in the new state, unless one waits.

        Quirk, kept: the grace period of that update is not carried over.
        """
        if status.pending is None and status.active is not None:
            status.pending = replace(status.active, grace_period_override=None)

    def _remove_or_end(
        self, uid: str, status: _PodSyncStatus, *, is_orphan: bool
    ) -> None:
        never_began = status.is_static and status.active is None
        if status.finished or (is_orphan and never_began):
            self._forget(uid)
            return
        if not is_orphan:
            return
        status.deleted = True
        if not status.terminating and status.call is not None:
            status.is_cancelled = True
        status.terminating = True
        self._requeue_last(status)

    def _forget(self, uid: str) -> None:
        status = self._statuses.pop(uid)
        self.queue.cancel(uid)
        self._release_name(uid, status)

    def _delay(
        self, result: CallOutcome, now: datetime, *, has_moved_on: bool
    ) -> timedelta:
        if has_moved_on:
            return timedelta()
        match result:
            case InBackOff(until):
                remaining = max(until - now, timedelta())
                return self._jittered(min(remaining, self._config.sync_frequency))
            case SyncCallResult.NETWORK_NOT_READY:
                return self._jittered(self._config.retry_after_network_error)
            case SyncCallResult.ERROR:
                return self._jittered(self._config.retry_after_error)
            case SyncCallResult.OK | SyncCallResult.TERMINAL | SyncCallResult.AGAIN:
                return self._jittered(self._config.sync_frequency)

    def _jittered(self, length: timedelta) -> timedelta:
        return length * (1 + self._config.jitter * self._rng.random())
