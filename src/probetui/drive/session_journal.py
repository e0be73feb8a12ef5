"""All entries of a session by their place, in memory that does not grow for ever.

A thousand ticks a second are nearly two gigabytes of objects an hour. So the newest
entries are kept as they are, older ones packed in blocks (some twenty bytes each, as
ticks repeat themselves), and the oldest blocks are forgotten once packed ones take too
much; the ticks that everybody may scroll back to are never among those.
"""

from __future__ import annotations

import pickle
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from probetui.kubelet.journal import Entry, TickEntry

LEAST_TICKS = 100_000
"""As many of the newest ticks are kept whatever they take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept in which form.

    Attributes:
        open_entries: the newest entries, at least so many, are not packed.
        block: entries that are packed together; packing one takes two milliseconds,
            in which nothing else is done, and so does looking into one.
        packed_bytes: above it, the oldest blocks are forgotten.
        ticks: so many of the newest ticks are kept all the same.
        unpacked_blocks: blocks that are looked at again are kept unpacked, so many.
    """

    open_entries: int = 16_384
    block: int = 256
    packed_bytes: int = 64 << 20
    ticks: int = LEAST_TICKS
    unpacked_blocks: int = 32


class _Block(NamedTuple):
    packed: bytes
    ticks: int


class SessionJournal(Sequence[Entry]):
    """A sequence that only grows, of which a few entries at the start may be gone.

    An entry keeps its place for ever: `len` counts those that are gone too. A slice
    leaves them out; to ask for a single one is an `IndexError`. It has one owner, who
    appends.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._blocks: list[_Block | None] = []
        self._open: list[Entry] = []
        self._unpacked: OrderedDict[int, tuple[Entry, ...]] = OrderedDict()
        self._first_block = 0
        self._packed_bytes = 0
        self._packed_ticks = 0

    @property
    def first(self) -> int:
        """The place of the oldest entry that is still there."""
        return self._first_block * self._limits.block

    @property
    def packed_bytes(self) -> int:
        """What the packed blocks take."""
        return self._packed_bytes

    def extend(self, entries: Iterable[Entry]) -> None:
        """Append entries, and pack or forget what is old."""
        self._open.extend(entries)
        while len(self._open) >= self._limits.open_entries + self._limits.block:
            self._pack()
            self._forget()

    def cut(self, length: int) -> None:
        """Take back the newest entries, down to so many.

        What was forgotten at the other end stays forgotten.
        """
        size = self._limits.block
        if length < self.first:
            raise IndexError(f"of {length} entries the newest are not there any more")
        while length < len(self._blocks) * size:
            number = len(self._blocks) - 1
            self._open[:0] = self._entries_of(number)
            self._unpacked.pop(number, None)
            block = self._blocks.pop()
            if block is not None:
                self._packed_bytes -= len(block.packed)
                self._packed_ticks -= block.ticks
        del self._open[length - len(self._blocks) * size :]

    def __len__(self) -> int:
        """Return how many entries there have ever been."""
        return len(self._blocks) * self._limits.block + len(self._open)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries that are still there, oldest first."""
        yield from self[self.first :]

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        """Return the entry at a place, or those of a slice that are still there."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                raise ValueError("a journal is read forwards, entry by entry")
            return self._between(max(start, self.first), stop)
        count = len(self)
        index = place + count if place < 0 else place
        if not self.first <= index < count:
            raise IndexError(f"entry {place} of {count} is not there")
        return self._between(index, index + 1)[0]

    def _between(self, start: int, stop: int) -> list[Entry]:
        size = self._limits.block
        packed = len(self._blocks) * size
        if start >= packed:
            return self._open[start - packed : max(stop - packed, 0)]
        found: list[Entry] = []
        for number in range(start // size, -(-min(stop, packed) // size)):
            begin = number * size
            found += self._entries_of(number)[max(start - begin, 0) : stop - begin]
        if stop > packed:
            found += self._open[: stop - packed]
        return found

    def _entries_of(self, number: int) -> tuple[Entry, ...]:
        """Return a block's entries; those that were looked at last stay unpacked."""
        entries = self._unpacked.pop(number, None)
        if entries is None:
            block = self._blocks[number]
            if block is None:
                return ()
            entries = _unpacked(block.packed)
        self._unpacked[number] = entries
        if len(self._unpacked) > self._limits.unpacked_blocks:
            self._unpacked.popitem(last=False)
        return entries

    def _pack(self) -> None:
        entries = tuple(self._open[: self._limits.block])
        del self._open[: self._limits.block]
        ticks = sum(isinstance(each, TickEntry) for each in entries)
        block = _Block(_packed(entries), ticks)
        self._blocks.append(block)
        self._packed_bytes += len(block.packed)
        self._packed_ticks += ticks

    def _forget(self) -> None:
        limits = self._limits
        while self._packed_bytes > limits.packed_bytes:
            oldest = self._blocks[self._first_block]
            if oldest is None or self._packed_ticks - oldest.ticks < limits.ticks:
                return
            self._blocks[self._first_block] = None
            self._unpacked.pop(self._first_block, None)
            self._first_block += 1
            self._packed_bytes -= len(oldest.packed)
            self._packed_ticks -= oldest.ticks


def _packed(entries: tuple[Entry, ...]) -> bytes:
    return zlib.compress(pickle.dumps(entries, pickle.HIGHEST_PROTOCOL), level=1)


def _unpacked(packed: bytes) -> tuple[Entry, ...]:
    data = zlib.decompress(packed)
    # What is read never left this process.
    entries: tuple[Entry, ...] = pickle.loads(data)  # noqa: S301
    return entries
