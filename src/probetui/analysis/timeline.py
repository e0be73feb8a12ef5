"""The timeline of a probe: every tick of the session, as one byte and one index.

A strip draws marks of ticks that lie far apart in the journal, whose entries may be
compressed. So a timeline keeps the appearance of each tick as one byte, and fetches an
entry only for a tick that is selected.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
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
"""The values of `TickMark.code`."""

MOST_TICKS = 200_000
"""The most ticks of one probe; above it the oldest tenth is dropped."""

FORGOTTEN_AT_ONCE = 4_096
"""Timelines drop ticks once the journal has evicted this many more entries."""

_FLIPS = {TickAction.READY, TickAction.NOT_READY, TickAction.STARTED}
_NEW, _OUT_OF_SCHEDULE, _INJECTED, _KILL = 16, 32, 64, 128
_CODE = 15
_FLIPPED = {"success": 13, "failure": 14, "warning": 15}
"""The numbers of the marks of flips."""

_SECOND = timedelta(seconds=1)
"""The shortest period: a probe that takes no longer loses no tick."""

_MOST_SLOW = 1_000
"""The most slow ticks that are searched for lost ones; older ones are not counted."""

_RAN = frozenset({"errored", "warning", "success", "failure"})
"""The marks of ticks that ran a probe."""

_NUMBERS = {code: number for number, code in enumerate(MARK_CODES)}


class TickMark(Struct, frozen=True):
    """The appearance of a tick; small enough to keep for the whole session.

    `code` is the mark, a field of `MarkSet`; the other fields decorate it. A flip is a
    tick that changed whether the container is ready or started.
    """

    code: str
    is_new_container: bool = False
    is_out_of_schedule: bool = False
    is_injected: bool = False
    is_kill: bool = False
    is_flip: bool = False


def classify_tick(tick: TickEntry) -> TickMark:
    """Return the appearance of a tick in a strip."""
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
    """The range of a probe's ticks that saw the container `container_id`."""

    container_id: ContainerID
    ticks: range


class Timeline:
    """The ticks of one probe, numbered from 0; a number never changes.

    Args:
        journal: the entries, which `add` refers to by index.
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
        """The time to the next tick, and the period in seconds, 0 if unknown."""
        self._period_changes: list[int] = []
        self._changed_periods: list[int] = []
        self._last: TickEntry | None = None

    @classmethod
    def of(cls, history: Sequence[TickEntry]) -> Timeline:
        """Return the timeline of some ticks."""
        timeline = cls(history)
        for place, entry in enumerate(history):
            timeline.add(entry, place)
        return timeline

    @property
    def indexes(self) -> range:
        """The numbers of the ticks that are kept."""
        return range(self._dropped, self._dropped + len(self._looks))

    def add(self, tick: TickEntry, place: int) -> None:
        """Add the next tick, whose journal index is `place`."""
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
        self._looks.append(_byte_of_mark(classify_tick(tick)))
        if len(self._looks) > MOST_TICKS:
            self._drop(MOST_TICKS // 10)

    def forget(self, first: int) -> None:
        """Drop the ticks before journal index `first`, which have been evicted."""
        gone = bisect_left(self._places, first)
        if gone:
            self._drop(gone)

    def mark_at(self, index: int) -> TickMark:
        """Return the appearance of a tick."""
        return _mark_of_byte(self._looks[index - self._dropped])

    def alike(self, ticks: range) -> range:
        """Return the last of some ticks, with the equal ones right before it.

        The first tick of a container or of a changed period may begin such a range, but
        is never inside of one.
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
        """Return the new period in seconds if one begins with a tick, else 0."""
        change = bisect_left(self._period_changes, index)
        if self._period_changes[change : change + 1] != [index]:
            return 0
        return self._changed_periods[change]

    def ticks_lost(self, ticks: range, period_seconds: int) -> int:
        """Return how many ticks were lost because a tick or the engine was too slow.

        While a probe runs or the engine lags, one tick waits; further ones are lost.
        `period_seconds` is for ticks that do not record their period.
        """
        start = bisect_left(self._slow, ticks.start)
        stop = bisect_left(self._slow, ticks.stop)
        gaps = self._slow_gaps[max(start, stop - _MOST_SLOW) : stop]
        return sum(
            max(gap // ((period or period_seconds) * _SECOND) - 1, 0)
            for gap, period in gaps
        )

    def tick(self, index: int) -> TickEntry | None:
        """Return a tick, None if it was evicted."""
        if index not in self.indexes:
            return None
        try:
            entry = self._journal[self._places[index - self._dropped]]
        except IndexError:
            return None
        return entry if isinstance(entry, TickEntry) else None

    def ran_backwards(self) -> Iterator[TickEntry]:
        """Yield the ticks that ran the probe, the newest first.

        Others are passed over by their looks: to unpack a tick takes a millisecond, and
        a startup probe that is done has only such for hours.
        """
        for index in reversed(self.indexes):
            if self.mark_at(index).code not in _RAN:
                continue
            tick = self.tick(index)
            if tick is not None and _has_run(tick):
                yield tick

    def first_failure(self, tick: TickEntry) -> TickEntry:
        """Return the first of the failures in a row that end with a tick.

        It is found by the looks of the ticks, of which there may be thousands, and is
        of the same container. Ticks that did not run the probe are passed over.
        """
        index = self.index_of(tick)
        if index is None:
            return tick
        start = self._starts[bisect_right(self._starts, index) - 1]
        looks = self._looks[start - self._dropped : index - self._dropped]
        before = looks.rstrip(_FAILED_OR_NOT_RUN)
        while before and not self._ran(start + len(before) - 1):
            before = before[:-1].rstrip(_FAILED_OR_NOT_RUN)
        for place in range(start + len(before), index):
            if looks[place - start] in _FAILED:
                first = self.tick(place)
                if first is not None:
                    return first
        return tick

    def index_at(self, at: datetime) -> int | None:
        """Return the number of the last tick that began before an instant, or at it.

        None if there is none, or if it was evicted.
        """
        after = bisect_right(self.indexes, at, key=self._began)
        return self.indexes[after - 1] if after else None

    def turn(self, index: int, step: int) -> int | None:
        """Return the next tick with a kill, a new container or a flip, None if none is.

        Args:
            index: the number of the tick from which to look.
            step: 1 to look at later ticks, -1 at earlier ones.
        """
        looks = self._looks
        place = index - self._dropped + step
        while 0 <= place < len(looks):
            mark = _mark_of_byte(looks[place])
            if mark.is_kill or mark.is_flip or (mark.is_new_container and place):
                return place + self._dropped
            place += step
        return None

    def index_of(self, tick: TickEntry) -> int | None:
        """Return the number of a tick of this probe, None if it is not kept."""
        # An engine numbers its entries from 1, so the place usually follows.
        likely = bisect_left(self._places, tick.sequence - 1)
        if self._has(likely, tick):
            return self.indexes[likely]
        at = bisect_left(self.indexes, tick.sequence, key=self._sequence)
        return self.indexes[at] if self._has(at, tick) else None

    def generations(self) -> list[InstanceTicks]:
        """Return the ticks grouped by the container that they saw, oldest first."""
        stops = [*self._starts[1:], self.indexes.stop]
        return [
            InstanceTicks(container, range(start, stop))
            for container, start, stop in zip(
                self._containers, self._starts, stops, strict=False
            )
        ]

    def _ran(self, index: int) -> bool:
        tick = self.tick(index)
        return tick is not None and _has_run(tick)

    def _has(self, at: int, tick: TickEntry) -> bool:
        """Return whether the tick is the kept tick at that position."""
        indexes = self.indexes
        return at < len(indexes) and self._sequence(indexes[at]) == tick.sequence

    def _began(self, index: int) -> datetime:
        tick = self.tick(index)
        if tick is None:  # evicted, so that it is before all others
            return datetime.min.replace(tzinfo=UTC)
        return tick.timing.started_at

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
    """A journal whose oldest entries are evicted; `first` is the oldest kept index."""

    @property
    def first(self) -> int: ...


class Timelines:
    """The timelines of all probes; its owner adds every entry once, in order."""

    def __init__(self, journal: Sequence[JournalEntry]) -> None:
        self._journal = journal
        self._by_key: dict[ProbeKey, Timeline] = {}
        self._of_container: dict[tuple[str, str], list[ProbeKey]] = {}
        self._first = 0

    def add_entries(self, entries: Iterable[JournalEntry], place: int) -> None:
        """Add entries; `place` is the journal index of the first."""
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
        """The index of the oldest entry that the journal still has."""
        journal = self._journal
        return journal.first if isinstance(journal, _Forgetful) else 0

    def probes(self, pod_uid: str, container_name: str) -> list[ProbeKey]:
        """Return the probes of a container that have ticked, in order of first tick."""
        known = self._of_container.get((pod_uid, container_name), ())
        return [key for key in known if self._by_key[key].indexes]

    def of(self, key: ProbeKey) -> Timeline:
        """Return a probe's timeline, empty if it has not ticked."""
        timeline = self._by_key.get(key)
        if timeline is None:
            timeline = self._by_key[key] = Timeline(self._journal)
            place = (key.pod_uid, key.container_name)
            self._of_container.setdefault(place, []).append(key)
        return timeline


def _byte_of_mark(mark: TickMark) -> int:
    number = _FLIPPED[mark.code] if mark.is_flip else _NUMBERS[mark.code]
    return (
        number
        | mark.is_new_container * _NEW
        | mark.is_out_of_schedule * _OUT_OF_SCHEDULE
        | mark.is_injected * _INJECTED
        | mark.is_kill * _KILL
    )


@lru_cache(maxsize=256)
def _mark_of_byte(byte: int) -> TickMark:
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


def _has_run(tick: TickEntry) -> bool:
    """Return whether a tick that looks as if it ran its probe did so."""
    return bool(tick.attempts) or tick.result is not None


def _bytes_of(codes: Container[str]) -> bytes:
    """Return the bytes of all marks with one of some codes."""
    numbers = {number for code, number in _NUMBERS.items() if code in codes}
    numbers |= {number for code, number in _FLIPPED.items() if code in codes}
    return bytes(byte for byte in range(256) if byte & _CODE in numbers)


_FAILED = _bytes_of({"failure"})
_FAILED_OR_NOT_RUN = _FAILED + _bytes_of(_NUMBERS.keys() - _RAN)
