"""CausalOrder: orders a container's observed entries as cause and effect.

Events and statuses arrive by watches, results by polls of counters: a kill may arrive
before the failures that led to it. An entry waits for a cause that the counters have
yet to show, and later entries wait behind it.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.cluster.observe.probe_counters import CountedTicks
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    EventEntry,
    NoteEntry,
    StateEntry,
    TickAction,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.turn import TurnBuilder

_SECOND = timedelta(seconds=1)
_TICKS_KEPT = 20

ObservedEntry = EventEntry | StateEntry | ContainerEntry | BackoffEntry | NoteEntry


class TickCause(Struct, frozen=True):
    """A tick that the counters have to show, and the deadline for it.

    The tick led to `action`, or, without an action, was a failure. `at` is its end
    according to the effect, in whole seconds.
    """

    key: ProbeKey
    at: datetime
    until: datetime
    action: TickAction = TickAction.NONE


class _Waiting(Struct, frozen=True):
    entry: ObservedEntry
    cause: TickCause | None


class _CountedTick(Struct):
    """A counted tick; `has_event` once an event was assigned to it."""

    entry: TickEntry
    counted: CountedTicks
    has_event: bool = False


class CausalOrder:
    """Writes the entries of one container after the ticks that caused them.

    Args:
        turn: receives the entries.
    """

    def __init__(self, turn: TurnBuilder) -> None:
        self._turn = turn
        self._waiting: deque[_Waiting] = deque()
        self._ticks: deque[_CountedTick] = deque(maxlen=_TICKS_KEPT)
        self._last_at: datetime | None = None

    @property
    def next_deadline(self) -> datetime | None:
        """The deadline of the first waiting entry, None if none waits."""
        cause = self._waiting[0].cause if self._waiting else None
        return None if cause is None else cause.until

    def write(
        self, entry: ObservedEntry, now: datetime, cause: TickCause | None = None
    ) -> None:
        """Write an entry now or after its cause; it is numbered when written."""
        self._waiting.append(_Waiting(entry, cause))
        self.write_due(now)

    def record_tick(
        self, tick: TickEntry, counted: CountedTicks, now: datetime
    ) -> None:
        """Record a written tick, and write the entries that waited for it."""
        self._ticks.append(_CountedTick(tick, counted))
        self._last_at = tick.at
        self.write_due(now)

    def write_due(self, now: datetime) -> None:
        """Write the entries whose cause is known or whose deadline has passed."""
        while self._waiting:
            entry, cause = self._waiting[0].entry, self._waiting[0].cause
            tick = None if cause is None else self._find(cause)
            if cause is not None and tick is None and now < cause.until:
                return
            self._waiting.popleft()
            self._write(entry, tick)

    def _find(self, cause: TickCause) -> TickEntry | None:
        """Find the tick of a cause; for a failure, one without an event."""
        for tick in self._ticks:
            entry, counted = tick.entry, tick.counted
            if entry.key != cause.key or counted.latest + _SECOND < cause.at:
                continue
            if cause.action is not TickAction.NONE:
                if entry.action is cause.action:
                    return entry
            elif (
                entry.result is Result.FAILURE
                and not tick.has_event
                and counted.earliest - _SECOND <= cause.at <= counted.latest
            ):
                tick.has_event = True
                return entry
        return None

    def _write(self, entry: ObservedEntry, tick: TickEntry | None) -> None:
        at = self._instant(entry)
        number = self._turn.next_sequence()
        match entry:
            case EventEntry() if tick is not None and entry.event.reason != "Killing":
                entry = replace(entry, sequence=number, at=at, tick=tick)
            case StateEntry() if tick is not None:
                entry = replace(entry, sequence=number, at=at, cause=tick.sequence)
            case _:
                entry = replace(entry, sequence=number, at=at)
        self._turn.write(entry)
        self._last_at = at

    def _instant(self, entry: ObservedEntry) -> datetime:
        """Return an entry's time, moved within its second to follow its cause.

        Events and statuses have whole seconds.
        """
        last = self._last_at
        if last is not None and entry.at < last < entry.at + _SECOND:
            return last
        return entry.at
