"""The offset of a node's clock to this machine's.

Statuses and events have the node's times, in whole seconds; arrivals and polls have
this machine's. A start is mostly reported within about a tenth of a second, which gives
the offset.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from msgspec.structs import replace

from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodStatus,
    Running,
    Terminated,
)

_LEAST = timedelta(seconds=2)
"""A difference below this is that of whole seconds and of the way."""

_CHANGE = timedelta(seconds=1)
_SAMPLES = 10
_LEAST_SAMPLES = 3
"""A status that is late looks like a clock that is behind; several are late apart."""

_AGREEING = timedelta(seconds=2)

_HALF_A_SECOND = timedelta(milliseconds=500)
_NONE = timedelta()


class NodeClock:
    """Estimates the offset of a node's times; below two seconds it is zero."""

    def __init__(self) -> None:
        self.offset = _NONE
        self._samples: deque[timedelta] = deque(maxlen=_SAMPLES)

    def is_ahead(self, instant: datetime, now: datetime) -> bool:
        """Return whether an instant is in the future, so that the offset is wrong."""
        return instant + self.offset > now + _LEAST

    def learn(self, instant: datetime, received_at: datetime) -> None:
        """Add a sample: an instant of the node's clock that has just arrived.

        A delay makes a sample larger, never smaller: the minimum counts. So a smaller
        offset is certain at once, a larger one when several samples agree.
        """
        self._samples.append(received_at - instant)
        least = min(self._samples)
        offset = least - _HALF_A_SECOND
        agreeing = sum(sample - least <= _AGREEING for sample in self._samples)
        if offset > self.offset and agreeing < _LEAST_SAMPLES:
            return
        # Statuses have whole seconds, and so has a record of them.
        whole = timedelta(seconds=round(offset.total_seconds()))
        offset = whole if abs(offset) >= _LEAST else _NONE
        if abs(offset - self.offset) >= _CHANGE:
            self.offset = offset


def moved_status(status: PodStatus, by: timedelta) -> PodStatus:
    """Return a status with the instants of its containers moved."""
    if not by:
        return status

    def moved(
        statuses: tuple[ContainerStatus, ...] | None,
    ) -> tuple[ContainerStatus, ...]:
        return tuple(
            replace(
                container,
                state=_moved_state(container.state, by),
                last_state=_moved_state(container.last_state, by),
            )
            for container in statuses or ()
        )

    return replace(
        status,
        container_statuses=moved(status.container_statuses),
        init_container_statuses=moved(status.init_container_statuses),
    )


def newest_of(status: PodStatus) -> datetime | None:
    """Return the newest start or end of a container in a status, None without any."""
    containers = (
        *(status.container_statuses or ()),
        *(status.init_container_statuses or ()),
    )
    return max(
        (
            at
            for container in containers
            for state in (container.state, container.last_state)
            if isinstance(state, Running | Terminated)
            for at in (state.started_at, getattr(state, "finished_at", None))
            if at is not None
        ),
        default=None,
    )


def _moved_state(state: ContainerState | None, by: timedelta) -> ContainerState | None:
    match state:
        case Running(started_at=started_at) if started_at is not None:
            return replace(state, started_at=started_at + by)
        case Terminated(started_at=started_at, finished_at=finished_at):
            return replace(
                state,
                started_at=None if started_at is None else started_at + by,
                finished_at=None if finished_at is None else finished_at + by,
            )
        case _:
            return state
