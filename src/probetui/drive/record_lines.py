"""The lines of a record, each read as its type says; what does not fit is damage.

A record may come from anywhere and may be cut, flipped or edited. Every reader of
records reads its lines here: a line that is no record is told by its number with the
reason, and the lines after it are read all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, NoReturn, get_args

import msgspec

from probetui.drive.record_schema import AnyRecord, Session
from probetui.drive.recording import VERSION
from probetui.drive.value_json import plausible_instant
from probetui.errors import RecordError

_MOST_TOLD = 3
MOST_DAMAGES = 10_000
"""Damaged lines after which the rest of a record is not read: a small compressed file
may hold millions."""
_NO_RECORD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class DamageError(ValueError):
    """Why something in a record is not what its type says."""


class Line(NamedTuple):
    """A line of a record, where it begins in the file, and when it was written."""

    number: int
    offset: int
    at: datetime
    record: AnyRecord


class Damages:
    """The lines of a record that cannot be used or are not there, and why."""

    def __init__(self) -> None:
        self._told: dict[int, str] = {}
        self._unread = ""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._told)

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._told)

    def add(self, number: int, reason: object) -> None:
        """Note that a line cannot be used."""
        self._told.setdefault(number, f"line {number} is damaged: {reason}")

    def miss(self, number: int, count: int) -> None:
        """Note that some lines before a line are not there."""
        lines = "1 line is" if count == 1 else f"{count} lines are"
        self._told.setdefault(number, f"{lines} missing before line {number}")

    def leave_rest(self, number: int) -> None:
        """Note that a line and all that follow are not read."""
        self._unread = f"what follows is not read, from line {number} on"

    def __str__(self) -> str:
        """Say it of the first lines, and count the others."""
        told = [self._told[number] for number in sorted(self._told)[:_MOST_TOLD]]
        more = len(self._told) - len(told)
        count = [f"and {more} more"] if more else []
        unread = [self._unread] if self._unread else []
        return "; ".join([*told, *count, *unread])


class RecordLines:
    """The lines of a record after its first one, once; those that are whole.

    Lines of a type that this version does not know are left out without a word.

    Args:
        data: the file's contents.
        path: the file, for messages.

    Attributes:
        session: the record in the first line.
        started_at: the instant of that.
        damages: the lines that could not be read, as far as has been read.
        count: how many lines there are, as far as has been read.

    Raises:
        RecordError: no session record comes first, or a newer version wrote it.
    """

    def __init__(self, data: bytes, path: Path) -> None:
        self.damages = Damages()
        self.count = 1
        self._data = data
        self._offset = _end_of_line(data, 0)
        line = data[: self._offset]
        try:
            self.session = _session(decode_line(line))
            self.started_at = plausible_instant(self.session.ts)
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
            at = plausible_instant(record.ts)
        except ValueError as error:
            self.damages.add(self.count, error)
            return None
        return Line(self.count, offset, at, record)


def _session(record: AnyRecord | None) -> Session:
    if not isinstance(record, Session):
        raise DamageError("no session record comes first")
    return record


def _end_of_line(data: bytes, offset: int) -> int:
    return data.find(b"\n", offset) + 1 or len(data)


def decode_line(line: bytes) -> AnyRecord | None:
    """Return the record in a line, None for one of a type that is not known.

    Raises:
        DamageError: it is not whole, or not what its type says.
    """
    if not line.endswith(b"\n"):
        raise DamageError(f"cut off after {len(line)} bytes")
    try:
        # Fields that are not known are skipped unread, whatever is in them.
        line.decode()
        record: AnyRecord = _RECORDS.decode(line)
    except UnicodeDecodeError as error:
        raise DamageError(f"it is not UTF-8 (byte {error.start + 1})") from None
    except _NO_RECORD as error:
        return _decode_slowly(line, error)
    return record


class _Head(msgspec.Struct, frozen=True):
    """What tells whether a line that does not fit is of a later version."""

    v: int
    type: str


_RECORDS = msgspec.json.Decoder(AnyRecord)
_HEADS = msgspec.json.Decoder(_Head)
_TYPES = frozenset(kind.__struct_config__.tag for kind in get_args(AnyRecord))


def _decode_slowly(line: bytes, why: Exception) -> AnyRecord | None:
    """Read a line that has lone surrogates, which msgspec takes for no JSON.

    They stand for bytes of a container's output that are not UTF-8.
    """
    try:
        head = _HEADS.decode(line)
        if head.v == VERSION and head.type not in _TYPES:
            return None
    except _NO_RECORD:
        pass
    if b"\\ud" not in line.lower():
        raise DamageError(_reason(why)) from None
    try:
        content = json.loads(line, parse_constant=_no_number)
        record: AnyRecord = msgspec.convert(content, AnyRecord)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise DamageError(_reason(error)) from None
    return record


def _no_number(name: str) -> NoReturn:
    raise DamageError(f"{name} is no number of JSON")


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)


def _why_no_session(line: bytes, path: Path, error: ValueError) -> RecordError:
    """Return what is to be said of a first line that is no session record."""
    try:
        head = _HEADS.decode(line)
    except _NO_RECORD:
        return RecordError(f"{path}: is not a recording: {error}")
    if head.v > VERSION:
        return RecordError(
            f"{path}: the recording has version {head.v}, "
            f"this probetui reads up to version {VERSION}"
        )
    return RecordError(f"{path}: is not a recording: line 1: {error}")
