"""Turns: the effects and journal entries of one input."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from probetui.k8s.event import Event, EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Effect
from probetui.kubelet.journal import (
    EventEntry,
    JournalEntry,
    NoteEntry,
    TickEntry,
    UserEntry,
)


class Turn(Struct, frozen=True):
    """The effects and journal entries of one input, each in order."""

    effects: tuple[Effect, ...] = ()
    entries: tuple[JournalEntry, ...] = ()

    def joined_with(self, later: Turn) -> Turn:
        """Return this turn followed by another one of the same instant."""
        if not later.effects and not later.entries:
            return self
        return Turn(self.effects + later.effects, self.entries + later.entries)


NOTHING = Turn()


class TurnBuilder:
    """The turn in progress; owned by the engine, written by its parts.

    Sequence numbers of entries start at 1 and grow by one; so do the IDs of effects.
    `watch` is called with each entry as it is written.
    """

    __slots__ = ("_effects", "_entries", "last_id", "sequence", "watch")

    def __init__(self) -> None:
        self.sequence = 0
        self.last_id = 0
        self.watch: Callable[[JournalEntry], None] | None = None
        self._effects: list[Effect] = []
        self._entries: list[JournalEntry] = []

    def next_sequence(self) -> int:
        """Return the sequence number of the next entry."""
        return self.sequence + 1

    def next_id(self) -> int:
        """Return a new effect ID."""
        self.last_id += 1
        return self.last_id

    def write(self, entry: JournalEntry) -> None:
        """Add an entry, numbered by `next_sequence`."""
        self.sequence += 1
        self._entries.append(entry)
        if self.watch is not None:
            self.watch(entry)

    def emit(self, effect: Effect) -> None:
        """Add an effect."""
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

    def normal(
        self, pod: Pod, reason: str, message: str, now: datetime, container: str = ""
    ) -> None:
        """Record a Normal event about a pod, or one of its containers if named."""
        self.event(
            pod, EventType.NORMAL, reason, message, now=now, container_name=container
        )

    def warning(
        self,
        pod: Pod,
        reason: str,
        message: str,
        now: datetime,
        container: str = "",
        tick: TickEntry | None = None,
    ) -> None:
        """Record a Warning event about a pod, or one of its containers if named."""
        self.event(
            pod,
            EventType.WARNING,
            reason,
            message,
            now=now,
            container_name=container,
            tick=tick,
        )

    def note(
        self,
        now: datetime,
        text: str,
        *,
        is_fault: bool = False,
        is_bookmark: bool = False,
        pod_uid: str = "",
    ) -> None:
        """Write a note for the user, maybe about a pod, or a bookmark of the user."""
        sequence = self.next_sequence()
        entry = NoteEntry(sequence, now, text, is_fault, is_bookmark, pod_uid=pod_uid)
        self.write(entry)

    def refuse(self, now: datetime, text: str) -> None:
        """Write that a command of the user is not carried out, and why."""
        sequence = self.next_sequence()
        self.write(NoteEntry(sequence, now, text, is_fault=True, is_refusal=True))

    def user_command(self, now: datetime, command: str, target: str) -> None:
        """Write a command of the user."""
        self.write(UserEntry(self.next_sequence(), now, command, target))

    def finish(self) -> Turn:
        """Return the finished turn and start the next one."""
        if not self._effects and not self._entries:
            return NOTHING
        turn = Turn(tuple(self._effects), tuple(self._entries))
        self._effects.clear()
        self._entries.clear()
        return turn
