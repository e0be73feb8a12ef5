"""Timers: deadlines by key, in order."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from heapq import heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Timers(Generic[Key]):
    """At most one deadline per key; equal instants are popped in insertion order.

    A deadline that was moved or cancelled stays in the heap until its turn comes and
    is passed over then.
    """

    __slots__ = ("_count", "_heap", "_ticket")

    def __init__(self) -> None:
        self._heap: list[tuple[datetime, int, Key]] = []
        self._ticket: dict[Key, tuple[datetime, int, Key]] = {}
        self._count = 0

    def set(self, key: Key, at: datetime) -> None:
        """Set or move the deadline of `key`."""
        self._count += 1
        ticket = self._ticket[key] = (at, self._count, key)
        heappush(self._heap, ticket)

    def cancel(self, key: Key) -> None:
        """Forget the deadline of `key`, if there is one."""
        self._ticket.pop(key, None)

    def deadline(self, key: Key) -> datetime | None:
        """Return the deadline of `key`, or None."""
        ticket = self._ticket.get(key)
        return None if ticket is None else ticket[0]

    def next_deadline(self) -> datetime | None:
        """Return the earliest deadline, or None."""
        heap = self._heap
        tickets = self._ticket
        while heap:
            first = heap[0]
            if tickets.get(first[2]) is first:
                return first[0]
            heappop(heap)
        return None

    def pop_due(self, now: datetime) -> Key | None:
        """Remove and return the earliest key that is due at `now`, or None."""
        heap = self._heap
        tickets = self._ticket
        while heap and heap[0][0] <= now:
            first = heappop(heap)
            key = first[2]
            if tickets.get(key) is first:
                del tickets[key]
                return key
        return None

    def in_order(self) -> list[tuple[datetime, Key]]:
        """Return all deadlines, earliest first."""
        return [(at, key) for at, _, key in sorted(self._ticket.values())]
