"""RecordWriter, Recorder: a session written line by line, until the disk is full.

A compressed recording can be read while it is written, and after a kill: it consists of
gzip members of a megabyte of lines each. Within a member the stream is flushed with
Z_SYNC_FLUSH once a second, and at once for whatever is not routine, so that all up to
there can be unpacked although the member has no end. Damage costs its own member only.
"""

from __future__ import annotations

import asyncio
import zlib
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from probetui.engine.inputs import Input
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.events.event_correlator import EventCorrelator
from probetui.kubelet.facts import ProbeFinished
from probetui.kubelet.journal import (
    EventEntry,
    JournalEntry,
    TickEntry,
)
from probetui.output_files import AppendedFile, OutputFile, OutputKind
from probetui.record.codec import (
    Record,
    SessionHeader,
    encode_aggregation,
    encode_end,
    encode_entry,
    encode_input,
    encode_line,
    encode_rewind,
    encode_session,
)
from probetui.record.file import GZIP, is_record_beginning
from probetui.record.format import RecordContext
from probetui.record.inputs import InputEncoder
from probetui.record.routine_lines import RoutineLines

SUFFIX = ".gz"
"""How the name of a compressed recording ends."""

LEVEL = 3
MEMBER_BYTES = 1 << 20
FLUSH_SECONDS = 1.0
"""How long routine lines may wait for their flush."""

PENDING_BYTES = 1 << 18
"""As many of them do not wait any longer."""

_ROUTINE = frozenset({"tick", "input"})

LINES_KEPT = 32_768
"""The lines of this many of the newest entries are known, for `cause` to name."""

_NOT_WRITTEN = 2**64 - 1


RECORD_KIND = OutputKind("a record of probetui", is_record_beginning)

Line = Record | bytes
"""A record, or a routine line that has been encoded."""


class _PendingInput(Struct, frozen=True):
    """An input, and the journal entry after which the engine got it.

    It is JSON unless it is the outcome of a probe.
    """

    after: int
    number: int
    item: ProbeFinished | dict[str, Any] | None
    at: datetime


def _is_routine(line: Line) -> bool:
    return isinstance(line, bytes) or line["type"] in _ROUTINE


class RecordWriter:
    """Appends records to an open file, and stops for good when that fails.

    A line is there as a whole or not at all: what a full disk left of one is cut off
    again. It owns the file if it opened it.
    """

    def __init__(self, file: AppendedFile, name: str, *, owned: bool) -> None:
        self._file = file
        self._owned = owned
        self.name = name
        self.problem = ""
        """Why recording stopped; empty while it goes on."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Start a new file, in place of an earlier record; see `output_files`.

        Raises:
            RecordError: it cannot be written, or must not be.
        """
        try:
            file = OutputFile(path, RECORD_KIND)
        except OSError as error:
            raise RecordError(f"--record {path}: {error.strerror or error}") from error
        return cls(file, str(path), owned=True)

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines.

        Raises:
            BrokenPipeError: the reader of a pipe has gone.
        """
        self.append(
            b"".join(
                line if isinstance(line, bytes) else encode_line(line) for line in lines
            )
        )

    def append(self, data: bytes) -> None:
        """Append whole lines.

        Raises:
            BrokenPipeError: the reader of a pipe has gone.
        """
        written = 0
        while written < len(data) and not self.problem:
            try:
                written += self._file.write(data[written:])
            except BrokenPipeError:
                raise
            except OSError as error:
                self._stop(error)
                with suppress(OSError):  # a reader leaves out what is no whole line
                    self._cut_off(data[:written])

    def flush(self) -> None:
        """Write what is buffered; here, nothing is."""

    def close(self) -> None:
        """Close the file, if it is owned."""
        if not self._owned:
            return
        try:
            self._file.close()
        except OSError as error:  # NFS and quotas tell only now
            self._stop(error)

    def _stop(self, error: OSError) -> None:
        """Note why recording stops; the first reason is kept."""
        self.problem = self.problem or f"{self.name}: {error.strerror or error}"

    def _cut_off(self, written: bytes) -> None:
        """Remove the part of a line that was written."""
        self._file.take_back(len(written) - (written.rfind(b"\n") + 1))


class CompressedRecordWriter(RecordWriter):
    """Appends records to a gzip file, and stops for good when that fails.

    What a full disk left of the last flush is removed.
    """

    def __init__(self, file: AppendedFile, name: str, *, owned: bool) -> None:
        super().__init__(file, name, owned=owned)
        self._begin_member()
        self._packed: list[bytes] = []
        self._pending_bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def write(self, lines: Iterable[Line]) -> None:
        """Append lines; routine ones are in the file within a second."""
        written = list(lines)
        super().write(written)
        if not all(map(_is_routine, written)):
            self.flush()

    def append(self, data: bytes) -> None:
        """Append whole lines; they are in the file after the next flush."""
        if self.problem:
            return
        self._packed.append(self._compressor.compress(data))
        self._member_bytes += len(data)
        self._pending_bytes += len(data)
        if self._pending_bytes > PENDING_BYTES:
            self.flush()
        else:
            self._flush_later()

    def flush(self) -> None:
        """Write everything that was appended, so that it can be unpacked."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._pending_bytes:
            return
        is_full = self._member_bytes > MEMBER_BYTES
        self._packed.append(
            self._compressor.flush(zlib.Z_FINISH if is_full else zlib.Z_SYNC_FLUSH)
        )
        self._write_packed()
        if is_full:
            self._begin_member()

    def continue_in(self, file: AppendedFile, name: str) -> None:
        """Close the file, and continue in another one."""
        self.close()
        self._file = file
        self.name = name
        self._begin_member()

    def close(self) -> None:
        """End the member and close the file."""
        self.flush()
        if self._member_bytes:
            self._packed.append(self._compressor.flush(zlib.Z_FINISH))
            self._write_packed()
        super().close()

    def _begin_member(self) -> None:
        self._compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._member_bytes = 0

    def _write_packed(self) -> None:
        data = b"".join(self._packed)
        self._packed.clear()
        self._pending_bytes = 0
        super().append(data)

    def _flush_later(self) -> None:
        if self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nothing comes later where there is no loop
            self.flush()
        else:
            self._timer = loop.call_later(FLUSH_SECONDS, self.flush)

    def _cut_off(self, written: bytes) -> None:
        """Remove what was written of the last flush."""
        self._file.take_back(len(written))


class Recorder:
    """Writes one session: its header, its journal and inputs, its end.

    An input is written before the first entry that it led to.

    Args:
        writer: where the lines go.
        context: of the session.
        keeps_secrets: write inputs unmasked.
        lines_kept: how many entries' lines are remembered; None for all, for sessions
            that may go back in time.
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
        self._routine = RoutineLines(self._mask)
        self._inputs_noted = 0
        self._waiting: deque[_PendingInput] = deque()

    @property
    def problem(self) -> str:
        """Why recording stopped; empty while it goes on."""
        return self._writer.problem

    def register_pods(self, pods: Iterable[Pod]) -> None:
        """Learn the names of new pods; those that are gone keep theirs."""
        known = {**self._context.pods, **{pod.uid: pod for pod in pods}}
        self._context = replace(self._context, pods=known)

    def begin(self, header: SessionHeader) -> None:
        """Write the session record; its number is 0."""
        self._writer.write([encode_session(header, self._next_line(), self._context)])

    def note_input(
        self, item: Input | dict[str, Any] | None, now: datetime, sequence: int
    ) -> None:
        """Note an input that the engine is about to get; it goes before its entries.

        Args:
            item: the input, None where only time passes; JSON where it is no engine's.
            now: at which instant.
            sequence: the number of the newest entry before it.
        """
        self._inputs_noted += 1
        noted: ProbeFinished | dict[str, Any] | None
        if item is None or isinstance(item, ProbeFinished | dict):
            noted = item
        else:
            noted = self._inputs.encode(item)
        self._waiting.append(_PendingInput(sequence, self._inputs_noted, noted, now))

    def consume(self, entries: Sequence[JournalEntry]) -> None:
        """Write what was added to the journal since the last call."""
        lines = list(self._in_order(entries))
        if lines:
            self._writer.write(lines)

    def rewind(self, kept: Iterable[JournalEntry], inputs: int, at: datetime) -> None:
        """Write that all but some entries and inputs did not happen.

        Args:
            kept: the entries that are left, the oldest ones of those taken.
            inputs: how many inputs are left.
            at: the instant to which the session has gone back.
        """
        self._inputs_noted = inputs
        self._inputs = InputEncoder(self._mask)
        self._cluster = EventCorrelator()
        newest = 0
        for entry in kept:
            newest = entry.sequence
            if isinstance(entry, EventEntry):
                self._cluster.correlate(entry.event)
        del self._lines_of_entries[newest - self._lines_dropped :]
        last = self._line_of(newest) or 0
        self._writer.write(
            [encode_rewind(last, inputs, at, self._next_line(), self._context)]
        )

    def _in_order(self, entries: Sequence[JournalEntry]) -> Iterator[Line]:
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

    def _next_input(self) -> Line:
        pending = self._waiting.popleft()
        number, item, at = pending.number, pending.item, pending.at
        line = self._next_line()
        if isinstance(item, ProbeFinished):
            return self._routine.outcome(item, number, at, line, self._context)
        return encode_input(number, item, at, line, self._context)

    def _record(self, entry: JournalEntry) -> Line:
        line = self._next_line()
        self._note_line(entry.sequence, line)
        if isinstance(entry, TickEntry):
            return self._routine.tick(entry, line, self._context)
        record = encode_entry(entry, self._context)
        record["seq"] = line
        if hasattr(entry, "cause"):
            record["cause"] = self._line_of(entry.cause)
        if isinstance(entry, EventEntry):
            tick = entry.tick
            record["cause"] = None if tick is None else self._line_of(tick.sequence)
            record |= encode_aggregation(self._cluster.correlate(entry.event))
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
        """Write the last record and close the file."""
        waiting = list(self._in_order(()))
        line = self._next_line()
        record = encode_end(reason, exit_status, line, at, self._context)
        try:
            self._writer.write([*waiting, record])
        finally:
            self._writer.close()
