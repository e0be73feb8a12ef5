"""Relists: their schedule, and runtimes that do not answer.

Source: pleg/generic.go, v1.32.10, Start; kubelet/runtime.go, runtimeState.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from probetui.kubelet.effects import Relist
from probetui.kubelet.runtime.routines import OneShotEvent
from probetui.kubelet.runtime.turn import TurnBuilder

LONGEST_PAUSE = timedelta(seconds=5)

_SILENCE = "the container runtime does not answer: "
"""The start of the note, and of some runtimes' errors."""


class RelistScheduler:
    """Schedules one relist at a time, a period apart; owned by the engine.

    A requested relist does not delay the periodic ones, as in the kubelet, which then
    inspects one pod alone (v1.36.2, workerLoopIteration).

    Difference: while the runtime does not answer the kubelet's main loop stands
    still; here it goes on, and the pauses between relists grow to 5 s.

    Attributes:
        due_at: when the next relist begins; None while one is under way.
        relisted_at: when the last relist that succeeded began, None before the first.
        lost_since: since when the runtime has not answered, None if it does.
        lost_error: the runtime's error.
    """

    def __init__(self, turn: TurnBuilder, period: timedelta, now: datetime) -> None:
        self._turn = turn
        self._period = period
        self._pause = period
        self._planned_at = now
        self._is_wanted = False
        self._awaited: list[tuple[datetime, OneShotEvent]] = []
        self.due_at: datetime | None = now
        self.relisted_at: datetime | None = None
        self.lost_since: datetime | None = None
        self.lost_error = ""

    def request(self, now: datetime) -> None:
        """Bring the next relist forward; it waits for one in progress."""
        if self.due_at is None:
            self._is_wanted = True
        elif self.lost_since is None:
            self.due_at = min(self.due_at, now)

    def newer_than(self, instant: datetime) -> OneShotEvent:
        """Return an event that is set after a relist started at `instant` or later."""
        event = OneShotEvent()
        self._awaited.append((instant, event))
        if self.due_at is not None:
            self.request(instant)
        return event

    def run_due(self, now: datetime) -> None:
        """Start a relist if one is due."""
        if self.due_at is not None and self.due_at <= now:
            self.due_at = None
            self._is_wanted = False
            self._turn.emit(Relist())

    def on_relisted(self, started_at: datetime, now: datetime) -> None:
        """Schedule the next relist after a success."""
        if self.lost_since is not None:
            gone_for = round((now - self.lost_since).total_seconds())
            self._turn.note(
                now,
                f"the container runtime answers again, after {gone_for}s",
                is_fault=False,
            )
            self.lost_since = None
            self.lost_error = ""
        self._pause = self._period
        if started_at >= self._planned_at:
            self._planned_at = now + self._pause
        self.relisted_at = started_at
        waiting = self._awaited
        self._awaited = [awaited for awaited in waiting if awaited[0] > started_at]
        for since, event in waiting:
            if since <= started_at:
                event.set()
        dues = [now if self._is_wanted else max(now, self._planned_at)]
        dues += [max(since, now) for since, _ in self._awaited]
        self.due_at = min(dues)

    def on_relist_failed(self, error: str, now: datetime) -> None:
        """Schedule the next relist after a failure."""
        if self.lost_since is None:
            self.lost_since = now
            why = error.removeprefix(_SILENCE)
            self._turn.note(now, f"{_SILENCE}{why}", is_fault=True)
        self.lost_error = error
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self.due_at = self._planned_at = now + self._pause
