"""Read container logs in the format of CRI runtimes.

    2016-10-06T00:17:09.669794202Z stdout F a line
    2016-10-06T00:17:09.669794203Z stderr P the beginning of a longer one

Source: pkg/kubelet/kuberuntime/logs, cri-client/pkg/logs/logs.go, v1.32.10,
parseCRILog, ReadLogs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from probetui.k8s.runtime import LogLine
from probetui.kubelet.kuberuntime.termination_message import MAX_LOG_LINES, end_of_log
from probetui.untrusted_files import DirectoryRoot

BLOCK_BYTES = 64 * 1024
READ_BYTES = 1024 * 1024
"""How much new output is read before other tasks run."""

TAIL_BYTES = 10 * 1024 * 1024
"""How much of the end of a log is read for its last lines; a log has no more."""

LONGEST_LINE_BYTES = 64 * 1024
"""A longer line of output is split."""

_LONGEST_LINE_IN_FILE = 2 * LONGEST_LINE_BYTES
"""A line of output with what the runtime writes before each part of it."""

POLL_SECONDS = 0.1
POLLS_PER_STATUS = 5
"""How many reads of a file come between two questions whether the container runs."""

_FIELDS = 4
_PARTIAL = b"P"
_STDERR = b"stderr"


class LogEntry(Struct, frozen=True):
    """One line of a log file; `is_whole` is False for a partial line (tag P)."""

    at: datetime | None
    text: bytes
    is_stderr: bool
    is_whole: bool


def parse_entry(line: bytes) -> LogEntry | None:
    """Parse a line of a log file without its line end, None if it is malformed."""
    fields = line.split(b" ", _FIELDS - 1)
    if len(fields) == _FIELDS - 1:
        fields.append(b"")
    if len(fields) != _FIELDS:
        return None
    at, stream, tags, text = fields
    is_whole = tags.split(b":")[0] != _PARTIAL
    return LogEntry(
        _instant(at.decode("ascii", "replace")), text, stream == _STDERR, is_whole
    )


class LineJoiner:
    """Joins the partial lines of a log file into lines of output.

    A line that gets too long is split.
    """

    def __init__(self) -> None:
        self._begun: dict[bool, LogEntry] = {}

    def feed(self, line: bytes) -> LogLine | None:
        """Add a line of the file; return the line of output it completes, if any."""
        entry = parse_entry(line)
        if entry is None:
            return None
        begun = self._begun.pop(entry.is_stderr, None)
        if begun is not None:
            entry = LogEntry(
                begun.at, begun.text + entry.text, entry.is_stderr, entry.is_whole
            )
        if entry.is_whole or len(entry.text) >= LONGEST_LINE_BYTES:
            return _line(entry)
        self._begun[entry.is_stderr] = entry
        return None

    def rest(self) -> Iterator[LogLine]:
        """Yield the output after the last line end of each stream."""
        yield from map(_line, self._begun.values())
        self._begun.clear()


def read_last_output(path: str) -> bytes:
    """Return the end of a container's output, empty if it cannot be read.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10,
    readLastStringFromContainerLogs.
    """
    try:
        with _open_log(path) as file:
            lines, _ = _tail(file, MAX_LOG_LINES)
    except OSError:
        return b""
    entries = filter(None, map(parse_entry, lines))
    return end_of_log([entry.text + b"\n" * entry.is_whole for entry in entries])


async def follow_log(
    path: str, *, tail: int, has_ended: Callable[[], Awaitable[bool]] | None
) -> AsyncGenerator[LogLine]:
    """Yield the last `tail` lines, then new ones until the container has ended.

    With `has_ended` None it stops after the last lines. Waits for the file of a
    container that has not started. Raises `OSError` for a file that cannot be read.
    """
    file = await _open(path, has_ended)
    if file is None:
        return
    with contextlib.closing(_LogReader(path, file)) as reader:
        lines = LineJoiner()
        last, rest = _tail_of_container(file, tail)
        for line in last:
            if (whole := lines.feed(line)) is not None:
                yield whole
        is_over = has_ended is None
        polls = 0
        while not is_over:
            polls += 1
            # Asked before reading: then all output is in the file.
            is_over = polls % POLLS_PER_STATUS == 1 and await _is_over(has_ended)
            while fresh := reader.read():
                *ended, rest = _split(rest + fresh)
                for line in ended:
                    if (whole := lines.feed(line)) is not None:
                        yield whole
                await asyncio.sleep(0)
            if not is_over:
                await asyncio.sleep(POLL_SECONDS)
        for log_line in lines.rest():
            yield log_line


class _LogReader:
    """Reads a log file that grows and is rotated."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path = path
        self._file = file

    def read(self) -> bytes:
        """Return new output, at most 1 MiB."""
        if fresh := self._file.read(READ_BYTES):
            return fresh
        if self._is_current() or (successor := _open_if_there(self._path)) is None:
            return b""
        # What was written to the old file before it was renamed.
        if fresh := self._file.read(READ_BYTES):
            successor.close()
            return fresh
        self._file.close()
        self._file = successor
        return successor.read(READ_BYTES)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))  # noqa: PTH116  # to compare
        except FileNotFoundError:
            return True

    def close(self) -> None:
        self._file.close()


async def _open(
    path: str, has_ended: Callable[[], Awaitable[bool]] | None
) -> BinaryIO | None:
    """Open a log file, waiting for it; None if the container ends without one."""
    while True:
        is_over = await _is_over(has_ended)
        if (file := _open_if_there(path)) is not None or is_over:
            return file
        await asyncio.sleep(POLL_SECONDS)


def _open_if_there(path: str) -> BinaryIO | None:
    try:
        return _open_log(path)
    except FileNotFoundError:
        return None


def _open_log(path: str) -> BinaryIO:
    """Open a regular file; the path comes from the runtime."""
    file = Path(path)
    return os.fdopen(DirectoryRoot(file.parent).open_file(file.name), "rb")


async def _is_over(has_ended: Callable[[], Awaitable[bool]] | None) -> bool:
    return True if has_ended is None else await has_ended()


def _tail_of_container(file: BinaryIO, count: int) -> tuple[list[bytes], bytes]:
    """Return the lines of a file that make up the last `count` lines of output.

    The second value is a line that is still being written. A long line of output has
    several lines in the file; one that is split when it is shown counts as several.
    """
    wanted = count
    most_bytes = (count + 1) * _LONGEST_LINE_IN_FILE
    while True:
        lines, rest = _tail(file, wanted, most_bytes)
        whole = [
            index
            for index, line in enumerate(lines)
            if (entry := parse_entry(line)) is None or entry.is_whole
        ]
        if len(whole) > count:
            return lines[whole[-count - 1] + 1 :], rest
        if len(lines) < wanted:
            return lines, rest
        wanted = 2 * wanted + 1


def _tail(
    file: BinaryIO, count: int, most_bytes: int = TAIL_BYTES
) -> tuple[list[bytes], bytes]:
    """Return the last lines of a file, and what follows the last line end.

    Reads hardly more than `most_bytes`, and never more than a log has. Leaves the file
    position at the end of what was read.
    """
    end = start = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []
    line_ends = 0
    most_bytes = min(most_bytes, TAIL_BYTES)
    while start > 0 and line_ends <= count and end - start < most_bytes:
        size = min(BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        # What is written meanwhile is read later.
        block = file.read(size)
        blocks.append(block)
        line_ends += block.count(b"\n")
    file.seek(end)
    *lines, rest = _split(b"".join(reversed(blocks)))
    if start > 0 and lines:
        del lines[0]
    return lines[max(0, len(lines) - count) :], rest


def _split(text: bytes) -> list[bytes]:
    """Split bytes into lines; the last is incomplete, unless it is too long."""
    lines = text.split(b"\n")
    return [*lines, b""] if len(lines[-1]) > 2 * LONGEST_LINE_BYTES else lines


def _line(entry: LogEntry) -> LogLine:
    text = entry.text.decode("utf-8", "surrogateescape").removesuffix("\r")
    return LogLine(entry.at, text, entry.is_stderr)


def _instant(text: str) -> datetime | None:
    """Parse an instant of RFC 3339; digits below microseconds are dropped."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else at.astimezone(UTC)
