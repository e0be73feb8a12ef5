"""Packed lines: a record in a tenth of the room that compression alone needs.

A probe that succeeds each second writes the same lines again and again, apart from
instants and counters, which all grow by the same steps. So a line is a shape, which is
its text without numbers, and its numbers; a line of a shape that came before is stored
as the number of the shape and the differences from the last line of it. Rows of equal
differences are equal, and compression folds them. Every byte comes back.

The first byte of a row tells what it is: `=` a line as it stands, which is a new shape,
or a number that names a shape. Fields are separated by commas: empty for an equal
number, `+` or `-` for a difference, `=` for a number as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, zip_longest

from probetui.record.values import DamageError

_NUMBER = re.compile(
    rb"(?<![0-9A-Za-z])"
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z|\d{1,18})(?![0-9A-Za-z])"
)
_MOST_SHAPES = 1024
_LONGEST_SHAPE = 4096
"""Shapes that are remembered, and the bytes of their first lines: what is read may be
made to fill the memory. The lines of others are stored as they stand."""

_LONGEST_ROW = _LONGEST_SHAPE * 32
"""A row that names a shape has two characters of that for 29 of its own at most."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST_NUMBER = 18
_HOUR, _NO_HOUR = slice(11, 13), b"24"
_AS_IT_STANDS = b"="
_ROW_END = b"\n"


def pack_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a row for each line; lines and rows include their line breaks."""
    numbers_of: dict[tuple[bytes, ...], int] = {}
    latest: list[list[bytes]] = []
    for line in lines:
        if len(line) > _LONGEST_SHAPE:
            yield _AS_IT_STANDS + line
            continue
        parts = _NUMBER.split(line)
        shape, numbers = tuple(parts[::2]), parts[1::2]
        number = numbers_of.get(shape)
        if number is None:
            if len(latest) < _MOST_SHAPES:
                numbers_of[shape] = len(latest)
                latest.append(numbers)
            yield _AS_IT_STANDS + line
            continue
        steps = map(_step, latest[number], numbers)
        latest[number] = numbers
        yield b",".join((b"%d" % number, *steps)) + _ROW_END


def unpack_rows(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the line of each row.

    Raises:
        DamageError: a row is damaged.
    """
    texts: list[list[bytes]] = []
    latest: list[list[bytes]] = []
    for row in rows:
        if row.startswith(_AS_IT_STANDS):
            line = row[1:]
            if len(line) <= _LONGEST_SHAPE and len(texts) < _MOST_SHAPES:
                parts = _NUMBER.split(line)
                texts.append(parts[::2])
                latest.append(parts[1::2])
            yield line
            continue
        if len(row) > _LONGEST_ROW:
            raise DamageError("a row is longer than any that names a shape")
        name, *steps = row.rstrip(_ROW_END).split(b",")
        number = int(name) if name.isdigit() and len(name) < _LONGEST_NUMBER else -1
        if not 0 <= number < len(latest) or len(steps) != len(latest[number]):
            raise DamageError("a row names no shape, or has other numbers")
        latest[number] = [*map(_after, latest[number], steps)]
        pairs = zip_longest(texts[number], latest[number], fillvalue=b"")
        yield b"".join(chain.from_iterable(pairs))


def _step(before: bytes, now: bytes) -> bytes:
    """Return the difference of two numbers, or the second as it stands."""
    if before == now:
        return b""
    first, second = _value(before), _value(now)
    is_instant = [len(number) > _LONGEST_NUMBER for number in (before, now)]
    if first is None or second is None or is_instant[0] is not is_instant[1]:
        return _AS_IT_STANDS + now
    return b"%+d" % (second - first)


def _after(before: bytes, step: bytes) -> bytes:
    """Return the number that a difference leads to.

    Raises:
        DamageError: there is none.
    """
    if not step:
        return before
    if step.startswith(_AS_IT_STANDS):
        return step[1:]
    value = _value(before)
    if len(step) > _LONGEST_NUMBER + 1:
        raise DamageError("a difference leads nowhere")
    try:
        after = (value or 0) + int(step)
        if len(before) > _LONGEST_NUMBER:
            return _instant(after)
    except (ValueError, OverflowError) as error:
        raise DamageError("a difference leads nowhere") from error
    if value is None or after < 0:
        raise DamageError("a difference leads nowhere")
    return b"%d" % after


def _value(number: bytes) -> int | None:
    """Return the value of a number that is written as it would be, else None.

    An instant counts microseconds.
    """
    if len(number) <= _LONGEST_NUMBER:
        return None if number.startswith(b"0") and len(number) > 1 else int(number)
    if number[_HOUR] == _NO_HOUR:
        return None  # Python 3.13 and later take it for the next day's midnight.
    try:
        at = datetime.fromisoformat(number.decode("ascii"))
    except ValueError:
        return None
    return (at - _EPOCH) // _MICROSECOND


def _instant(microseconds: int) -> bytes:
    at = _EPOCH + microseconds * _MICROSECOND
    return f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}Z".encode()
