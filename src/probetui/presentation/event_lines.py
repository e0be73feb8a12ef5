"""The lines of a session's log, of which only the newest stay in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.presentation.events import EventLine

LEAST_LINES = 100_000
MOST_CHARACTERS = 32 << 20
"""Of their messages; lines with more than that are let go before there are so many."""


class EventLines:
    """Lines numbered from 0; a line keeps its number when older ones are let go.

    It has one owner, who adds to it. The session's record has every line.

    Args:
        least: so many of the newest lines are there,
        most_characters: unless their messages are longer than that.
    """

    def __init__(
        self, least: int = LEAST_LINES, *, most_characters: int = MOST_CHARACTERS
    ) -> None:
        self._least = least
        self._most_characters = most_characters
        self._characters = 0
        self._lines: list[EventLine] = []
        self.let_go = 0
        """How many of the oldest lines are not there any more."""

    def __len__(self) -> int:
        """Return how many lines are there."""
        return len(self._lines)

    def __iter__(self) -> Iterator[EventLine]:
        """Yield the lines that are there, oldest first."""
        return iter(self._lines)

    @property
    def total(self) -> int:
        """How many lines there have ever been."""
        return self.let_go + len(self._lines)

    def extend(self, lines: Iterable[EventLine]) -> None:
        """Add lines, and let old ones go, many at a time."""
        size = len(self._lines)
        self._lines += lines
        self._characters += sum(len(line.message) for line in self._lines[size:])
        excess = len(self._lines) - self._least
        if excess > self._least // 10:
            self._let_go(excess)
        while self._characters > self._most_characters:
            self._let_go(max(len(self._lines) // 10, 1))

    def _let_go(self, count: int) -> None:
        self._characters -= sum(len(line.message) for line in self._lines[:count])
        del self._lines[:count]
        self.let_go += count

    def since(self, number: int) -> list[EventLine]:
        """Return the lines from a number on, as far as they are there."""
        return self._lines[max(number - self.let_go, 0) :]

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest line that is there, 0 if none is."""
        return self._lines[0].sequence if self._lines else 0
