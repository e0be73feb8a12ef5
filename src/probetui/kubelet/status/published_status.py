"""Normalize a pod status for publishing: times, lengths, order.

Source: status/status_manager.go, v1.32.10, updateStatusInternal, normalizeStatus,
updateLastTransitionTime, isPodStatusByKubeletEqual.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodStatus,
    Running,
    Terminated,
)
from probetui.kubelet.status.conditions import DISRUPTION_TARGET, OWNED_BY_KUBELET

MAX_MESSAGE_BYTES_PER_POD = 12 * 1024
TIMED_CONDITIONS = OWNED_BY_KUBELET | {DISRUPTION_TARGET}
MAX_BYTES_PER_CHARACTER = 4


def published_status(
    pod: Pod, status: PodStatus, old: PodStatus, now: datetime
) -> PodStatus:
    """Return a status normalized for publishing.

    It has transition times of conditions, the pod's start time, whole seconds, messages
    truncated to the limit of a pod, and containers in a fixed order. Unchanged parts
    are the same objects.

    Args:
        pod: the spec.
        status: the new status.
        old: the one published before, or the one that came with the pod.
        now: the time of the change.
    """
    seconds = to_seconds(now)
    limit = _message_limit(pod)
    regular = status.container_statuses
    if regular is not None:
        regular = _truncate_statuses(regular, old.container_statuses or (), limit)
        regular = tuple(sorted(regular, key=lambda status: status.name))
    inits = status.init_container_statuses
    if inits is not None:
        inits = _truncate_statuses(inits, old.init_container_statuses or (), limit)
        inits = _in_spec_order(pod, inits)
    return replace(
        status,
        conditions=tuple(
            _timed(condition, old, seconds) for condition in status.conditions
        ),
        start_time=to_seconds(old.start_time or status.start_time or now),
        container_statuses=regular,
        init_container_statuses=inits,
    )


def is_status_equal(old: PodStatus, new: PodStatus) -> bool:
    """Return whether two statuses are equal, foreign conditions aside."""
    for condition in new.conditions:
        if (
            condition.type in TIMED_CONDITIONS
            and old.condition(condition.type) != condition
        ):
            return False
    return _comparable(old) == _comparable(new)


def to_seconds(instant: datetime) -> datetime:
    """Truncate an instant to the second."""
    return instant.replace(microsecond=0) if instant.microsecond else instant


def _comparable(status: PodStatus) -> tuple[object, ...]:
    """Return the status without conditions; empty statuses are null."""
    return (
        status.phase,
        status.reason,
        status.message,
        status.pod_ip,
        status.pod_ips,
        status.qos_class,
        status.start_time,
        status.container_statuses or (),
        status.init_container_statuses or (),
        status.observed_generation,
    )


def _timed(
    condition: PodCondition, old_status: PodStatus, seconds: datetime
) -> PodCondition:
    """Return a condition with its transition time."""
    old = old_status.condition(condition.type)
    since = condition.last_transition_at
    if condition.type in TIMED_CONDITIONS:
        has_held = old is not None and old.status is condition.status
        since = old.last_transition_at if old is not None and has_held else seconds
    since = None if since is None else to_seconds(since)
    # Nearly always nothing changed, and a new object costs the most here.
    is_same = old is not None and _content(old) == _content(condition)
    if old is not None and is_same and old.last_transition_at == since:
        return old
    return replace(condition, last_transition_at=since)


def _content(condition: PodCondition) -> tuple[object, ...]:
    """Return a condition without its type and time."""
    return (
        condition.status,
        condition.reason,
        condition.message,
        condition.observed_generation,
    )


def _message_limit(pod: Pod) -> int:
    """Return the limit of a container's message, in bytes."""
    containers = (pod.init_containers, pod.containers, pod.ephemeral_containers)
    return MAX_MESSAGE_BYTES_PER_POD // max(sum(map(len, containers)), 1)


def _truncate_statuses(
    statuses: Sequence[ContainerStatus], old: Sequence[ContainerStatus], limit: int
) -> tuple[ContainerStatus, ...]:
    """Return statuses with truncated times and messages."""
    old_by_name = {container_status.name: container_status for container_status in old}
    truncated = []
    for status in statuses:
        state = _truncate_state(status.state, limit)
        last_state = _truncate_state(status.last_state, limit)
        cut = status
        if state is not status.state or last_state is not status.last_state:
            cut = replace(status, state=state, last_state=last_state)
        before = old_by_name.get(cut.name)
        truncated.append(before if before is not None and before == cut else cut)
    return tuple(truncated)


def _truncate_state(state: ContainerState | None, limit: int) -> ContainerState | None:
    match state:
        case Running():
            return _truncate_running(state)
        case Terminated():
            return _truncate_terminated(state, limit)
        case _:
            return state


def _truncate_running(state: Running) -> Running:
    started_at = _seconds_or_none(state.started_at)
    return state if started_at == state.started_at else Running(started_at)


def _truncate_terminated(state: Terminated, limit: int) -> Terminated:
    started_at = _seconds_or_none(state.started_at)
    finished_at = _seconds_or_none(state.finished_at)
    message = _truncate_message(state.message, limit)
    if (started_at, finished_at, message) == (
        state.started_at,
        state.finished_at,
        state.message,
    ):
        return state
    return replace(
        state, started_at=started_at, finished_at=finished_at, message=message
    )


def _truncate_message(message: str, limit: int) -> str:
    if len(message) * MAX_BYTES_PER_CHARACTER <= limit:
        return message
    data = message.encode(errors="surrogateescape")
    return data[:limit].decode(errors="surrogateescape")


def _seconds_or_none(instant: datetime | None) -> datetime | None:
    return None if instant is None else to_seconds(instant)


def _in_spec_order(
    pod: Pod, statuses: tuple[ContainerStatus, ...]
) -> tuple[ContainerStatus, ...]:
    """Return init containers in the order of the spec, unknown ones last."""
    places = {
        container.name: place for place, container in enumerate(pod.init_containers)
    }
    return tuple(
        sorted(statuses, key=lambda status: places.get(status.name, len(places)))
    )
