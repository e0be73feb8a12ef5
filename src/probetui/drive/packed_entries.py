"""Journal entries packed into compact blocks.

Nearly all entries are ticks, and most of a tick repeats the tick before. So repeated
values are stored once, in a table that several blocks share, and the numbers that
change are packed by column, as differences. A tick takes ten bytes. A block that is
only pickled and compressed is seven times as large, because in a large session it holds
each probe only once or twice.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from operator import sub

from msgspec import Struct
from msgspec.structs import replace

from probetui.kubelet.journal import (
    EventEntry,
    JournalEntry,
    Probed,
    TickEntry,
)
from probetui.kubelet.outcome import Attempt

LARGEST_TABLE = 4_096
BLOCKS_OF_A_TABLE = 64
"""A table with more rows or blocks is followed by an empty one."""

_LEVEL = 6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_COLUMNS = 7
_NUMBER_BYTES = 8
_LARGEST = 1 << 62
"""The difference of two smaller numbers fits into `_NUMBER_BYTES` as well."""


class PackedBlock(Struct, frozen=True):
    """Packed entries; `ticks` of them are ticks, whose `rows` refer to `routines`."""

    packed: bytes
    rows: int
    ticks: int
    routines: Sequence[TickEntry]


class _Tick(Struct, frozen=True):
    """The pickled part of a tick whose numbers are packed in columns."""

    attempts: tuple[Attempt, ...]


class _Event(Struct, frozen=True):
    """An event that refers by number to a tick in the same block."""

    entry: EventEntry
    tick: int


_Item = JournalEntry | _Tick | _Event


class EntryPacker:
    """Packs blocks of entries; owns the table that the next blocks share."""

    def __init__(self) -> None:
        self._begin_table()

    def pack(self, entries: Sequence[JournalEntry]) -> PackedBlock:
        """Pack entries into a block."""
        if len(self._table) > LARGEST_TABLE or self._blocks == BLOCKS_OF_A_TABLE:
            self._begin_table()
        self._blocks += 1
        rows: list[tuple[int, ...]] = []
        items: list[_Item] = []
        places: dict[int, int] = {}
        for entry in entries:
            match entry:
                case TickEntry() if _fits(row := self._numbers(entry)):
                    places[id(entry)] = len(rows)
                    rows.append(row)
                    items.append(_Tick(entry.attempts))
                case _:
                    items.append(entry)
        events = [_event(item, places) for item in items]
        data = pickle.dumps((events, _differences(rows)), pickle.HIGHEST_PROTOCOL)
        ticks = sum(isinstance(entry, TickEntry) for entry in entries)
        return PackedBlock(zlib.compress(data, _LEVEL), len(rows), ticks, self._table)

    def _numbers(self, tick: TickEntry) -> tuple[int, ...]:
        routine = tick.routine
        number = self._numbers_of.get(routine)
        if number is None:
            number = self._numbers_of[routine] = len(self._table)
            self._table.append(routine)
        at = (tick.at - _EPOCH) // _MICROSECOND
        lasted = at - (tick.timing.started_at - _EPOCH) // _MICROSECOND
        more = lasted - tick.timing.duration // _MICROSECOND
        return number, tick.sequence, at, lasted, more, tick.n, tick.run.count

    def _begin_table(self) -> None:
        self._table: list[TickEntry] = []
        self._numbers_of: dict[TickEntry, int] = {}
        self._blocks = 0


def unpack(block: PackedBlock) -> tuple[JournalEntry, ...]:
    """Return the entries of a block."""
    # The pickled data never left this process.
    items, numbers = pickle.loads(zlib.decompress(block.packed))  # noqa: S301
    packed = [item for item in items if isinstance(item, _Tick)]
    rows = _rows(numbers, block.rows)
    ticks = [
        _tick(row, item.attempts, block.routines)
        for row, item in zip(rows, packed, strict=True)
    ]
    return tuple(_entries(items, ticks))


def _entries(
    items: Iterable[_Item], ticks: Sequence[TickEntry]
) -> Iterator[JournalEntry]:
    coming = iter(ticks)
    for item in items:
        match item:
            case _Tick():
                yield next(coming)
            case _Event(entry, number):
                yield replace(entry, tick=ticks[number])
            case _:
                yield item


def _fits(numbers: Iterable[int]) -> bool:
    """Return whether numbers fit the columns; clock readings do."""
    return all(-_LARGEST < number < _LARGEST for number in numbers)


def _event(item: _Item, places: Mapping[int, int]) -> _Item:
    """Return an event with its tick replaced by a reference, if in the same block."""
    if not isinstance(item, EventEntry) or item.tick is None:
        return item
    place = places.get(id(item.tick))
    return item if place is None else _Event(replace(item, tick=None), place)


def _tick(
    numbers: tuple[int, ...],
    attempts: tuple[Attempt, ...],
    routines: Sequence[TickEntry],
) -> TickEntry:
    number, sequence, at, lasted, more, n, run = numbers
    routine = routines[number]
    instant = _EPOCH + at * _MICROSECOND
    outcome = routine.outcome
    if isinstance(outcome, Probed):
        outcome = Probed(attempts, outcome.result, outcome.action)
    return replace(
        routine,
        sequence=sequence,
        at=instant,
        n=n,
        timing=replace(
            routine.timing,
            started_at=instant - lasted * _MICROSECOND,
            duration=(lasted - more) * _MICROSECOND,
        ),
        outcome=outcome,
        run=replace(routine.run, count=run),
    )


def _differences(rows: Sequence[tuple[int, ...]]) -> bytes:
    """Return the columns of a table, delta-encoded.

    Bytes of equal weight are stored together: most are 0, as differences are small.
    """
    columns = []
    for column in zip(*rows, strict=True):
        more = map(sub, column, (0, *column))
        data = array("q", more).tobytes()
        columns += [data[start::_NUMBER_BYTES] for start in range(_NUMBER_BYTES)]
    return b"".join(columns)


def _rows(data: bytes, count: int) -> list[tuple[int, ...]]:
    """Decode the columns of a table with that many rows."""
    columns = []
    size = count * _NUMBER_BYTES
    for start in range(0, _COLUMNS * size, size) if count else ():
        numbers = bytearray(size)
        for weight in range(_NUMBER_BYTES):
            begin = start + weight * count
            numbers[weight::_NUMBER_BYTES] = data[begin : begin + count]
        columns.append(accumulate(array("q", numbers)))
    return list(zip(*columns, strict=True))
