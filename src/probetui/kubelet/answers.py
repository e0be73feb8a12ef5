"""Answers of probes that come when it is their time, not when the world has one."""

from __future__ import annotations

from datetime import datetime

from probetui.kubelet.inputs import ProbeFinished
from probetui.kubelet.timers import Timers


class Answers:
    """What probes under way will come to, and when; owned by the engine."""

    __slots__ = ("_ends", "_under_way")

    def __init__(self) -> None:
        self._under_way: dict[int, ProbeFinished] = {}
        self._ends: Timers[int] = Timers()

    def __bool__(self) -> bool:
        """Tell whether any is to come."""
        return bool(self._under_way)

    def set(self, finished: ProbeFinished, at: datetime) -> None:
        """Let a probe that is under way come to this at an instant."""
        self._under_way[finished.probe_id] = finished
        self._ends.set(finished.probe_id, at)

    def next_deadline(self) -> datetime | None:
        """Return when the next one comes, None if there is none."""
        return self._ends.next_deadline()

    def pop_due(self, now: datetime) -> ProbeFinished | None:
        """Take one that has come by now, None if none has."""
        probe_id = self._ends.pop_due(now)
        return None if probe_id is None else self._under_way.pop(probe_id)
