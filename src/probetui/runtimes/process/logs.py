"""What containers print: one file each, bounded, read from its end."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path

from probetui.ports import Clock, LogLine
from probetui.untrusted_files import DirectoryRoot

MAX_FILE_BYTES = 10 * 1024 * 1024
BLOCK_BYTES = 64 * 1024
UNREAD_BYTES = 1024 * 1024
"""So much is read of a log that was moved away before it was read to its end."""

MAX_LINE_BYTES = 16 * 1024
"""A longer line comes in parts, as from container runtimes."""

POLL = timedelta(milliseconds=100)
MESSAGE_LINES = 80
MESSAGE_BYTES = 2048
LOG_MODE = 0o600


def open_log(path: Path) -> int:
    """Open a log to be written at its end, also after it was made shorter."""
    return _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _open(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a log, which the container may have put something else in place of."""
    return DirectoryRoot(path.parent).open_file(path.name, flags, LOG_MODE)


def is_too_long(path: Path) -> bool:
    """Tell whether a log is to be rotated.

    One that cannot be looked at is left: it was removed, or its container has put
    something else in place of its folder.
    """
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > MAX_FILE_BYTES


def rotate(path: Path, most_bytes: int | None = None) -> None:
    """Move the end of a log to `<name>.1`, if it has become too long.

    The container goes on writing to the same file; a line that it prints just now
    may be lost. However fast it prints, no more than `most_bytes` are copied; None is
    what a log may hold. What a container has put in place of its log is left as it is.
    """
    if not is_too_long(path):
        return
    try:
        _copy_end(
            path, _rotated(path), path.lstat().st_size, most_bytes or MAX_FILE_BYTES
        )
        with os.fdopen(_open(path, os.O_WRONLY), "wb") as file:
            file.truncate(0)
    except FileNotFoundError:  # it has just been removed
        return


def _copy_end(path: Path, to: Path, size: int, most_bytes: int) -> None:
    """Copy what stands before `size` to the same place of another file.

    So that places in it stay what they were; before it is a hole, which takes no room.
    """
    left = min(size, most_bytes)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with (
        os.fdopen(_open(path), "rb") as source,
        os.fdopen(_open(to, flags), "wb") as target,
    ):
        source.seek(size - left)
        target.seek(size - left)
        while left and (block := source.read(min(left, BLOCK_BYTES))):
            target.write(block)
            left -= len(block)


def last_message(path: Path) -> bytes:
    """Return the end of a log, as the kubelet makes a termination message from it.

    Source: kuberuntime_container.go, v1.32.10, readLastStringFromContainerLogs.
    """
    try:
        lines, _, rest = _tail(path, MESSAGE_LINES)
    except OSError as error:
        reason = error.strerror or error
        return f"Error on reading termination message from logs: {reason}".encode()
    text = b"".join(line + b"\n" for line in lines) + rest
    return text[-MESSAGE_BYTES:]


async def follow(
    path: Path, *, tail: int, has_ended: Callable[[], bool] | None, clock: Clock
) -> AsyncGenerator[LogLine]:
    """Yield the last `tail` lines, then those to come until the container has ended.

    With `has_ended` None it does not wait for more. Processes do not say when they
    printed a line, nor, in one file, to which stream.
    """
    lines, offset, rest = _tail(path, tail)
    for line in lines:
        yield _line(line)
    is_done = has_ended is None
    while not is_done:
        # Asked before reading: what was printed before the end is in the file then.
        is_over = has_ended is None or has_ended()
        before = offset
        lines, offset, rest = _read_on(path, offset, rest)
        for line in lines:
            yield _line(line)
        is_done = is_over and offset == before
        if offset == before and not is_done:
            await clock.sleep_until(clock.now() + POLL)
    if rest and (tail or has_ended):
        yield _line(rest)


def _line(line: bytes) -> LogLine:
    return LogLine(None, line.decode("utf-8", "surrogateescape"))


def _rotated(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def _tail(path: Path, count: int) -> tuple[list[bytes], int, bytes]:
    """Return the last lines, where the file ends, and the last line if unfinished."""
    text, end = _last_bytes(path, count)
    if text.count(b"\n") < count:
        text = _last_bytes(_rotated(path), count)[0] + text
    lines, rest = _split(text)
    first = max(0, len(lines) + bool(rest) - count)
    return lines[first:], end, rest


def _last_bytes(path: Path, lines: int) -> tuple[bytes, int]:
    """Return enough of a file's end to hold that many lines, and where it ends.

    A long line is several. No more than a log may hold: one that was moved away has a
    hole before that.
    """
    if not path.exists():
        return b"", 0
    blocks: list[bytes] = []
    found = 0
    with os.fdopen(_open(path), "rb") as file:
        end = start = file.seek(0, os.SEEK_END)
        first = max(end - MAX_FILE_BYTES, 0)
        while start > first and found <= lines:
            size = min(BLOCK_BYTES, start - first)
            start -= size
            file.seek(start)
            block = file.read(size)
            blocks.append(block)
            found += max(block.count(b"\n"), size // MAX_LINE_BYTES)
    return b"".join(reversed(blocks)), end


def _read_on(path: Path, offset: int, rest: bytes) -> tuple[list[bytes], int, bytes]:
    """Return whole lines after `offset`, the offset behind them, what is unfinished."""
    if not path.exists():  # not started yet, or removed
        return [], offset, rest
    text = rest
    with os.fdopen(_open(path), "rb") as file:
        if file.seek(0, os.SEEK_END) < offset:  # rotated since
            text += _rest_of_rotated(path, offset)
            offset = 0
        file.seek(offset)
        fresh = file.read(BLOCK_BYTES)
    lines, rest = _split(text + fresh)
    return lines, offset + len(fresh), rest


def _rest_of_rotated(path: Path, offset: int) -> bytes:
    """Return what was not read yet when a log was moved away, but not too much."""
    with os.fdopen(_open(_rotated(path)), "rb") as rotated:
        end = rotated.seek(0, os.SEEK_END)
        rotated.seek(max(offset, end - UNREAD_BYTES))
        return rotated.read()


def _split(text: bytes) -> tuple[list[bytes], bytes]:
    """Return whole lines, long ones in parts, and what is unfinished."""
    parts = [
        line[start : start + MAX_LINE_BYTES]
        for line in text.split(b"\n")
        for start in range(0, max(1, len(line)), MAX_LINE_BYTES)
    ]
    return parts[:-1], parts[-1]
