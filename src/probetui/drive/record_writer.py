"""Recordings written: whole lines only, as they happen, until the disk is full."""

from __future__ import annotations

import os
import stat
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self

from probetui.drive.input_records import InputEncoder
from probetui.drive.recording import (
    Record,
    RecordContext,
    SessionHeader,
    encode_end,
    encode_entry,
    encode_folding,
    encode_input,
    encode_rewind,
    encode_session,
    to_line,
)
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.event_recorder import EventCorrelator
from probetui.kubelet.inputs import Input
from probetui.kubelet.journal import (
    Entry,
    EventEntry,
    FindingEntry,
    ListenersEntry,
    StateEntry,
)
from probetui.untrusted_files import open_output

LINES_KEPT = 32_768
"""Of so many of the newest entries the line is known that a cause can name."""

_NOT_WRITTEN = 2**64 - 1


class _Heard(NamedTuple):
    """What the engine was given: as JSON, and after which entry of the journal."""

    after: int
    number: int
    item: Mapping[str, object] | None
    at: datetime


class RecordWriter:
    """Appends records to an open file, and stops for good when that fails.

    A line is there as a whole or not at all: what a full disk left of one is cut off
    again. It owns the descriptor if it opened it.
    """

    def __init__(self, descriptor: int, name: str, *, owned: bool) -> None:
        self._descriptor = descriptor
        self._owned = owned
        self.name = name
        self.problem = ""
        """Why nothing is recorded any more; empty while all is well."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Start a new file, in place of one that is there.

        Raises:
            RecordError: it cannot be written.
        """
        try:
            # Readable by its owner only: it holds what containers print.
            descriptor = open_output(path, os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise RecordError(f"--record {path}: {error.strerror or error}") from error
        return cls(descriptor, str(path), owned=True)

    def write(self, records: Iterable[Record]) -> None:
        """Append records.

        Raises:
            BrokenPipeError: the reader of a pipe has gone.
        """
        self.append(b"".join(to_line(each) for each in records))

    def append(self, data: bytes) -> None:
        """Append whole lines.

        Raises:
            BrokenPipeError: the reader of a pipe has gone.
        """
        written = 0
        while written < len(data) and not self.problem:
            try:
                written += os.write(self._descriptor, data[written:])
            except BrokenPipeError:
                raise
            except OSError as error:
                self.problem = f"{self.name}: {error.strerror or error}"
                self._cut_off(data[:written])

    def flush(self) -> None:
        """Write what waits to be written; here, nothing does."""

    def close(self) -> None:
        """Let go of the file."""
        if self._owned:
            os.close(self._descriptor)

    def _cut_off(self, written: bytes) -> None:
        """Take back the part of a line that was still written."""
        self._take_back(len(written) - (written.rfind(b"\n") + 1))

    def _take_back(self, count: int) -> None:
        """Take back the last bytes of the file."""
        facts = os.fstat(self._descriptor)
        if count and stat.S_ISREG(facts.st_mode):
            os.ftruncate(self._descriptor, facts.st_size - count)


class Recorder:
    """Writes one session: its header, its journal as it grows, its end.

    What went into the engine is written where it belongs: before the first entry that
    came of it.

    Args:
        writer: where the lines go.
        context: of the session.
        keeps_secrets: write the inputs as they are; else as masked as the header.
        lines_kept: of so many entries the lines are known; None for all, which a
            session needs that may go back in time.
    """

    def __init__(
        self,
        writer: RecordWriter,
        context: RecordContext,
        *,
        keeps_secrets: bool = False,
        lines_kept: int | None = LINES_KEPT,
    ) -> None:
        self._lines_kept = lines_kept
        self._writer = writer
        self._context = context
        self._cluster = EventCorrelator()
        self._lines = 0
        self._lines_of_entries = array("Q")
        self._lines_dropped = 0
        self._mask = None if keeps_secrets else context.mask
        self._inputs = InputEncoder(self._mask)
        self._heard = 0
        self._waiting: deque[_Heard] = deque()

    @property
    def problem(self) -> str:
        """Why nothing is recorded any more; empty while all is well."""
        return self._writer.problem

    def know(self, pods: Iterable[Pod]) -> None:
        """Take note of pods that are new; they keep their names when they are gone."""
        known = {**self._context.pods, **{each.uid: each for each in pods}}
        self._context = replace(self._context, pods=known)

    def begin(self, header: SessionHeader) -> None:
        """Write the session record; its number is 0."""
        self._writer.write([encode_session(header, self._next_line(), self._context)])

    def hear(self, item: Input | None, now: datetime, sequence: int) -> None:
        """Take note of what the engine is about to be given.

        It is written with the next entries.

        Args:
            item: the input, None where only time passes.
            now: at which instant.
            sequence: the number of the newest entry before it.
        """
        self._heard += 1
        encoded = None if item is None else self._inputs.encode(item)
        self._waiting.append(_Heard(sequence, self._heard, encoded, now))

    def take(self, entries: Sequence[Entry]) -> None:
        """Write what has been added to the journal since the last time."""
        records = list(self._in_order(entries))
        if records:
            self._writer.write(records)

    def rewind(self, kept: Iterable[Entry], inputs: int, at: datetime) -> None:
        """Take back all but some entries and inputs, though they are written.

        Args:
            kept: the entries that are left, the oldest ones of those taken.
            inputs: how many inputs are left.
            at: the instant to which the session has gone back.
        """
        self._heard = inputs
        self._inputs = InputEncoder(self._mask)
        self._cluster = EventCorrelator()
        newest = 0
        for each in kept:
            newest = each.sequence
            if isinstance(each, EventEntry):
                self._cluster.correlate(each.event)
        del self._lines_of_entries[newest - self._lines_dropped :]
        last = self._line_of(newest) or 0
        self._writer.write(
            [encode_rewind(last, inputs, at, self._next_line(), self._context)]
        )

    def _in_order(self, entries: Sequence[Entry]) -> Iterator[Record]:
        for entry in entries:
            while self._waiting and self._waiting[0].after < entry.sequence:
                yield self._next_input()
            yield self._record(entry)
        while self._waiting:
            yield self._next_input()

    def _next_line(self) -> int:
        """Return the number of the line that is written next."""
        self._lines += 1
        return self._lines - 1

    def _line_of(self, sequence: int | None) -> int | None:
        """Return the line of an entry, None if it was not written."""
        if sequence is None:
            return None
        place = sequence - 1 - self._lines_dropped
        if not 0 <= place < len(self._lines_of_entries):
            return None
        line = self._lines_of_entries[place]
        return None if line == _NOT_WRITTEN else line

    def _next_input(self) -> Record:
        heard = self._waiting.popleft()
        return encode_input(
            heard.number, heard.item, heard.at, self._next_line(), self._context
        )

    def _record(self, entry: Entry) -> Record:
        record = encode_entry(entry, self._context)
        record["seq"] = line = self._next_line()
        self._note_line(entry.sequence, line)
        if isinstance(entry, StateEntry | ListenersEntry | FindingEntry):
            record["cause"] = self._line_of(entry.cause)
        if isinstance(entry, EventEntry):
            tick = entry.tick
            record["cause"] = None if tick is None else self._line_of(tick.sequence)
            record |= encode_folding(self._cluster.correlate(entry.event))
        return record

    def _note_line(self, sequence: int, line: int) -> None:
        lines = self._lines_of_entries
        # Of a session of which only some is recorded, numbers are left out.
        missing = sequence - 1 - self._lines_dropped - len(lines)
        lines.extend([_NOT_WRITTEN] * missing)
        lines.append(line)
        excess = 0 if self._lines_kept is None else len(lines) - self._lines_kept
        if excess > len(lines) // 4:
            del lines[:excess]
            self._lines_dropped += excess

    def end(self, reason: str, exit_status: int, at: datetime) -> None:
        """Write the last record and let go of the file."""
        waiting = list(self._in_order(()))
        line = self._next_line()
        record = encode_end(reason, exit_status, line, at, self._context)
        try:
            self._writer.write([*waiting, record])
        finally:
            self._writer.close()
