"""RecordLines: the lines of a recording's file, unpacked and checked.

A record may come from anywhere and may be cut off or edited. Every reader reads its
lines here: a damaged line is reported by its number with the reason, and the lines
after it are read all the same.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from probetui.errors import RecordError
from probetui.record.codec import decode_head, decode_line
from probetui.record.format import VERSION, AnyRecord, SessionRecord
from probetui.record.values import DamageError, parse_session_instant
from probetui.untrusted_files import read_regular

MOST_UNPACKED_BYTES = 2 << 30
"""The largest recording that is read, unpacked; it is held in memory."""

GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_PACKED_BYTES, _UNPACKED_BYTES = 1 << 14, 1 << 20
"""How many bytes are unpacked at once, and into how many at most."""

_BEGINNING = re.compile(
    rb'\{"v":\d+,"seq":\d+,"ts":"[^"]*","t":[^,]*,"type":"session",'
)

_MOST_BROKEN_MEMBERS = 1_000
"""A file with more of them is read no further."""

_MOST_DESCRIBED = 3
MOST_DAMAGES = 10_000
"""Damaged lines after which the rest of a record is not read: a small compressed file
may hold millions."""


class Line(Struct, frozen=True):
    """A line of a record, where it begins in the file, and when it was written."""

    number: int
    offset: int
    at: datetime
    record: AnyRecord


class DamageReport:
    """Which lines of a record are damaged or missing, and why."""

    def __init__(self) -> None:
        self._descriptions: dict[int, str] = {}
        self._unread = ""

    def __len__(self) -> int:
        """Return how many lines are damaged or missing."""
        return len(self._descriptions)

    def __bool__(self) -> bool:
        """Return whether any line is damaged or missing."""
        return bool(self._descriptions)

    def add(self, number: int, reason: object) -> None:
        """Note that a line cannot be used."""
        self._descriptions.setdefault(number, f"line {number} is damaged: {reason}")

    def miss(self, number: int, count: int) -> None:
        """Note that some lines before a line are missing."""
        lines = "1 line is" if count == 1 else f"{count} lines are"
        self._descriptions.setdefault(number, f"{lines} missing before line {number}")

    def leave_rest(self, number: int) -> None:
        """Note that a line and all that follow are not read."""
        self._unread = f"lines from {number} on are not read"

    def __str__(self) -> str:
        """Describe the first three, and count the others."""
        described = [
            self._descriptions[number]
            for number in sorted(self._descriptions)[:_MOST_DESCRIBED]
        ]
        more = len(self._descriptions) - len(described)
        count = [f"and {more} more"] if more else []
        unread = [self._unread] if self._unread else []
        return "; ".join([*described, *count, *unread])


class RecordLines:
    """Iterates once over the undamaged lines of a record after the first.

    Lines of a type that this version does not know are left out.

    Args:
        data: the file's contents.
        path: the file, for messages.

    Attributes:
        session: the record in the first line.
        started_at: the instant of that.
        damages: the lines that could not be read so far.
        count: how many lines there are so far.

    Raises:
        RecordError: no session record comes first, or a newer version wrote it.
    """

    def __init__(self, data: bytes, path: Path) -> None:
        self.damages = DamageReport()
        self.count = 1
        self._data = data
        self._offset = _end_of_line(data, 0)
        line = data[: self._offset]
        try:
            self.session = _session(decode_line(line))
            self.started_at = parse_session_instant(self.session.ts)
        except ValueError as error:
            raise _why_no_session(line, path, error) from None

    def __iter__(self) -> Iterator[Line]:
        """Yield the lines."""
        expected = None if self.session.continues else self.session.seq + 1
        while self._offset < len(self._data):
            self.count += 1
            if len(self.damages) >= MOST_DAMAGES:
                self.damages.leave_rest(self.count)
                return
            offset, end = self._offset, _end_of_line(self._data, self._offset)
            self._offset = end
            line = self._line(offset, end)
            if line is not None:
                sequence = line.record.seq
                if expected is not None and sequence > expected:
                    self.damages.miss(self.count, sequence - expected)
                expected = sequence
                yield line
            if expected is not None:
                expected += 1

    def _line(self, offset: int, end: int) -> Line | None:
        try:
            record = decode_line(self._data[offset:end])
            if record is None:
                return None
            at = parse_session_instant(record.ts)
        except ValueError as error:
            self.damages.add(self.count, error)
            return None
        return Line(self.count, offset, at, record)


def _session(record: AnyRecord | None) -> SessionRecord:
    if not isinstance(record, SessionRecord):
        raise DamageError("no session record comes first")
    return record


def _end_of_line(data: bytes, offset: int) -> int:
    return data.find(b"\n", offset) + 1 or len(data)


def _why_no_session(line: bytes, path: Path, error: ValueError) -> RecordError:
    """Return the error of a first line that is no session record."""
    head = decode_head(line)
    if head is None:
        return RecordError(f"{path}: is not a recording: {error}")
    if head.version > VERSION:
        return RecordError(
            f"{path}: the recording has version {head.version}, "
            f"this probetui reads up to version {VERSION}"
        )
    return RecordError(f"{path}: is not a recording: line 1: {error}")


def is_record_beginning(beginning: bytes) -> bool:
    """Return whether a file that begins so is a record, of whatever version."""
    if beginning.startswith(_MAGIC):
        with suppress(zlib.error):
            unpacker = zlib.decompressobj(GZIP)
            return _BEGINNING.match(unpacker.decompress(beginning, 1 << 10)) is not None
        return False
    return _BEGINNING.match(beginning) is not None


def describe_missing_end(lines: int, ended_at: datetime, started_at: datetime) -> str:
    """Return the message about a recording without an `end`."""
    seconds = (ended_at - started_at).total_seconds()
    clock = f"{int(seconds // 60):02d}:{seconds % 60:04.1f}"
    return (
        f"incomplete recording ({lines} lines, up to {clock}): the session was killed, "
        "is still running, or could not be recorded further"
    )


def read_record_file(path: Path, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """Return the lines of a recording, unpacked if it is compressed.

    Of a file that was cut off or damaged, what can be unpacked: where something is
    missing there is a line that is not whole.

    Raises:
        RecordError: it cannot be read, or is larger than `most_bytes` when unpacked.
    """
    try:
        data = read_regular(path)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from error
    if not data or data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        return data
    lines = bytearray()
    for part in _unpacked(data):
        lines += part
        if len(lines) > most_bytes:
            raise RecordError(
                f"{path}: is larger than {most_bytes >> 20} MiB when unpacked"
            )
    return bytes(lines)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what can be unpacked, in parts of a bounded size."""
    start = damages = 0
    while start >= 0 and damages < _MOST_BROKEN_MEMBERS:
        unpacker = zlib.decompressobj(GZIP)
        here = start
        try:
            while not unpacker.eof and here < len(data):
                packed = data[here : here + _PACKED_BYTES]
                here += len(packed)
                while packed and not unpacker.eof:
                    yield unpacker.decompress(packed, _UNPACKED_BYTES)
                    packed = unpacker.unconsumed_tail
        except zlib.error:
            damages += 1
            # What was unpacked may end within a line: what follows is another one.
            yield b"\n"
            start = data.find(_MAGIC, start + 1)
        else:
            start = data.find(_MAGIC, here - len(unpacker.unused_data))
