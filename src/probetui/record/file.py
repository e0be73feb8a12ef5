"""RecordLines: the lines of a recording's file, unpacked and checked.

A record may come from anywhere and may be cut off or edited. Every reader reads its
lines here, one at a time: a damaged line is reported by its number with the reason, and
the lines after it are read all the same. A line that is too long is not held, nor is
anything read of a file that is too large by its size.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import BufferedReader
from itertools import islice
from pathlib import Path

from msgspec import Struct

from probetui.errors import RecordError
from probetui.record.codec import decode_head, decode_line
from probetui.record.format import VERSION, AnyRecord, SessionRecord
from probetui.record.values import DamageError, parse_session_instant
from probetui.untrusted_files import open_regular

RECORD_BYTES = 256 << 20
"""The largest recording that is read by default, unpacked: two parts of a session."""

LINE_BYTES = 16 << 20
"""A longer line is damaged."""

_ROW_BYTES = LINE_BYTES + 1
"""Nor may a packed line be longer, which has one byte more if it stands as it is."""

_MOST_VALUES = 1_000_000
"""Each takes some 64 bytes in memory, and three in a line."""

_READ_BYTES = 1 << 20

GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b\x08"
_NOT_WRITTEN = bytes(8)
"""More zeros than a member may end with: a machine stopped before it wrote them."""

_PACKED_BYTES, _UNPACKED_BYTES = 1 << 14, 1 << 20
"""How many bytes are unpacked at once, and into how many at most."""

_BEGINNING = re.compile(
    rb'\{"v":\d+,"seq":\d+,"ts":"[^"]*","t":[^,]*,"type":"session",'
)

REPORT_BEGINNING = "<!DOCTYPE html>\n<!-- a report of probetui -->\n"

_MOST_BROKEN_MEMBERS = 1_000
"""A file with more of them is read no further."""

_MOST_PASSES = 8
"""Nor one that was unpacked as often as that: a broken member may hold many others."""

_MOST_DESCRIBED = 3
MOST_DAMAGES = 10_000
"""Damaged lines after which the rest of a record is not read: a small compressed file
may hold millions."""


class Line(Struct, frozen=True):
    """A line of a record, as it stands in the file, and when it was written."""

    number: int
    text: bytes
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
        path: the file.
        most_bytes: how large it may be, unpacked.

    Attributes:
        session: the record in the first line.
        started_at: the instant of that.
        damages: the lines that could not be read so far.
        count: how many lines there are so far.

    Raises:
        RecordError: the file cannot be read or is too large, no session record comes
            first, or a newer version wrote it. Iterating raises it, too.
    """

    def __init__(self, path: Path, most_bytes: int = RECORD_BYTES) -> None:
        self.damages = DamageReport()
        self.count = 1
        self._lines = _split_lines(record_chunks(path, most_bytes))
        line = next(self._lines, b"")
        try:
            self.session = _session(_decode(line))
            self.started_at = parse_session_instant(self.session.ts)
        except ValueError as error:
            raise _why_no_session(line or b"", path, error) from None

    def __iter__(self) -> Iterator[Line]:
        """Yield the lines."""
        expected = None if self.session.continues else self.session.seq + 1
        for text in self._lines:
            self.count += 1
            if len(self.damages) >= MOST_DAMAGES:
                self.damages.leave_rest(self.count)
                return
            line = self._line(text)
            if line is not None:
                sequence = line.record.seq
                if expected is not None and sequence > expected:
                    self.damages.miss(self.count, sequence - expected)
                expected = sequence
                yield line
            if expected is not None:
                expected += 1

    def _line(self, text: bytes | None) -> Line | None:
        try:
            record = _decode(text)
            if text is None or record is None:
                return None
            at = parse_session_instant(record.ts)
        except ValueError as error:
            self.damages.add(self.count, error)
            return None
        return Line(self.count, text, at, record)


def _decode(text: bytes | None) -> AnyRecord | None:
    """Return the record in a line; see `decode_line`.

    Raises:
        DamageError: the line cannot be used, or would take too much memory.
    """
    if text is None:
        raise DamageError(f"it is longer than {LINE_BYTES >> 20} MiB")
    if len(text) > _MOST_VALUES and sum(map(text.count, b",[{")) > _MOST_VALUES:
        raise DamageError(f"it has more than {_MOST_VALUES} values")
    return decode_line(text)


def _session(record: AnyRecord | None) -> SessionRecord:
    if not isinstance(record, SessionRecord):
        raise DamageError("no session record comes first")
    return record


def record_lines(path: Path, most_bytes: int = RECORD_BYTES) -> Iterator[bytes]:
    """Yield the lines of a record with their ends, undamaged or not.

    A line that is too long to be held comes as an empty one.

    Raises:
        RecordError: it cannot be read, or is larger than `most_bytes` when unpacked.
    """
    for line in _split_lines(record_chunks(path, most_bytes)):
        yield b"\n" if line is None else line


def _split_lines(
    chunks: Iterable[bytes], most: int = LINE_BYTES
) -> Iterator[bytes | None]:
    """Yield lines with their ends, None for each that is too long to be held."""
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        begin = 0
        while end := chunk.find(b"\n", begin) + 1:
            size += end - begin
            parts.append(chunk[begin:end])
            yield b"".join(parts) if size <= most else None
            parts.clear()
            size, begin = 0, end
        size += len(chunk) - begin
        if size > most:
            parts.clear()
        elif begin < len(chunk):
            parts.append(chunk[begin:])
    if size:
        yield b"".join(parts) if size <= most else None


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


def is_report_beginning(beginning: bytes) -> bool:
    """Return whether a file that begins so is a report, which holds a record."""
    return beginning.startswith(REPORT_BEGINNING.encode())


def describe_missing_end(lines: int, ended_at: datetime, started_at: datetime) -> str:
    """Return the message about a recording without an `end`."""
    seconds = (ended_at - started_at).total_seconds()
    clock = f"{int(seconds // 60):02d}:{seconds % 60:04.1f}"
    return (
        f"incomplete recording ({lines} lines, up to {clock}): the session was killed, "
        "is still running, or could not be recorded further"
    )


def record_chunks(path: Path, most_bytes: int = RECORD_BYTES) -> Iterator[bytes]:
    """Yield the contents of a recording, unpacked if it is compressed.

    Of a file that was cut off or damaged, what can be unpacked: where something is
    missing there is a line that is not whole.

    Raises:
        RecordError: it cannot be read, or is larger than `most_bytes` when unpacked.
    """
    too_large = RecordError(
        f"{path}: is larger than {most_bytes >> 20} MiB when unpacked; --record-limit "
        "reads larger ones"
    )
    size = 0
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            if os.fstat(file.fileno()).st_size > most_bytes:
                raise too_large
            for chunk in _contents(file, most_bytes):
                size += len(chunk)
                if size > most_bytes:
                    raise too_large
                yield chunk
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror or error}") from error
    except DamageError as error:
        raise RecordError(f"{path}: {error}") from error


def _contents(file: BufferedReader, most_bytes: int) -> Iterator[bytes]:
    beginning = file.read(_READ_BYTES)
    rest = iter(partial(file.read, _READ_BYTES), b"")
    if beginning and beginning[: len(_MAGIC)] == _MAGIC[: len(beginning)]:
        unpack: Callable[[bytes], Iterator[bytes]] = _unpacked
    elif is_report_beginning(beginning):
        unpack = _unpacked_report
    else:
        yield beginning
        yield from rest
        return
    # What is behind a damaged member is searched for from its beginning.
    yield from unpack(b"".join([beginning, *islice(rest, most_bytes // _READ_BYTES)]))


def _unpacked_report(page: bytes) -> Iterator[bytes]:
    # Late: few records come as reports.
    from probetui.record.packed_lines import unpack_rows  # noqa: PLC0415
    from probetui.record.report_file import packed_rows  # noqa: PLC0415

    yield from unpack_rows(map(_row, _split_lines(packed_rows(page), _ROW_BYTES)))


def _row(line: bytes | None) -> bytes:
    if line is None:
        raise DamageError(f"a packed line is longer than {LINE_BYTES >> 20} MiB")
    return line


def _unpacked(data: bytes) -> Iterator[bytes]:
    """Yield what can be unpacked, in parts of a bounded size."""
    if data.endswith(_NOT_WRITTEN):
        # Unpacked they would be lines that nobody wrote. A flush ends with others.
        data = data.rstrip(b"\0")
    start = damages = fed = 0
    while start >= 0 and damages < _MOST_BROKEN_MEMBERS:
        unpacker = zlib.decompressobj(GZIP)
        here = start
        try:
            while not unpacker.eof and here < len(data):
                packed = data[here : here + _PACKED_BYTES]
                here += len(packed)
                fed += len(packed)
                while packed and not unpacker.eof:
                    yield unpacker.decompress(packed, _UNPACKED_BYTES)
                    packed = unpacker.unconsumed_tail
        except zlib.error:
            damages += 1
            # What was unpacked may end within a line: what follows is another one.
            yield b"\n"
            start = data.find(_MAGIC, start + 1)
            if fed > _MOST_PASSES * len(data):
                return
        else:
            start = data.find(_MAGIC, here - len(unpacker.unused_data))


def names_record(argument: str) -> bool:
    """Return whether an argument of a command is a record: a file, or named as one."""
    return (
        argument.endswith((".jsonl", ".jsonl.gz", ".html")) or Path(argument).is_file()
    )
