"""One worker per pod: what is asked of it, and when it syncs.

A pod goes from syncing to terminating to terminated to finished and never back. Of
the updates that come while a call runs, only the last one is delivered.

Source: pod_workers.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from probetui.k8s.pod import Pod
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.grace_period import effective_grace_period
from probetui.kubelet.pod_update import (
    Call,
    CallKind,
    CallResult,
    PodUpdate,
    UpdateType,
)
from probetui.kubelet.snapshot import PodWorkerState
from probetui.kubelet.timers import Timers


@dataclass(slots=True)
class _Status:
    """What is kept of one pod; owned by `PodWorkers`."""

    full_name: str
    is_static: bool
    pending: PodUpdate | None = None
    active: PodUpdate | None = None
    call: Call | None = None
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
        begin: makes a call; its end is told by `finish`.
        is_fresh: whether what is known of a pod's runtime status is newer than an
            instant; a worker waits until it is.
        is_idle: whether the runtime has nothing of a pod that runs.
    """

    def __init__(
        self,
        config: KubeletConfig,
        rng: Random,
        begin: Callable[[Call, datetime], None],
        is_fresh: Callable[[str, datetime | None], bool],
        is_idle: Callable[[str], bool],
    ) -> None:
        self._config = config
        self._rng = rng
        self._begin = begin
        self._is_fresh = is_fresh
        self._is_idle = is_idle
        self._statuses: dict[str, _Status] = {}
        self._waiting_static: dict[str, list[str]] = {}
        self._started_static: dict[str, str] = {}
        self._has_synced_pods = False
        self.queue: Timers[str] = Timers()
        """When each pod is to be synced again, at the earliest."""

    # -- what is asked

    def update(self, update: PodUpdate, now: datetime) -> None:
        """Take an update in, and act on it as soon as the worker is free.

        Source: pod_workers.go, v1.32.10, UpdatePod.
        """
        uid = update.pod.uid
        status = self._statuses.get(uid)
        is_new = status is None
        if status is None:
            status = self._first_seen(uid, update)
        elif update.is_runtime_only:
            status.deleted = True
            known = status.pending or status.active
            if known is not None and not known.is_runtime_only:
                update = PodUpdate(
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
                update.pod, status.grace_period_seconds, update.grace_period_override
            )
            status.grace_period_seconds = effective.seconds
            shortened = effective.is_changed
        grace = status.grace_period_seconds if status.terminating else None
        status.pending = replace(update, grace_period_override=grace)
        status.waits_for_name = False
        if (became_terminating or shortened) and status.call is not None:
            status.is_cancelled = True
        self._start_if_ready(uid, status, now)

    def finish(self, pod_uid: str, result: CallResult, now: datetime) -> None:
        """Take in how a call ended, and go on to the next one.

        Source: pod_workers.go, v1.32.10, podWorkerLoop, completeWork.
        """
        status = self._statuses[pod_uid]
        call = status.call
        if call is None:
            msg = f"no call is running for {pod_uid}"
            raise AssertionError(msg)
        status.call = None
        status.is_cancelled = False
        status.synced_at = now
        if call.kind is CallKind.TERMINATING_RUNTIME and result is CallResult.OK:
            self._forget(pod_uid)
            return
        has_moved_on = self._move_on(pod_uid, status, call.kind, result)
        if status.finished:
            status.pending = None
            self.queue.cancel(pod_uid)
        else:
            if has_moved_on:
                self._replay(status)
            delay = self._delay(result, has_moved_on=has_moved_on)
            self.queue.set(pod_uid, now + delay)
            self._start_if_ready(pod_uid, status, now)

    def sync_known_pods(
        self, wanted: Mapping[str, Pod], now: datetime
    ) -> dict[str, PodWorkerState]:
        """Bring the workers in line with the pods that are wanted.

        Returns the state of every worker that is left.

        Source: pod_workers.go, v1.32.10, SyncKnownPods.
        """
        self._has_synced_pods = True
        for uid, status in list(self._statuses.items()):
            if uid not in wanted or status.restart_requested:
                self._remove_or_end(uid, status, is_orphan=uid not in wanted)
        self.run_ready(now)
        return {uid: each.state for uid, each in self._statuses.items()}

    def run_ready(self, now: datetime) -> None:
        """Begin the call of every free worker that has an update and fresh facts."""
        for uid, status in list(self._statuses.items()):
            self._start_if_ready(uid, status, now)

    # -- what can be asked

    def state(self, pod_uid: str) -> PodWorkerState | None:
        """Return where a pod's worker is, None without one."""
        status = self._statuses.get(pod_uid)
        return None if status is None else status.state

    def knows(self, pod_uid: str) -> bool:
        """Tell whether there is a worker for a pod."""
        return pod_uid in self._statuses

    def uids(self) -> tuple[str, ...]:
        """Return the pods that have a worker."""
        return tuple(self._statuses)

    def call_of(self, pod_uid: str) -> Call | None:
        """Return the call that runs for a pod, None if none does."""
        status = self._statuses.get(pod_uid)
        return None if status is None else status.call

    def is_cancelled(self, pod_uid: str) -> bool:
        """Tell whether the running call of a pod has been asked to end early."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.is_cancelled

    def could_have_running_containers(self, pod_uid: str) -> bool:
        """Tell whether containers of a pod may still run.

        Source: pod_workers.go, v1.32.10, CouldHaveRunningContainers.
        """
        status = self._statuses.get(pod_uid)
        return not self._has_synced_pods if status is None else not status.terminated

    def is_known_terminated(self, pod_uid: str) -> bool:
        """Tell whether a pod's containers have all been stopped for good."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.terminated

    def is_termination_requested(self, pod_uid: str) -> bool:
        """Tell whether a pod is on its way out, or gone."""
        status = self._statuses.get(pod_uid)
        return status is not None and status.terminating

    def should_be_terminating(self, pod_uid: str) -> bool:
        """Tell whether a pod's worker has begun to end it."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.started_terminating

    def should_runtime_be_removed(self, pod_uid: str) -> bool:
        """Tell whether what the runtime has of a pod can go."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.terminated

    def should_content_be_removed(self, pod_uid: str) -> bool:
        """Tell whether dead containers and logs of a pod can go."""
        status = self._statuses.get(pod_uid)
        if status is None:
            return self._has_synced_pods
        return status.evicted or (status.deleted and status.terminated)

    def should_be_finished(self, pod_uid: str) -> bool:
        """Tell whether nothing is left to do for a pod."""
        status = self._statuses.get(pod_uid)
        return self._has_synced_pods if status is None else status.finished

    # -- inside

    def _start_if_ready(self, uid: str, status: _Status, now: datetime) -> None:
        update = status.pending
        if update is None or status.call is not None or status.waits_for_name:
            return
        if self._may_start(uid, status, now) and (
            update.is_runtime_only or self._is_fresh(uid, status.synced_at)
        ):
            self._start(status, update, now)

    def _first_seen(self, uid: str, update: PodUpdate) -> _Status:
        status = _Status(update.pod.full_name, update.is_static)
        has_ended = update.phase is not None and update.phase.is_terminal
        if not update.is_runtime_only and has_ended and self._is_idle(uid):
            status.terminating = status.started_terminating = True
            status.terminated = True
        self._statuses[uid] = status
        if update.is_static:
            self._waiting_static.setdefault(status.full_name, []).append(uid)
        return status

    def _make_terminating(self, status: _Status, update: PodUpdate) -> bool:
        """Tell whether this update is the one that ends the pod."""
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

    def _may_start(self, uid: str, status: _Status, now: datetime) -> bool:
        """Tell whether a static pod's turn has come; others need not wait.

        Source: pod_workers.go, v1.32.10, allowStaticPodStart.
        """
        if not status.is_static or status.active is not None:
            return True
        if status.terminating:
            # It never began, so there is nothing to end.
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
            # Only its next update lets it ask again.
            status.waits_for_name = True
            delay = self._jittered(self._config.retry_after_error)
            self.queue.set(uid, now + delay)
        return may

    def _still_wants_to_start(self, uid: str) -> bool:
        status = self._statuses.get(uid)
        return status is not None and not status.terminating

    def _start(self, status: _Status, update: PodUpdate, now: datetime) -> None:
        status.pending = None
        status.active = update
        if status.terminated:
            kind, grace = CallKind.TERMINATED, None
        elif status.terminating:
            status.started_terminating = True
            is_runtime_only = update.is_runtime_only
            kind = (
                CallKind.TERMINATING_RUNTIME
                if is_runtime_only
                else CallKind.TERMINATING
            )
            grace = update.grace_period_override
        else:
            kind, grace = CallKind.SYNC, None
        call = Call(kind, update, grace)
        status.call = call
        self._begin(call, now)

    def _move_on(
        self, uid: str, status: _Status, kind: CallKind, result: CallResult
    ) -> bool:
        """Take the next state if this call leads there."""
        if kind is CallKind.SYNC and result is CallResult.TERMINAL:
            status.terminating = True
            status.started_terminating = True
            return True
        if result is not CallResult.OK:
            return False
        if kind is CallKind.TERMINATING:
            status.terminated = True
            return True
        if kind is CallKind.TERMINATED:
            status.finished = True
            self._release_name(uid, status)
            return True
        return False

    def _release_name(self, uid: str, status: _Status) -> None:
        if self._started_static.get(status.full_name) == uid:
            del self._started_static[status.full_name]

    def _replay(self, status: _Status) -> None:
        """Let the last update run again in the new state, unless one waits.

        Quirk, kept: the grace period of that update is not carried over.
        """
        if status.pending is None and status.active is not None:
            status.pending = replace(status.active, grace_period_override=None)

    def _remove_or_end(self, uid: str, status: _Status, *, is_orphan: bool) -> None:
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
        self._replay(status)

    def _forget(self, uid: str) -> None:
        status = self._statuses.pop(uid)
        self.queue.cancel(uid)
        self._release_name(uid, status)

    def _delay(self, result: CallResult, *, has_moved_on: bool) -> timedelta:
        if has_moved_on:
            return timedelta()
        match result:
            case CallResult.NETWORK_NOT_READY:
                return self._jittered(self._config.retry_after_network_error)
            case CallResult.ERROR:
                return self._jittered(self._config.retry_after_error)
            case CallResult.OK | CallResult.TERMINAL:
                return self._jittered(self._config.sync_frequency)

    def _jittered(self, length: timedelta) -> timedelta:
        return length * (1 + self._config.jitter * self._rng.random())
