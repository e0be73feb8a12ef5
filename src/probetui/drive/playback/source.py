"""PlaybackSource: what a playback session plays, a simulation or a recording."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from probetui.engine.inputs import Command
from probetui.engine.snapshot import PlaybackKind, Snapshot
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    JournalEntry,
    LifecycleStep,
    StateEntry,
    StateField,
    TickEntry,
)

TURNS_BETWEEN_CHECKPOINTS = 10_000
"""Checkpoints of a simulation are this many turns apart: 0.1 s to run again."""

_CHANGES = frozenset(
    {StateField.READY, StateField.STARTED, StateField.HOLD, StateField.RESULT}
)


class PlaybackSource(Protocol):
    """A session that can move in time; it has no clock of its own.

    A position is the number of inputs that the engine has been given.
    """

    @property
    def kind(self) -> PlaybackKind:
        """Whether this is a simulation or a replay."""

    @property
    def now(self) -> datetime:
        """The instant that playback has reached."""

    @property
    def position(self) -> int:
        """The number of inputs so far."""

    @property
    def end(self) -> datetime | None:
        """The end of a recording; None for a simulation."""

    @property
    def note(self) -> str:
        """The problems of the recording, empty without any."""

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry up to `now`."""

    def snapshot(self) -> Snapshot:
        """Return the state at `now`."""

    def next_at(self) -> datetime | None:
        """Return the time of the next turn, None without one."""

    def turn(self) -> Sequence[JournalEntry]:
        """Run the next turn, or a part of it, and return its entries."""

    def pass_until(self, instant: datetime) -> None:
        """Advance `now` to an instant before which nothing is due."""

    def submit(self, command: Command) -> None:
        """Submit a command to the engine; a replay ignores it."""

    def hold(self, *, is_internal: bool = True) -> None:
        """Pause the probes, because the clock is about to stop.

        `is_internal`: not at the user's request, as at the end of a seek.
        """

    def release(self, *, is_internal: bool = True) -> None:
        """Resume the probes; `is_internal` as for `hold`."""

    def step(self, limit: datetime | None = None, key: ProbeKey | None = None) -> bool:
        """Run until one tick is over, with the probes paused; that of `key` if given.

        False if the next tick is later than `limit`; what is due by then has been run.
        """

    def run_to_change(self) -> bool:
        """Run until something changes.

        Return False if the source does not stop by itself: the caller then checks the
        entries for a change.
        """

    def last_tick_position(self) -> int | None:
        """Return the position before the last tick, None if there was no tick."""

    def seek_position(self, position: int) -> None:
        """Seek to an earlier position, or to a surveyed one."""

    def seek_back(self, instant: datetime) -> None:
        """Seek back to an instant."""

    @property
    def is_held_by_engine(self) -> bool:
        """Whether the engine itself paused the probes: the clock has to stop."""

    def approach(self, instant: datetime) -> bool:
        """Restore the checkpoint closest to a later instant, if there is one.

        Returns within a few milliseconds; False if it must be called again.
        """

    def look_ahead(self) -> bool:
        """Prepare more checkpoints for seeking; return False if none are left."""

    @property
    def prepared_until(self) -> datetime:
        """The instant up to which seeking is fast."""


def is_change(entry: JournalEntry) -> bool:
    """Return whether `run_to_change` stops at an entry."""
    match entry:
        case StateEntry(what=what):
            return what in _CHANGES
        case ContainerEntry(what=LifecycleStep.STARTED, restart_count=count):
            return count > 0
        case BackoffEntry(waits=waits):
            return waits
        case _:
            return False


def has_tick(entries: Sequence[JournalEntry], key: ProbeKey | None = None) -> bool:
    """Return whether the entries include a tick, of the probe `key` if given."""
    return any(
        isinstance(entry, TickEntry) and key in {None, entry.key} for entry in entries
    )


class TickPositions:
    """The positions that a step back can reach, in order."""

    def __init__(self) -> None:
        self._positions: list[int] = []

    def add(self, position: int) -> None:
        """Append a position; ignore one before the last."""
        if not self._positions or self._positions[-1] < position:
            self._positions.append(position)

    def before(self, position: int) -> int | None:
        """Return the last tick before a position, None without one."""
        index = bisect_left(self._positions, position)
        return self._positions[index - 1] if index else None

    def cut(self, position: int) -> None:
        """Remove the positions from one on."""
        del self._positions[bisect_left(self._positions, position) :]
