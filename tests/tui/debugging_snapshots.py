"""Snapshots of sessions in which users debug probes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from probetui.debugger.breakpoints import StopReason
from probetui.debugger.commands import BreakpointKind
from probetui.engine.snapshot import (
    ContainerSnapshot,
    LastStep,
    Snapshot,
    Upcoming,
    UpcomingKind,
)
from probetui.k8s.probe import ProbeKey
from tests.ticks import DEMO_KEY, NOW
from tests.tui.scenes import paused
from tests.tui.snapshots import DEMO


def with_probe(snapshot: Snapshot, key: ProbeKey, **fields: Any) -> Snapshot:
    """Return a snapshot with changed fields of a probe."""

    def changed(container: ContainerSnapshot) -> ContainerSnapshot:
        probes = (
            replace(probe, **fields) if probe.key == key else probe
            for probe in container.probes
        )
        return replace(container, probes=tuple(probes))

    return _with_containers(snapshot, changed)


def with_container(snapshot: Snapshot, name: str, **fields: Any) -> Snapshot:
    """Return a snapshot with changed fields of a container."""

    def changed(container: ContainerSnapshot) -> ContainerSnapshot:
        is_meant = container.container.name == name
        return replace(container, **fields) if is_meant else container

    return _with_containers(snapshot, changed)


def _with_containers(
    snapshot: Snapshot, change: Callable[[ContainerSnapshot], ContainerSnapshot]
) -> Snapshot:
    pods = (
        replace(pod, containers=tuple(map(change, pod.containers)))
        for pod in snapshot.pods
    )
    return replace(snapshot, pods=tuple(pods))


def stopped() -> Snapshot:
    """Return a session that stopped before a kill, after a step."""
    snapshot = paused()
    reason = StopReason(
        NOW,
        BreakpointKind.BEFORE_KILL,
        DEMO_KEY,
        "before a kill: the liveness probe of demo/liveness has failed 3 times",
    )
    before = with_probe(snapshot, DEMO_KEY, result_run=1).pods
    return replace(
        snapshot,
        stopped_by=reason,
        last_step=LastStep(NOW, snapshot.sequence, DEMO_KEY, before),
        upcoming=(
            Upcoming(UpcomingKind.HELD_RESULT, NOW, *DEMO_KEY),
            *(
                Upcoming(UpcomingKind.TICK, tick.at, *tick.key)
                for tick in snapshot.queue
                if tick.key != DEMO_KEY
            ),
            Upcoming(UpcomingKind.RESYNC, NOW + timedelta(seconds=41), DEMO.uid),
        ),
    )
