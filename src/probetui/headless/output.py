"""Where a session's entries go when there is no screen: lines, notes, a selection."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO

from probetui.errors import OutputError
from probetui.headless.follow import Sink
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    BackoffEntry,
    ContainerEntry,
    Entry,
    EventEntry,
    FindingEntry,
    ListenersEntry,
    NoteEntry,
    PodGoneEntry,
    StateEntry,
    StatusEntry,
    TickEntry,
    TryEntry,
    UserEntry,
)
from probetui.safe_text import safe_line

if TYPE_CHECKING:
    from probetui.presentation.lines import PlainLines


class LinePrinter:
    """A sink that prints one line per fact.

    Args:
        lines: turns entries into lines.
        stream: where they go; written whole and flushed each time.
        encoding: of the stream; what it cannot spell is escaped.
    """

    def __init__(self, lines: PlainLines, stream: BinaryIO, encoding: str) -> None:
        self._lines = lines
        self._stream = stream
        self._encoding = encoding
        self._has_hung_up = False

    def take(self, entries: Sequence[Entry]) -> None:
        """Print the lines of some entries."""
        self._print([line for each in entries for line in self._lines.feed(each)])

    def finish(self, now: datetime) -> None:
        """Print what the lines have kept back."""
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
            # The terminal has been closed. What that means is for SIGHUP to say: a
            # session that is stopping its pods goes on with that.


class NoteTeller:
    """A sink that passes on what concerns people and is no data.

    Args:
        tell: gets each note and whether it is about a fault.
    """

    def __init__(self, tell: Callable[[str, bool], None]) -> None:
        self._tell = tell

    def take(self, entries: Sequence[Entry]) -> None:
        """Pass on the notes among some entries."""
        for each in entries:
            if isinstance(each, NoteEntry) and not each.is_bookmark:
                self._tell(each.text, each.is_fault)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which containers and which probes are wanted; empty stands for all."""

    containers: Collection[str] = ()
    probe_types: Collection[ProbeType] = ()

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.containers and not self.probe_types

    def wants(self, entry: Entry) -> bool:
        """Tell whether an entry is about something that is wanted.

        What people did and were told is always wanted; what concerns a pod as a whole
        only where no containers were named.
        """
        match entry:
            case UserEntry() | NoteEntry():
                return True
            case (
                TickEntry(key=key)
                | TryEntry(key=key)
                | ListenersEntry(key=key)
                | FindingEntry(key=key)
            ):
                return self._has(key.container_name) and self._has_type(key.probe_type)
            case EventEntry(event=event, tick=tick):
                return self._has(event.container_name) and (
                    tick is None or self._has_type(tick.key.probe_type)
                )
            case StateEntry(container_name=name, subject=subject):
                is_probe = subject in set(ProbeType)
                return self._has(name) and (
                    not is_probe or self._has_type(ProbeType(subject))
                )
            case (
                ContainerEntry(container_name=name) | BackoffEntry(container_name=name)
            ):
                return self._has(name)
            case StatusEntry() | PodGoneEntry():
                return self._has("")

    def _has(self, container_name: str) -> bool:
        return not self.containers or container_name in self.containers

    def _has_type(self, probe_type: ProbeType) -> bool:
        return not self.probe_types or probe_type in self.probe_types


class Selected:
    """A sink that passes on only what is wanted."""

    def __init__(self, sink: Sink, selection: Selection) -> None:
        self._sink = sink
        self._selection = selection

    def take(self, entries: Sequence[Entry]) -> None:
        """Pass on the wanted ones among some entries."""
        self._sink.take([each for each in entries if self._selection.wants(each)])
