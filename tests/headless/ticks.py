"""Ticks of a journal that is written by hand."""

from __future__ import annotations

from datetime import timedelta

from probetui.k8s.probe import ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import Skip, TickAction, TickEntry, Trigger
from tests.builders import a_key, at


def tick(
    n: int = 1, probe: ProbeType = ProbeType.LIVENESS, container: str = "app"
) -> TickEntry:
    return TickEntry(
        sequence=n,
        at=at(n),
        key=a_key(probe, container=container),
        n=n,
        trigger=Trigger.PERIODIC,
        started_at=at(n),
        duration=timedelta(),
        container_id=ContainerID("x://1"),
        new_container=False,
        gates=(),
        skip=Skip.NOT_RUNNING,
        exit=None,
        attempts=(),
        result=None,
        injected=False,
        run=0,
        threshold=3,
        stored_before=None,
        stored_after=None,
        hold_before=False,
        hold_after=False,
        action=TickAction.NONE,
    )
