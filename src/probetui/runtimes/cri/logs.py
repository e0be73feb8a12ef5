"""Read container logs in the format of CRI runtimes.

    2016-10-06T00:17:09.669794202Z stdout F a line
    2016-10-06T00:17:09.669794203Z stderr P the beginning of a longer one

Source: pkg/kubelet/kuberuntime/logs, cri-client/pkg/logs/logs.go, v1.32.10,
parseCRILog, ReadLogs.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import os
import zlib
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import LogLine
from probetui.kubelet.kuberuntime.termination_message import MAX_LOG_LINES, end_of_log
from probetui.runtimes.cri.log_rotation import list_rotated
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

_COMPRESSED, _HALF_COMPRESSED = ".gz", ".tmp"
"""The ends of names that a kubelet gives.

Source: pkg/kubelet/logs/container_log_manager.go, v1.32.10, compressLog.
"""

_HEAD_BYTES = 64
"""How much of the beginning of a file is compared."""

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
    container that has not started.

    Raises:
        OSError: a file cannot be read.
        ContainerRuntimeError: the end of the log was lost.
    """
    if (opened := await _open(path, has_ended)) is None:
        return
    with contextlib.closing(_LogReader(path, *opened)) as reader:
        for line in reader.read_tail(tail):
            yield line
        is_over = has_ended is None
        polls = 0
        while not is_over:
            polls += 1
            # Asked before reading: then all output is in the file.
            is_over = polls % POLLS_PER_STATUS == 1 and await _is_over(has_ended)
            while (lines := reader.read(is_last=is_over)) is not None:
                for line in lines:
                    yield line
                await asyncio.sleep(0)
            if not is_over:
                await asyncio.sleep(POLL_SECONDS)
        for line in reader.rest():
            yield line


class _LogReader:
    """Reads a log that grows, is rotated, and may be emptied in place.

    A kubelet sets a log aside by another name, and compresses it when the next one is.
    So whoever opens a log knows the names of the older ones, and reads those that have
    come since, when the log is another file.
    """

    def __init__(self, path: str, file: BinaryIO, aside: Mapping[str, Path]) -> None:
        self._path = path
        self._opened = file
        self._file: BinaryIO | _CompressedLog = file
        self._aside = aside
        self._head = b""
        self._to_read: deque[BinaryIO | _CompressedLog] = deque()
        self._is_left = False
        self._rest = b""
        self._joiner = LineJoiner()
        self._is_after_gap = False

    def read_tail(self, count: int) -> list[LogLine]:
        """Read the last lines, all that is written up to now.

        Difference: a kubelet reads them in the newest file alone.
        """
        self._look_at_head()
        # One more: the first of them may begin in the file before.
        last, self._rest = _tail_of_container(self._opened, count + 1)
        size = sum(map(len, last))
        for stem in sorted(self._aside, reverse=True):
            missing = count + 1 - len(_find_whole(last))
            if missing <= 0 or size > TAIL_BYTES:
                break
            if (file := _open_set_aside(self._aside[stem])) is None:
                break
            with file, contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile):
                before, torn = _tail_of_container(_seekable(file), missing)
                last[:0] = [*before, torn] if torn else before
                size += sum(map(len, before))
        whole = _find_whole(last)
        return self._join(last[whole[-count - 1] + 1 :] if len(whole) > count else last)

    def read(self, *, is_last: bool) -> list[LogLine] | None:
        """Read on, at most 1 MiB; None if there is nothing new.

        Args:
            is_last: the container has ended.
        """
        try:
            fresh = self._file.read(READ_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile):  # a compressed one
            return self._lose() + self._end_file()
        if self._was_emptied():
            self._file.seek(0)
            self._head = b""
            return self._lose()
        if fresh:
            return self._take(fresh)
        if self._to_read:
            return self._end_file()
        if _is_at(self._path, self._file):
            self._is_left = False
            return None
        if not (self._is_left or is_last):
            # A runtime opens the new file before it closes the old one.
            self._is_left = True
            return None
        # What was written to the old file before it was renamed.
        if fresh := self._file.read(READ_BYTES):
            return self._take(fresh)
        return self._go_on()

    def rest(self) -> list[LogLine]:
        """Return the output after the last line end of each stream."""
        lines = self._marked(self._joiner.rest())
        if self._is_after_gap:
            raise ContainerRuntimeError(
                "what was printed last may be lost: the log was rotated or emptied"
            )
        return lines

    def close(self) -> None:
        for file in (self._file, *self._to_read):
            file.close()

    def _go_on(self) -> list[LogLine] | None:
        """Go on with the next file of a log that was rotated."""
        opened = _open_latest(self._path)
        if opened is None:
            return None
        latest, aside = opened
        later = [aside[stem] for stem in sorted(aside.keys() - self._aside)]
        own = next((path for path in later if self._is_own(path)), None)
        is_whole = own is not None or not later
        for path in later:
            if path == own:
                continue
            if (file := _open_set_aside(path)) is None:
                is_whole = False
            else:
                self._to_read.append(file)
        self._to_read.append(latest)
        self._aside = aside
        self._is_left = False
        lost = [] if is_whole else self._lose()
        return lost + self._end_file()

    def _end_file(self) -> list[LogLine]:
        """Begin the next file; a line without an end has none."""
        torn, self._rest = self._rest, b""
        self._file.close()
        self._file = self._to_read.popleft()
        self._head = b""
        return self._join([torn] if torn else [])

    def _is_own(self, path: Path) -> bool:
        """Return whether a file that was set aside is the one that is read."""
        if (file := _open_set_aside(path)) is None:
            return False
        with file:
            if not isinstance(file, _CompressedLog):
                return os.path.samestat(
                    os.fstat(file.fileno()), os.fstat(self._file.fileno())
                )
            with contextlib.suppress(OSError, EOFError, zlib.error):
                return bool(self._head) and file.read(len(self._head)) == self._head
        return False

    def _was_emptied(self) -> bool:
        """Return whether the file is shorter, or has begun anew."""
        if isinstance(self._file, _CompressedLog):
            return False
        is_shorter = os.fstat(self._file.fileno()).st_size < self._file.tell()
        return not self._look_at_head() or is_shorter

    def _look_at_head(self) -> bool:
        """Return whether the file begins as before: with its instant it is unique."""
        if isinstance(self._file, _CompressedLog):
            return True
        before = self._head
        self._head = os.pread(self._file.fileno(), _HEAD_BYTES, 0)
        return self._head.startswith(before)

    def _take(self, fresh: bytes) -> list[LogLine]:
        *ended, self._rest = _split(self._rest + fresh)
        return self._join(ended)

    def _lose(self) -> list[LogLine]:
        """Return what has begun; lines may be missing after it.

        What has been removed has no name any more: whether it was read is not known.
        """
        torn, self._rest = self._rest, b""
        lines = self._join([torn] if torn else [])
        lines += self._marked(self._joiner.rest())
        self._is_after_gap = True
        return lines

    def _join(self, entries: Iterable[bytes]) -> list[LogLine]:
        return self._marked(filter(None, map(self._joiner.feed, entries)))

    def _marked(self, whole: Iterable[LogLine]) -> list[LogLine]:
        lines = list(whole)
        if lines and self._is_after_gap:
            lines[0] = replace(lines[0], is_after_gap=True)
            self._is_after_gap = False
        return lines


class _CompressedLog(gzip.GzipFile):
    """A log that a kubelet has compressed."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._compressed = file

    def close(self) -> None:
        super().close()
        self._compressed.close()


async def _open(
    path: str, has_ended: Callable[[], Awaitable[bool]] | None
) -> tuple[BinaryIO, dict[str, Path]] | None:
    """Open a log, waiting for it; None if the container ends without one."""
    while True:
        is_over = await _is_over(has_ended)
        if (opened := _open_latest(path)) is not None or is_over:
            return opened
        await asyncio.sleep(POLL_SECONDS)


def _open_latest(path: str) -> tuple[BinaryIO, dict[str, Path]] | None:
    """Open a log; the second value is what had been set aside, by the name it got."""
    while True:
        try:
            file = _open_log(path)
        except FileNotFoundError:
            return None
        aside = _list_set_aside(Path(path))
        if _is_at(path, file):
            return file, aside
        file.close()


def _is_at(path: str, file: BinaryIO | _CompressedLog) -> bool:
    """Return whether a path is that of an open file, or of none."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))  # noqa: PTH116  # to compare
    except FileNotFoundError:
        return True


def _list_set_aside(path: Path) -> dict[str, Path]:
    aside: dict[str, Path] = {}
    for file in sorted(list_rotated(path)):
        # One that is being compressed is there twice.
        if file.suffix != _HALF_COMPRESSED:
            aside.setdefault(file.name.removesuffix(_COMPRESSED), file)
    return aside


def _open_set_aside(path: Path) -> BinaryIO | _CompressedLog | None:
    """Open a log that was set aside, which may be compressed or removed meanwhile."""
    names = (
        [path] if path.suffix == _COMPRESSED else [path, Path(f"{path}{_COMPRESSED}")]
    )
    for name in names:
        try:
            file = _open_log(str(name))
        except FileNotFoundError:
            continue
        return _CompressedLog(file) if name.suffix == _COMPRESSED else file
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
        whole = _find_whole(lines)
        if len(whole) > count:
            return lines[whole[-count - 1] + 1 :], rest
        if len(lines) < wanted:
            return lines, rest
        wanted = 2 * wanted + 1


def _find_whole(lines: Iterable[bytes]) -> list[int]:
    """Return the places of the lines at which a line of output ends."""
    entries = enumerate(map(parse_entry, lines))
    return [place for place, entry in entries if entry is None or entry.is_whole]


def _seekable(file: BinaryIO | _CompressedLog) -> BinaryIO:
    """Return a file, or the end of what is compressed in it."""
    if not isinstance(file, _CompressedLog):
        return file
    end = b""
    while block := file.read(READ_BYTES):
        end = (end + block)[-TAIL_BYTES:]
    return io.BytesIO(end)


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
