"""PLEG: lifecycle events from two relists, and the cache of runtime statuses.

Source: pleg/generic.go, kubelet/container/cache.go, v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.runtime import RuntimePodStatus, RuntimeState

NO_ERRORS: Mapping[str, str] = MappingProxyType({})


class LifecycleChange(StrEnum):
    """The type of change of a container or sandbox."""

    STARTED = "ContainerStarted"
    DIED = "ContainerDied"
    REMOVED = "ContainerRemoved"


class PodLifecycleEvent(Struct, frozen=True):
    """A change of one container or sandbox of a pod, by its ID at the runtime."""

    pod_uid: str
    change: LifecycleChange
    container_id: str


class CachedStatus(Struct, frozen=True):
    """The last runtime status read.

    `error` is why a later read failed; then `status` may be empty.
    """

    status: RuntimePodStatus
    error: str | None
    read_at: datetime


class PodCache:
    """The runtime status of each pod with the time it was read; owned by the engine.

    A pod without an entry has no containers or sandboxes.
    """

    __slots__ = ("_pods", "_read_at")

    def __init__(self) -> None:
        self._pods: dict[str, CachedStatus] = {}
        self._read_at: datetime | None = None

    def get(self, pod_uid: str) -> RuntimePodStatus:
        """Return the status of a pod, an empty one if the runtime has none."""
        cached = self._pods.get(pod_uid)
        return RuntimePodStatus(pod_uid) if cached is None else cached.status

    def get_newer_than(self, pod_uid: str, instant: datetime) -> CachedStatus | None:
        """Return the status of a pod if it held after `instant`, else None.

        A status read before then is also returned if a later relist saw no change.
        """
        cached = self._pods.get(pod_uid)
        looked_at = self._read_at
        all_is_newer = looked_at is not None and looked_at > instant
        if cached is None:
            if looked_at is None or not all_is_newer:
                return None
            return CachedStatus(RuntimePodStatus(pod_uid), None, looked_at)
        return cached if all_is_newer or cached.read_at > instant else None

    def set(self, cached: CachedStatus) -> None:
        """Keep the status of a pod."""
        self._pods[cached.status.pod_uid] = cached

    def delete(self, pod_uid: str) -> None:
        """Forget a pod that is gone from the runtime."""
        self._pods.pop(pod_uid, None)

    def update_time(self, read_at: datetime) -> None:
        """Record that all older statuses were still true at this time."""
        self._read_at = read_at


_States = Mapping[str, RuntimeState]
_NOTHING: _States = MappingProxyType({})


class Pleg:
    """Turns relists into lifecycle events and keeps the cache; owned by the engine."""

    __slots__ = ("_cache", "_records", "_unread")

    def __init__(self, cache: PodCache) -> None:
        self._cache = cache
        self._records: dict[str, _States] = {}
        self._unread: set[str] = set()

    def relist(
        self,
        pods: Iterable[RuntimePodStatus],
        started_at: datetime,
        errors: Mapping[str, str] = NO_ERRORS,
    ) -> tuple[PodLifecycleEvent, ...]:
        """Return the changes since the last relist, pod by pod.

        The cached status of a pod is replaced only after a change.

        Args:
            pods: the pods at the runtime.
            started_at: when the runtime was asked.
            errors: why the containers of a pod could not be inspected, by UID. Its
                events are held back until they can be.
        """
        current = {status.pod_uid: status for status in pods}
        known = (*self._records, *(uid for uid in current if uid not in self._records))
        events: list[PodLifecycleEvent] = []
        unread, self._unread = self._unread, set()
        for uid in known:
            before = self._records.get(uid, _NOTHING)
            pod = current.get(uid)
            now = _NOTHING if pod is None else _states(pod)
            if before == now and uid not in unread:
                continue
            if not self._read(uid, pod, started_at, errors.get(uid)):
                self._unread.add(uid)
                continue
            if pod is None:
                self._records.pop(uid, None)
            else:
                self._records[uid] = now
            events.extend(_changes(uid, before, now))
        self._cache.update_time(started_at)
        return tuple(events)

    def _read(
        self,
        uid: str,
        pod: RuntimePodStatus | None,
        started_at: datetime,
        error: str | None,
    ) -> bool:
        """Update the cache; return whether the pod could be inspected."""
        if pod is None:
            self._cache.delete(uid)
            return True
        read_at = pod.seen_at or started_at
        if error is not None:
            pod = RuntimePodStatus(uid)
        elif not pod.ips:
            pod = self._with_last_ips(pod)
        self._cache.set(CachedStatus(pod, error, read_at))
        return error is None

    def _with_last_ips(self, pod: RuntimePodStatus) -> RuntimePodStatus:
        """Return the status with its last addresses while a sandbox was ready."""
        last = self._cache.get(pod.pod_uid).ips
        if not last or any(sandbox.is_ready for sandbox in pod.sandboxes):
            return pod
        return replace(pod, ips=last)


def _states(pod: RuntimePodStatus) -> _States:
    """Return the state of each container, then of each sandbox."""
    states: dict[str, RuntimeState] = {
        container.container_id: _seen(container.state) for container in pod.containers
    }
    for sandbox in pod.sandboxes:
        ready = RuntimeState.RUNNING if sandbox.is_ready else RuntimeState.EXITED
        states.setdefault(sandbox.sandbox_id, ready)
    return states


def _seen(state: RuntimeState) -> RuntimeState:
    """Quirk, kept: what was only created counts as being in an unknown state."""
    return RuntimeState.UNKNOWN if state is RuntimeState.CREATED else state


def _changes(uid: str, before: _States, now: _States) -> Iterable[PodLifecycleEvent]:
    """Yield the change of each container, previously known ones first.

    A change to an unknown state makes no event, as nothing uses it.
    """
    for container_id in (*before, *(new_id for new_id in now if new_id not in before)):
        old, new = before.get(container_id), now.get(container_id)
        if old is new:
            continue
        if new is RuntimeState.RUNNING:
            yield PodLifecycleEvent(uid, LifecycleChange.STARTED, container_id)
        if new is RuntimeState.EXITED:
            yield PodLifecycleEvent(uid, LifecycleChange.DIED, container_id)
        if new is None:
            if old is not RuntimeState.EXITED:
                yield PodLifecycleEvent(uid, LifecycleChange.DIED, container_id)
            yield PodLifecycleEvent(uid, LifecycleChange.REMOVED, container_id)
