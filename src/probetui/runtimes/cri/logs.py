"""What containers print, as CRI runtimes write it to files.

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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from probetui.kubelet.termination_message import MAX_LOG_LINES, end_of_log
from probetui.ports import LogLine
from probetui.untrusted_files import DirectoryRoot

BLOCK_BYTES = 64 * 1024
READ_BYTES = 1024 * 1024
"""So much is read at once of what is new, before anything else has its turn."""

TAIL_BYTES = 10 * 1024 * 1024
"""Of what is old, the end is looked at, which is as much as a log may hold."""

LONGEST_LINE_BYTES = 64 * 1024
"""A longer line of a container is told in several."""

POLL_SECONDS = 0.1
POLLS_PER_LOOK = 5
"""How many times a file is read before the runtime is asked whether more can come."""

_FIELDS = 4
_PARTIAL = b"P"
_STDERR = b"stderr"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log file; `is_whole` says that the container's line ends here."""

    at: datetime | None
    text: bytes
    is_stderr: bool
    is_whole: bool


def parse_entry(line: bytes) -> Entry | None:
    """Read one line of a log file, its end cut off; None if it is none."""
    fields = line.split(b" ", _FIELDS - 1)
    if len(fields) == _FIELDS - 1:
        fields.append(b"")
    if len(fields) != _FIELDS:
        return None
    at, stream, tags, text = fields
    is_whole = tags.split(b":")[0] != _PARTIAL
    return Entry(
        _instant(at.decode("ascii", "replace")), text, stream == _STDERR, is_whole
    )


class Lines:
    """Puts the lines of a container together from those of its log file.

    A container may never end its line: what has become too long is told as it is.
    """

    def __init__(self) -> None:
        self._begun: dict[bool, Entry] = {}

    def feed(self, line: bytes) -> LogLine | None:
        """Take a line of the file; return a line of the container if it is whole."""
        entry = parse_entry(line)
        if entry is None:
            return None
        begun = self._begun.pop(entry.is_stderr, None)
        if begun is not None:
            entry = Entry(
                begun.at, begun.text + entry.text, entry.is_stderr, entry.is_whole
            )
        if entry.is_whole or len(entry.text) >= LONGEST_LINE_BYTES:
            return _line(entry)
        self._begun[entry.is_stderr] = entry
        return None

    def rest(self) -> Iterator[LogLine]:
        """Yield what was printed without an end of its line."""
        yield from map(_line, self._begun.values())
        self._begun.clear()


def last_output(path: str) -> bytes:
    """Return the end of what a container printed, empty if that is not known.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10,
    readLastStringFromContainerLogs.
    """
    try:
        with _open_log(path) as file:
            lines, _ = _tail(file, MAX_LOG_LINES)
    except OSError:
        return b""
    entries = filter(None, map(parse_entry, lines))
    return end_of_log([each.text + b"\n" * each.is_whole for each in entries])


async def follow(
    path: str, *, tail: int, has_ended: Callable[[], Awaitable[bool]] | None
) -> AsyncGenerator[LogLine]:
    """Yield the last `tail` lines, then those to come until the container has ended.

    With `has_ended` None it does not wait for more. A container that was not started
    yet has no file. Raises `OSError` for a file that cannot be read.
    """
    file = await _open(path, has_ended)
    if file is None:
        return
    with contextlib.closing(_Reader(path, file)) as reader:
        lines = Lines()
        last, rest = _tail_of_container(file, tail)
        for line in last:
            if (whole := lines.feed(line)) is not None:
                yield whole
        is_over = has_ended is None
        polls = 0
        while not is_over:
            polls += 1
            # Asked before reading: what was printed before the end is in the file then.
            is_over = polls % POLLS_PER_LOOK == 1 and await _answer(has_ended)
            while fresh := reader.read():
                *ended, rest = _split(rest + fresh)
                for line in ended:
                    if (whole := lines.feed(line)) is not None:
                        yield whole
                await asyncio.sleep(0)
            if not is_over:
                await asyncio.sleep(POLL_SECONDS)
        for each in lines.rest():
            yield each


class _Reader:
    """Reads on in a log file, and in the one that takes its place."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self._path = path
        self._file = file

    def read(self) -> bytes:
        """Return what was written since, or the first part of it."""
        if fresh := self._file.read(READ_BYTES):
            return fresh
        if self._is_current() or (successor := _open_if_there(self._path)) is None:
            return b""
        # What was written to the old one before its name went.
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
    """Open a log file, or wait for it; None if there will not be one."""
    while True:
        is_over = await _answer(has_ended)
        if (file := _open_if_there(path)) is not None or is_over:
            return file
        await asyncio.sleep(POLL_SECONDS)


def _open_if_there(path: str) -> BinaryIO | None:
    try:
        return _open_log(path)
    except FileNotFoundError:
        return None


def _open_log(path: str) -> BinaryIO:
    """Open a regular file, whatever the runtime says where a log is."""
    file = Path(path)
    return os.fdopen(DirectoryRoot(file.parent).open_file(file.name), "rb")


async def _answer(has_ended: Callable[[], Awaitable[bool]] | None) -> bool:
    return True if has_ended is None else await has_ended()


def _tail_of_container(file: BinaryIO, count: int) -> tuple[list[bytes], bytes]:
    """Return those lines of a file that make up the last ones of the container.

    The second value is a line that is being written. Long lines of a container are
    several in the file, so that enough of these are looked at.
    """
    wanted = count
    while True:
        lines, rest = _tail(file, wanted)
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


def _tail(file: BinaryIO, count: int) -> tuple[list[bytes], bytes]:
    """Return the last lines of a file, and what is behind its last line end.

    Afterwards the file goes on where this ended.
    """
    end = start = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []
    found = 0
    while start > 0 and found <= count and end - start < TAIL_BYTES:
        size = min(BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        # What was written meanwhile is read later.
        block = file.read(size)
        blocks.append(block)
        found += block.count(b"\n")
    file.seek(end)
    *lines, rest = _split(b"".join(reversed(blocks)))
    if start > 0 and lines:
        del lines[0]
    return lines[max(0, len(lines) - count) :], rest


def _split(text: bytes) -> list[bytes]:
    """Return the lines of some bytes; the last one goes on, unless it is too long."""
    lines = text.split(b"\n")
    return [*lines, b""] if len(lines[-1]) > 2 * LONGEST_LINE_BYTES else lines


def _line(entry: Entry) -> LogLine:
    text = entry.text.decode("utf-8", "surrogateescape").removesuffix("\r")
    return LogLine(entry.at, text, entry.is_stderr)


def _instant(text: str) -> datetime | None:
    """Return an instant in microseconds; what is finer is cut off."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.tzinfo is None else at.astimezone(UTC)
