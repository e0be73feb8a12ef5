"""The timeline of a probe: every tick of the session, in a byte and an index each.

A strip draws marks of ticks that lie far apart in the journal, whose entries may be
packed away. So the marks are kept beside it, in a byte for each tick, and an entry is
fetched only for the one tick that somebody looks at.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Protocol, runtime_checkable

from msgspec import Struct

from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import JournalEntry, Skip, TickAction, TickEntry, Trigger
from probetui.kubelet.outcome import ProbeResult, Result

_SKIPS = {
    Skip.NO_STATUS: "not_running",
    Skip.CONTAINER_MISSING: "not_running",
    Skip.NOT_RUNNING: "not_running",
    Skip.ON_HOLD: "hold",
    Skip.INITIAL_DELAY: "delay",
    Skip.NOT_STARTED: "gate",
    Skip.ALREADY_STARTED: "gate",
}
MARK_CODES = (
    "success",
    "failure",
    "warning",
    "errored",
    "delay",
    "gate",
    "hold",
    "not_running",
    "last_tick",
    "done",
)
"""Everything that `TickMark.code` can be."""

MOST_TICKS = 200_000
"""Of one probe; the oldest are dropped above it, a tenth at a time."""

FORGOTTEN_AT_ONCE = 4_096
"""Timelines drop ticks once the journal has evicted this many more entries."""

_FLIPS = {TickAction.READY, TickAction.NOT_READY, TickAction.STARTED}
_NEW, _OUT_OF_SCHEDULE, _INJECTED, _KILL = 16, 32, 64, 128
_CODE = 15
_FLIPPED = {"success": 13, "failure": 14, "warning": 15}
"""Numbers of marks of ticks that made a container ready, started or not ready."""

_SECOND = timedelta(seconds=1)
"""No period is shorter, so that no tick is lost during a shorter probe."""

_MOST_SLOW = 1_000
"""Slow ticks that are asked for lost ones at a time; older ones are not counted."""

_NUMBERS = {code: number for number, code in enumerate(MARK_CODES)}


class TickMark(Struct, frozen=True):
    """Everything about a tick that its marks depend on; small enough to keep for ever.

    `code` names the mark, a field of `MarkSet`; the others say what stands around it.
    A flip is a tick that changed whether the container is ready or started.
    """

    code: str
    is_new_container: bool = False
    is_out_of_schedule: bool = False
    is_injected: bool = False
    is_kill: bool = False
    is_flip: bool = False


def classify_tick(tick: TickEntry) -> TickMark:
    """Return what there is to see of a tick in a strip."""
    return TickMark(
        _code(tick),
        is_new_container=tick.new_container,
        is_out_of_schedule=tick.trigger is not Trigger.PERIODIC,
        is_injected=tick.overridden.injected or bool(tick.overridden.delay),
        is_kill=tick.action in {TickAction.KILL, TickAction.WOULD_KILL},
        is_flip=tick.action in _FLIPS,
    )


def _code(tick: TickEntry) -> str:
    if is_startup_done(tick):
        return "done"
    if tick.skip is not None:
        return _SKIPS[tick.skip]
    if tick.exit is not None:
        return "last_tick"
    if tick.result is None:
        return "errored"
    if is_warning(tick):
        return "warning"
    return "success" if tick.result is Result.SUCCESS else "failure"


def is_startup_done(tick: TickEntry) -> bool:
    """Return whether a tick was skipped because its startup probe has succeeded.

    The kubelet puts a startup probe on hold for either result.
    """
    return (
        tick.skip is Skip.ON_HOLD
        and tick.key.probe_type is ProbeType.STARTUP
        and tick.stored.after is Result.SUCCESS
    )


def is_warning(tick: TickEntry) -> bool:
    """Return whether a tick succeeded with a warning (a redirect elsewhere)."""
    return bool(tick.attempts) and tick.attempts[-1].result is ProbeResult.WARNING


class InstanceTicks(Struct, frozen=True):
    """The ticks of a probe that saw one container, `container_id`, in a range."""

    container_id: ContainerID
    ticks: range


class Timeline:
    """The ticks of one probe, numbered from 0; numbers stay when old ticks are dropped.

    Args:
        journal: where entries are found by their place.
    """

    def __init__(self, journal: Sequence[JournalEntry]) -> None:
        self._journal = journal
        self._places = array("Q")
        self._looks = bytearray()
        self._dropped = 0
        self._starts: list[int] = []
        self._containers: list[ContainerID] = []
        self._slow: list[int] = []
        self._slow_gaps: list[tuple[timedelta, int]] = []
        """Time to the next tick, and the period in seconds, 0 if not known."""
        self._period_changes: list[int] = []
        self._changed_periods: list[int] = []
        self._last: TickEntry | None = None

    @classmethod
    def of(cls, history: Sequence[TickEntry]) -> Timeline:
        """Return a timeline of ticks at hand."""
        timeline = cls(history)
        for place, entry in enumerate(history):
            timeline.add(entry, place)
        return timeline

    @property
    def indexes(self) -> range:
        """The numbers of the ticks that are there."""
        return range(self._dropped, self._dropped + len(self._looks))

    def add(self, tick: TickEntry, place: int) -> None:
        """Add the next tick, which is at that place of the journal."""
        index = self.indexes.stop
        if not self._containers or self._containers[-1] != tick.container_id:
            self._starts.append(index)
            self._containers.append(tick.container_id)
        last = self._last
        if last is not None and (
            last.timing.duration > _SECOND or tick.timing.late_drops
        ):
            self._slow.append(index - 1)
            late = (tick.timing.late_drops + 1) * tick.timing.period_seconds * _SECOND
            gap = max(tick.timing.started_at - last.timing.started_at, late)
            self._slow_gaps.append((gap, last.timing.period_seconds))
        if (
            last is not None
            and 0 < last.timing.period_seconds != tick.timing.period_seconds > 0
        ):
            self._period_changes.append(index)
            self._changed_periods.append(tick.timing.period_seconds)
        self._last = tick
        self._places.append(place)
        self._looks.append(_byte_of(classify_tick(tick)))
        if len(self._looks) > MOST_TICKS:
            self._drop(MOST_TICKS // 10)

    def forget(self, first: int) -> None:
        """Drop the ticks that the journal, which begins at `first`, has no more."""
        gone = bisect_left(self._places, first)
        if gone:
            self._drop(gone)

    def mark_at(self, index: int) -> TickMark:
        """Return what there is to see of a tick."""
        return _looks_of_byte(self._looks[index - self._dropped])

    def alike(self, ticks: range) -> range:
        """Return the last of some ticks, with those before it that look the same.

        The first tick of a container may be the first of them, and so may be the first
        one of another period.
        """
        changes = bisect_right(self._period_changes, ticks[-1])
        if changes:
            since = max(ticks.start, self._period_changes[changes - 1])
            ticks = range(since, ticks.stop)
        looks = self._looks[ticks.start - self._dropped : ticks.stop - self._dropped]
        before = looks.rstrip(looks[-1:])
        if len(before) < len(looks) and before[-1:] == bytes([looks[-1] | _NEW]):
            del before[-1:]
        return range(ticks.start + len(before), ticks.stop)

    def period_from(self, index: int) -> int:
        """Return the period in seconds that begins with a tick; 0 if none does."""
        change = bisect_left(self._period_changes, index)
        if self._period_changes[change : change + 1] != [index]:
            return 0
        return self._changed_periods[change]

    def ticks_lost(self, ticks: range, period_seconds: int) -> int:
        """Return how many ticks never came because of these, or of the engine.

        One tick waits while a probe runs, or nobody takes it; those after it are lost,
        never made up for.
        The period given is that of ticks which do not say their own.
        """
        start = bisect_left(self._slow, ticks.start)
        stop = bisect_left(self._slow, ticks.stop)
        gaps = self._slow_gaps[max(start, stop - _MOST_SLOW) : stop]
        return sum(
            max(gap // ((period or period_seconds) * _SECOND) - 1, 0)
            for gap, period in gaps
        )

    def tick(self, index: int) -> TickEntry | None:
        """Return a tick; None for one that the journal has no more."""
        if index not in self.indexes:
            return None
        try:
            entry = self._journal[self._places[index - self._dropped]]
        except IndexError:
            return None
        return entry if isinstance(entry, TickEntry) else None

    def index_of(self, tick: TickEntry) -> int | None:
        """Return the number of a tick of this probe, None if it is not there."""
        # An engine numbers entries from 1 on, by their place: no need to look for it.
        likely = bisect_left(self._places, tick.sequence - 1)
        if self._has(likely, tick):
            return self.indexes[likely]
        found = bisect_left(self.indexes, tick.sequence, key=self._sequence)
        return self.indexes[found] if self._has(found, tick) else None

    def generations(self) -> list[InstanceTicks]:
        """Return the ticks by the container that they saw, oldest first."""
        stops = [*self._starts[1:], self.indexes.stop]
        return [
            InstanceTicks(container, range(start, stop))
            for container, start, stop in zip(
                self._containers, self._starts, stops, strict=False
            )
        ]

    def _has(self, at: int, tick: TickEntry) -> bool:
        """Return whether the tick is the one at that place of those that are there."""
        indexes = self.indexes
        return at < len(indexes) and self._sequence(indexes[at]) == tick.sequence

    def _sequence(self, index: int) -> int:
        tick = self.tick(index)
        return -1 if tick is None else tick.sequence

    def _drop(self, count: int) -> None:
        del self._places[:count]
        del self._looks[:count]
        self._dropped += count
        gone = bisect_right(self._starts, self._dropped) - 1
        del self._starts[:gone], self._containers[:gone]
        self._starts[0] = self._dropped
        slow = bisect_left(self._slow, self._dropped)
        del self._slow[:slow], self._slow_gaps[:slow]
        changes = bisect_left(self._period_changes, self._dropped)
        del self._period_changes[:changes], self._changed_periods[:changes]


@runtime_checkable
class _Forgetful(Protocol):
    """A journal whose oldest entries may be gone; `first` is the place of the next."""

    @property
    def first(self) -> int: ...


class Timelines:
    """The timelines of all probes; one owner feeds it every entry once, in order."""

    def __init__(self, journal: Sequence[JournalEntry]) -> None:
        self._journal = journal
        self._by_key: dict[ProbeKey, Timeline] = {}
        self._of_container: dict[tuple[str, str], list[ProbeKey]] = {}
        self._first = 0

    def add_entries(self, entries: Iterable[JournalEntry], place: int) -> None:
        """Add entries; `place` is the first one's index in the journal."""
        for here, entry in enumerate(entries, start=place):
            if isinstance(entry, TickEntry):
                self.of(entry.key).add(entry, here)
        first = self.first
        if first - self._first >= FORGOTTEN_AT_ONCE:
            self._first = first
            for timeline in self._by_key.values():
                timeline.forget(first)

    @property
    def first(self) -> int:
        """The place of the oldest entry that the journal still has."""
        journal = self._journal
        return journal.first if isinstance(journal, _Forgetful) else 0

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, in the order they did."""
        known = self._of_container.get((pod_uid, container_name), ())
        return [key for key in known if self._by_key[key].indexes]

    def of(self, key: ProbeKey) -> Timeline:
        """Return a probe's timeline; an empty one for a probe without a tick."""
        timeline = self._by_key.get(key)
        if timeline is None:
            timeline = self._by_key[key] = Timeline(self._journal)
            place = (key.pod_uid, key.container_name)
            self._of_container.setdefault(place, []).append(key)
        return timeline


def _byte_of(looks: TickMark) -> int:
    number = _FLIPPED[looks.code] if looks.is_flip else _NUMBERS[looks.code]
    return (
        number
        | looks.is_new_container * _NEW
        | looks.is_out_of_schedule * _OUT_OF_SCHEDULE
        | looks.is_injected * _INJECTED
        | looks.is_kill * _KILL
    )


@lru_cache(maxsize=256)
def _looks_of_byte(byte: int) -> TickMark:
    number = byte & _CODE
    flipped = next((code for code, of in _FLIPPED.items() if of == number), "")
    return TickMark(
        flipped or MARK_CODES[number],
        is_flip=bool(flipped),
        is_new_container=bool(byte & _NEW),
        is_out_of_schedule=bool(byte & _OUT_OF_SCHEDULE),
        is_injected=bool(byte & _INJECTED),
        is_kill=bool(byte & _KILL),
    )
