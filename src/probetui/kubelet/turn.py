"""What came of one input, and the book in which it is written while it happens."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Effect
from probetui.kubelet.journal import Entry, EventEntry, TickEntry


class Turn(NamedTuple):
    """What the engine wants done, and what happened, each in order."""

    effects: tuple[Effect, ...] = ()
    entries: tuple[Entry, ...] = ()

    def followed_by(self, later: Turn) -> Turn:
        """Return this one, and behind it another one of the same instant."""
        if not later.effects and not later.entries:
            return self
        return Turn(self.effects + later.effects, self.entries + later.entries)


NOTHING = Turn()


class Ledger:
    """The turn in progress; owned by the engine, written by all of its parts.

    Sequence numbers of entries start at 1 and grow by one; so do the IDs of effects.
    `watch` is told of each entry as it is written; None while nobody wants to know.
    """

    __slots__ = ("_effects", "_entries", "last_id", "sequence", "watch")

    def __init__(self) -> None:
        self.sequence = 0
        self.last_id = 0
        self.watch: Callable[[Entry], None] | None = None
        self._effects: list[Effect] = []
        self._entries: list[Entry] = []

    def next_sequence(self) -> int:
        """Return the number of the entry that is written next."""
        return self.sequence + 1

    def next_id(self) -> int:
        """Return an ID that no effect had before."""
        self.last_id += 1
        return self.last_id

    def write(self, entry: Entry) -> None:
        """Add an entry, numbered by `next_sequence`."""
        self.sequence += 1
        self._entries.append(entry)
        if self.watch is not None:
            self.watch(entry)

    def emit(self, effect: Effect) -> None:
        """Ask for something to be done."""
        self._effects.append(effect)

    def event(
        self,
        pod: Pod,
        event_type: EventType,
        reason: str,
        message: str,
        *,
        now: datetime,
        container_name: str = "",
        tick: TickEntry | None = None,
    ) -> None:
        """Record an event about a pod, or one of its containers if named."""
        event = Event(
            event_type,
            reason,
            message,
            pod.uid,
            pod.field_path(container_name) if container_name else "",
            now,
            container_name,
        )
        self.write(EventEntry(self.next_sequence(), now, event, tick))

    def take(self) -> Turn:
        """Close the turn and begin the next one."""
        if not self._effects and not self._entries:
            return NOTHING
        turn = Turn(tuple(self._effects), tuple(self._entries))
        self._effects.clear()
        self._entries.clear()
        return turn
