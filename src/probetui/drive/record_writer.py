"""Recordings written: whole lines only, as they happen, until the disk is full."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from probetui.drive.recording import (
    Record,
    RecordContext,
    SessionHeader,
    encode_end,
    encode_entry,
    encode_folding,
    encode_session,
    to_line,
)
from probetui.errors import RecordError
from probetui.k8s.pod import Pod
from probetui.kubelet.event_recorder import EventCorrelator
from probetui.kubelet.journal import Entry, EventEntry


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
    def open(cls, path: Path) -> RecordWriter:
        """Start a new file, in place of one that is there.

        Raises:
            RecordError: it cannot be written.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            # Readable by its owner only: it holds what containers print.
            descriptor = os.open(path, flags, mode=0o600)
        except OSError as error:
            raise RecordError(f"--record {path}: {error.strerror or error}") from error
        return cls(descriptor, str(path), owned=True)

    def write(self, records: Iterable[Record]) -> None:
        """Append records.

        Raises:
            BrokenPipeError: the reader of a pipe has gone.
        """
        data = b"".join(to_line(each) for each in records)
        written = 0
        while written < len(data) and not self.problem:
            try:
                written += os.write(self._descriptor, data[written:])
            except BrokenPipeError:
                raise
            except OSError as error:
                self.problem = f"{self.name}: {error.strerror or error}"
                self._cut_off(data[:written])

    def close(self) -> None:
        """Let go of the file."""
        if self._owned:
            os.close(self._descriptor)

    def _cut_off(self, written: bytes) -> None:
        """Take back the part of a line that was still written."""
        partial = len(written) - (written.rfind(b"\n") + 1)
        facts = os.fstat(self._descriptor)
        if partial and stat.S_ISREG(facts.st_mode):
            os.ftruncate(self._descriptor, facts.st_size - partial)


class Recorder:
    """Writes one session: its header, its journal as it grows, its end."""

    def __init__(self, writer: RecordWriter, context: RecordContext) -> None:
        self._writer = writer
        self._context = context
        self._cluster = EventCorrelator()
        self._sequence = 0

    @property
    def problem(self) -> str:
        """Why nothing is recorded any more; empty while all is well."""
        return self._writer.problem

    def know(self, pods: Iterable[Pod]) -> None:
        """Take note of pods that are new; they keep their names when they are gone."""
        known = {**self._context.pods, **{each.uid: each for each in pods}}
        self._context = replace(self._context, pods=known)

    def begin(self, header: SessionHeader) -> None:
        """Write the session record; its number is 0, journals begin at 1."""
        self._writer.write([encode_session(header, 0, self._context)])

    def take(self, entries: Sequence[Entry]) -> None:
        """Write what has been added to the journal since the last time."""
        if entries:
            self._sequence = entries[-1].sequence
            self._writer.write([self._record(each) for each in entries])

    def _record(self, entry: Entry) -> Record:
        record = encode_entry(entry, self._context)
        if isinstance(entry, EventEntry):
            record |= encode_folding(self._cluster.correlate(entry.event))
        return record

    def end(self, reason: str, exit_status: int, at: datetime) -> None:
        """Write the last record and let go of the file."""
        record = encode_end(reason, exit_status, self._sequence + 1, at, self._context)
        try:
            self._writer.write([record])
        finally:
            self._writer.close()
