"""Sinks of sessions without a screen: plain lines, notes, filters."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from probetui.errors import OutputError
from probetui.headless.follow import Sink
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    PROBE_CAUSES,
    BackoffEntry,
    ContainerEntry,
    DryRunEntry,
    EventEntry,
    FindingEntry,
    HookEntry,
    JournalEntry,
    LastOutputEntry,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StateField,
    StatusEntry,
    TickEntry,
    UnfinishedTickEntry,
    UserEntry,
)
from probetui.safe_text import safe_line

if TYPE_CHECKING:
    from probetui.presentation.plain.lines import PlainLines


class LinePrinter:
    """A sink that prints plain lines.

    Args:
        lines: formats entries.
        stream: the output stream; it is flushed after each write.
        encoding: the stream's encoding; other characters are escaped.
    """

    def __init__(self, lines: PlainLines, stream: BinaryIO, encoding: str) -> None:
        self._lines = lines
        self._stream = stream
        self._encoding = encoding
        self._has_hung_up = False

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Print the lines of some entries."""
        self._print(
            [line for entry in entries for line in self._lines.format_entry(entry)]
        )

    def finish(self, now: datetime) -> None:
        """Print the lines that were held back."""
        self._print(self._lines.flush(now))

    def _print(self, lines: Sequence[str]) -> None:
        if not lines or self._has_hung_up:
            return
        text = "".join(f"{safe_line(line, limit=None)}\n" for line in lines)
        try:
            self._stream.write(text.encode(self._encoding, "backslashreplace"))
            self._stream.flush()
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            self._has_hung_up = True
            if error.errno != errno.EIO:
                raise OutputError(error) from error
            # EIO: the terminal has been closed. SIGHUP decides what follows: a session
            # that is stopping its pods continues to do so.


class NoteForwarder:
    """A sink that forwards notes to the user.

    Args:
        forward: called with each note and whether it reports a fault.
    """

    def __init__(self, forward: Callable[[str, bool], None]) -> None:
        self._forward = forward

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Forward the notes among some entries."""
        for entry in entries:
            if isinstance(entry, NoteEntry) and not entry.is_bookmark:
                self._forward(entry.text, entry.is_fault)


_STATES = {StateField.READY: ProbeType.READINESS, StateField.STARTED: ProbeType.STARTUP}


class EntryFilter(Struct, frozen=True):
    """Selects entries by container and probe type; empty means all."""

    containers: Collection[str] = ()
    probe_types: Collection[ProbeType] = ()

    @property
    def is_everything(self) -> bool:
        """Whether every entry is wanted."""
        return not self.containers and not self.probe_types

    def wants(self, entry: JournalEntry) -> bool:
        """Return whether an entry is wanted.

        Commands of the user and notes always are; entries about a whole pod only if
        neither containers nor probe types are given. If types are given, an entry must
        concern or follow from such a probe.
        """
        match entry:
            case UserEntry() | NoteEntry():
                return True
            case (
                TickEntry(key=key)
                | DryRunEntry(key=key)
                | ListenersEntry(key=key)
                | FindingEntry(key=key)
                | UnfinishedTickEntry(key=key)
            ):
                return self._has(key.container_name) and self._has_type(key.probe_type)
            case EventEntry(event=event, tick=tick):
                probe_type = None if tick is None else tick.key.probe_type
                return self._has(event.container_name) and self._has_type(probe_type)
            case StateEntry(container_name=name, subject=subject, what=what):
                probe_type = _STATES.get(what)
                if subject in set(ProbeType):
                    probe_type = ProbeType(subject)
                return self._has(name) and self._has_type(probe_type)
            case ContainerEntry(container_name=name, by=by):
                probe_type = None if by is None else PROBE_CAUSES.get(by)
                return self._has(name) and self._has_type(probe_type)
            case (
                BackoffEntry(container_name=name)
                | LastOutputEntry(container_name=name)
                | HookEntry(container_name=name)
            ):
                return self._has(name) and not self.probe_types
            case StatusEntry() | PodGoneEntry():
                return self._has("") and not self.probe_types

    def _has(self, container_name: str) -> bool:
        return not self.containers or container_name in self.containers

    def _has_type(self, probe_type: ProbeType | None) -> bool:
        return not self.probe_types or probe_type in self.probe_types


class FilteredSink:
    """A sink that passes on only wanted entries."""

    def __init__(self, sink: Sink, selection: EntryFilter) -> None:
        self._sink = sink
        self._selection = selection

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Pass on the wanted entries."""
        self._sink.consume([entry for entry in entries if self._selection.wants(entry)])
