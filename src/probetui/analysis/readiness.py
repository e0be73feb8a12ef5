"""Why a container that runs is not ready: the probe that it waits for.

A container with a startup probe is started by its first success, and only then are its
other probes run. It is ready while the last result of its readiness probe is a success;
one without that probe is ready once it has started.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.container_history import ContainerInstance, SessionHistory
from probetui.analysis.timeline import Timeline
from probetui.k8s.pod import Container
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result

_IN_ORDER = (ProbeType.STARTUP, ProbeType.READINESS)


class Obstacle(StrEnum):
    """What keeps a container from being ready; the names never change."""

    NOT_PROBED = "not-probed"
    ERRORED = "errored"
    FAILED = "failed"
    TOO_FEW_SUCCESSES = "too-few-successes"


class NotReady(Struct, frozen=True):
    """Why a container is not ready.

    Attributes:
        probe: what it waits for.
        probe_type: the startup probe, or the readiness probe after it.
        obstacle: the kind of reason.
        tick: the last one that ran the probe, None if none did.
        since: the start of the first tick of the run of failures, None for no run.
    """

    probe: Probe
    probe_type: ProbeType
    obstacle: Obstacle
    tick: TickEntry | None = None
    since: datetime | None = None


def why_not_ready(
    container: Container,
    ticks: Mapping[ProbeType, TickEntry],
    *,
    is_started: bool = False,
) -> NotReady | None:
    """Return why a container that runs is not ready, None if it is.

    Args:
        container: its definition.
        ticks: the last tick of each of its probes that ran one.
        is_started: its status says that its startup probe has succeeded, which may
            have been before the first tick that is known.
    """
    probe_types = (ProbeType.READINESS,) if is_started else _IN_ORDER
    for probe_type in probe_types:
        probe, tick = container.probe(probe_type), ticks.get(probe_type)
        if probe is None or (tick is not None and _has_passed(probe_type, tick)):
            continue
        return NotReady(probe, probe_type, _obstacle(tick), tick)
    return None


def _has_passed(probe_type: ProbeType, tick: TickEntry) -> bool:
    """Return whether a probe lets its container be ready after a tick.

    One success is enough for a startup probe, even if the order of those counted with
    it is not known.
    """
    is_startup = probe_type is ProbeType.STARTUP and not tick.overridden.muted
    return tick.stored.after is Result.SUCCESS or (
        is_startup and tick.result is Result.SUCCESS
    )


def _obstacle(tick: TickEntry | None) -> Obstacle:
    if tick is None:
        return Obstacle.NOT_PROBED
    if tick.result is None:
        return Obstacle.ERRORED
    is_success = tick.result is Result.SUCCESS
    return Obstacle.TOO_FEW_SUCCESSES if is_success else Obstacle.FAILED


def instance_not_ready(
    session: SessionHistory,
    pod_uid: str,
    container: Container,
    instance: ContainerInstance,
    *,
    is_started: bool = False,
) -> NotReady | None:
    """Return why an instance is not ready, or was not when its stop began."""
    until = instance.end_at
    last: dict[ProbeType, TickEntry] = {}
    has_startup_ticks = False
    for probe_type in _IN_ORDER:
        timeline = session.timeline(ProbeKey(pod_uid, container.name, probe_type))
        if probe_type is ProbeType.STARTUP:
            # In the startup window a status says started, and its probe goes on.
            has_startup_ticks = bool(timeline.indexes)
        ran = _last_that_ran(timeline, instance.container_id, until)
        if ran is not None:
            last[probe_type] = ran
    reason = why_not_ready(
        container, last, is_started=is_started and not has_startup_ticks
    )
    if reason is None or reason.tick is None or reason.obstacle is not Obstacle.FAILED:
        return reason
    timeline = session.timeline(ProbeKey(pod_uid, container.name, reason.probe_type))
    first = timeline.first_failure(reason.tick)
    return replace(reason, since=first.timing.started_at)


def _last_that_ran(
    timeline: Timeline, container_id: ContainerID, until: datetime | None
) -> TickEntry | None:
    """Return the last tick that probed an instance before an instant, or None."""
    for tick in timeline.ran_backwards():
        if until is None or tick.timing.started_at < until:
            return tick if tick.container_id == container_id else None
    return None
