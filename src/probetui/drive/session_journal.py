"""SessionJournal: the entries of a session by index, in bounded memory.

A thousand ticks a second are nearly two gigabytes of objects an hour. So the newest
entries are kept unpacked, older ones are packed in blocks (some ten bytes an entry, as
ticks repeat), and the oldest blocks are evicted: those before the newest 100,000 ticks,
and more if probes print a lot. The session's record keeps all entries.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from msgspec import Struct

from probetui.drive.packed_entries import EntryPacker, PackedBlock, unpack
from probetui.kubelet.journal import DryRunEntry, EventEntry, JournalEntry, TickEntry
from probetui.kubelet.outcome import HTTPAnswer

LEAST_TICKS = 100_000
"""This many of the newest ticks are kept, unless they print too much."""


class JournalLimits(Struct, frozen=True):
    """The number of entries kept in each form.

    Attributes:
        open_entries: the newest entries, at least so many, are not packed,
        open_bytes: unless what was printed in them is more than that.
        block: entries that are packed together; packing one takes a millisecond or
            two, in which nothing else is done, and so does looking into one.
        packed_bytes: above it, the oldest blocks are evicted.
        ticks: so many of the newest ticks are kept all the same,
        most_bytes: unless the blocks take more than that.
        unpacked_blocks: blocks that are looked at again are kept unpacked, so many.
    """

    open_entries: int = 4_096
    open_bytes: int = 8 << 20
    block: int = 256
    packed_bytes: int = 512 << 10
    ticks: int = LEAST_TICKS
    most_bytes: int = 64 << 20
    unpacked_blocks: int = 16


SEEKABLE = JournalLimits(packed_bytes=64 << 20)
"""For sim and replay, in which users seek back to the beginning."""


class SessionJournal(Sequence[JournalEntry]):
    """A growing sequence whose oldest entries may be evicted.

    An entry keeps its index: `len` counts evicted ones too. A slice omits them; an
    index of one raises `IndexError`. Only the owner appends.
    """

    def __init__(self, limits: JournalLimits | None = None) -> None:
        self._limits = limits or JournalLimits()
        self._packer = EntryPacker()
        self._blocks: list[PackedBlock] = []
        self._open: list[JournalEntry] = []
        self._unpacked: OrderedDict[int, tuple[JournalEntry, ...]] = OrderedDict()
        self._open_bytes = 0
        self._first = 0
        self._packed_bytes = 0
        self._packed_ticks = 0

    @property
    def first(self) -> int:
        """The index of the oldest kept entry."""
        return self._first

    @property
    def packed_bytes(self) -> int:
        """The size of the packed blocks."""
        return self._packed_bytes

    def extend(self, entries: Iterable[JournalEntry]) -> None:
        """Append entries, and pack or evict old ones."""
        size = len(self._open)
        self._open.extend(entries)
        self._open_bytes += sum(map(_printed, self._open[size:]))
        while self._needs_packing():
            self._pack()
            self._evict()

    def cut(self, length: int) -> None:
        """Truncate the journal to a length.

        Entries that were evicted at the other end stay evicted.
        """
        if length < self._first:
            raise IndexError(f"of {length} entries the newest are not there any more")
        while length < self._open_first:
            self._open[:0] = self._entries_of(len(self._blocks) - 1)
            block = self._blocks.pop()
            self._unpacked.pop(self._open_first, None)
            self._packed_bytes -= len(block.packed)
            self._packed_ticks -= block.ticks
        del self._open[length - self._open_first :]
        self._open_bytes = sum(map(_printed, self._open))

    def __len__(self) -> int:
        """Return the number of entries, evicted ones included."""
        return self._open_first + len(self._open)

    def __iter__(self) -> Iterator[JournalEntry]:
        """Yield the kept entries, oldest first."""
        yield from self[self._first :]

    @overload
    def __getitem__(self, place: int) -> JournalEntry: ...
    @overload
    def __getitem__(self, place: slice) -> list[JournalEntry]: ...
    def __getitem__(self, place: int | slice) -> JournalEntry | list[JournalEntry]:
        """Return the entry at an index, or the kept entries of a slice."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                raise ValueError("a journal is read forwards, entry by entry")
            return self._between(max(start, self._first), stop)
        count = len(self)
        index = place + count if place < 0 else place
        if not self._first <= index < count:
            raise IndexError(f"entry {place} of {count} is not there")
        return self._between(index, index + 1)[0]

    @property
    def _open_first(self) -> int:
        """The index of the oldest unpacked entry."""
        return self._first + len(self._blocks) * self._limits.block

    def _between(self, start: int, stop: int) -> list[JournalEntry]:
        size, packed = self._limits.block, self._open_first
        if start >= packed:
            return self._open[start - packed : max(stop - packed, 0)]
        block: list[JournalEntry] = []
        end = min(stop, packed) - self._first
        for number in range((start - self._first) // size, -(-end // size)):
            begin = self._first + number * size
            block += self._entries_of(number)[max(start - begin, 0) : stop - begin]
        if stop > packed:
            block += self._open[: stop - packed]
        return block

    def _entries_of(self, number: int) -> tuple[JournalEntry, ...]:
        """Return a block's entries; cache the most recently used blocks."""
        place = self._first + number * self._limits.block
        entries = self._unpacked.pop(place, None) or unpack(self._blocks[number])
        self._unpacked[place] = entries
        if len(self._unpacked) > self._limits.unpacked_blocks:
            self._unpacked.popitem(last=False)
        return entries

    def _needs_packing(self) -> bool:
        limits, count = self._limits, len(self._open)
        is_heavy = self._open_bytes > limits.open_bytes and count >= limits.block
        return is_heavy or count >= limits.open_entries + limits.block

    def _pack(self) -> None:
        entries = self._open[: self._limits.block]
        block = self._packer.pack(entries)
        del self._open[: self._limits.block]
        self._open_bytes -= sum(map(_printed, entries))
        self._blocks.append(block)
        self._packed_bytes += len(block.packed)
        self._packed_ticks += block.ticks

    def _evict(self) -> None:
        limits = self._limits
        while self._packed_bytes > limits.packed_bytes:
            oldest = self._blocks[0]
            is_wanted = self._packed_ticks - oldest.ticks < limits.ticks
            if is_wanted and self._packed_bytes <= limits.most_bytes:
                return
            del self._blocks[0]
            self._unpacked.pop(self._first, None)
            self._first += limits.block
            self._packed_bytes -= len(oldest.packed)
            self._packed_ticks -= oldest.ticks


def _printed(entry: JournalEntry) -> int:
    """Return the number of characters of a probe's answer in an entry."""
    match entry:
        case TickEntry(attempts=attempts) | DryRunEntry(attempts=attempts):
            return sum(
                len(attempt.output)
                + (0 if attempt.http is None else _length(attempt.http))
                for attempt in attempts
            )
        case EventEntry(event=event):
            return len(event.message)
        case _:
            return 0


def _length(answer: HTTPAnswer) -> int:
    return len(answer.body) + sum(len(header.value) for header in answer.headers)
