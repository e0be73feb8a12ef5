"""What can be played: a simulation that goes on, or a recording that is lived again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from probetui.kubelet.inputs import Command
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Entry,
    Lifecycle,
    StateEntry,
    TickEntry,
    What,
)
from probetui.kubelet.snapshot import PlaybackKind, Snapshot

APART = 10_000
"""Checkpoints of what goes on are so many turns apart: a tenth of a second to live."""

_CHANGES = frozenset({What.READY, What.STARTED, What.HOLD, What.RESULT})


class Course(Protocol):
    """Where a session has come to, and how it gets on; it has no clock of its own.

    A position counts how often the engine has been spoken to.
    """

    @property
    def kind(self) -> PlaybackKind:
        """What is played."""

    @property
    def now(self) -> datetime:
        """The instant it has come to."""

    @property
    def position(self) -> int:
        """How far it has come."""

    @property
    def end(self) -> datetime | None:
        """When a recording ends; None for what has no end."""

    @property
    def note(self) -> str:
        """What is not as it should be, empty if all is well."""

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry up to now."""

    def snapshot(self) -> Snapshot:
        """Return what there is to see now."""

    def next_at(self) -> datetime | None:
        """Return when something is due next, None for never."""

    def turn(self) -> Sequence[Entry]:
        """Let what is due next happen, and return the entries of that."""

    def pass_until(self, instant: datetime) -> None:
        """Let time pass in which nothing is due."""

    def submit(self, command: Command) -> None:
        """Do what a person asks for, where that is possible."""

    def hold(self) -> None:
        """Hold ticks back: the clock is about to stand still."""

    def release(self) -> None:
        """Hold ticks back no longer."""

    def step(self) -> None:
        """Go on by one tick, ticks held back."""

    def run_to_change(self) -> bool:
        """Let ticks go until something changes.

        False if nobody stops it then: whoever plays it has to look at the entries.
        """

    def last_mark(self) -> int | None:
        """Return the position to which a step back goes, None if there is none."""

    def go_to(self, position: int) -> None:
        """Go to another position that has been lived."""

    def go_back(self, instant: datetime) -> None:
        """Go to where it was at an instant that has been lived."""

    @property
    def stands_still(self) -> bool:
        """Whether ticks were held back by the engine itself: the clock is to stop."""

    def leap(self, instant: datetime) -> bool:
        """Come near an instant to come, if there is a shorter way than living there.

        False if it has to be called again for that: it takes no more than a moment.
        """

    def look_ahead(self) -> bool:
        """Do a little of what makes seeking fast; False if nothing is left to do."""

    @property
    def prepared_until(self) -> datetime:
        """Up to which instant a leap takes but a moment."""


def is_change(entry: Entry) -> bool:
    """Tell whether an entry is about a change that people run to."""
    match entry:
        case StateEntry(what=what):
            return what in _CHANGES
        case ContainerEntry(what=Lifecycle.STARTED, restart_count=count):
            return count > 0
        case BackoffEntry(waits=waits):
            return waits
        case _:
            return False


def has_tick(entries: Sequence[Entry]) -> bool:
    """Tell whether a tick is over with these entries."""
    return any(isinstance(each, TickEntry) for each in entries)


class Marks:
    """Positions from which ticks began or were about to end, in order."""

    def __init__(self) -> None:
        self._positions: list[int] = []

    def add(self, position: int) -> None:
        """Mark a position; those that are marked already stay."""
        if not self._positions or self._positions[-1] < position:
            self._positions.append(position)

    def before(self, position: int) -> int | None:
        """Return the last one before a position, None if there is none."""
        index = bisect_left(self._positions, position)
        return self._positions[index - 1] if index else None

    def cut(self, position: int) -> None:
        """Forget those from a position on."""
        del self._positions[bisect_left(self._positions, position) :]
