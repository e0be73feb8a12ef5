"""Logs of containers: one file each, followed, and limited by polling its size.

Processes write to their logs themselves, so that they go on without probetui; nothing
limits what they write between two polls. The kubelet polls every ten seconds, in which
a process writes ten gigabytes. So a log is not moved away, nor emptied, but its
beginning is freed: who reads it sees by its own position what it has missed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from probetui.k8s.runtime import LogLine
from probetui.ports import Clock
from probetui.untrusted_files import DirectoryRoot

MAX_FILE_BYTES = 10 * 1024 * 1024
"""How much of the end of a log is kept; its file takes at most twice as much space."""

LONGEST_FILE_BYTES = 4 * 1024**4
"""A longer log is emptied, before its file system lets it grow no more."""

BLOCK_BYTES = 64 * 1024

MAX_LINE_BYTES = 16 * 1024
"""Longer lines are split, as container runtimes do."""

SEEN_BYTES = 256
"""How much of what was read last is compared, to notice that a log was emptied."""

POLL = timedelta(milliseconds=100)
MESSAGE_LINES = 80
MESSAGE_BYTES = 2048
LOG_MODE = 0o600

ROTATION_POLL_SECONDS = 0.1
FAST_POLL_SECONDS = 0.02
"""The interval of polling sizes, and the one after a log was too long."""

_UNIT_BYTES = 512
"""The unit of `st_blocks`."""

_KEEP_SIZE, _PUNCH_HOLE = 1, 2
"""Of linux/falloc.h."""

log = logging.getLogger(__name__)


def open_log(path: Path) -> int:
    """Open a log for appending, which also works after it was truncated."""
    return _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _open(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a log; the container may have replaced it by something else."""
    return DirectoryRoot(path.parent).open_file(path.name, flags, LOG_MODE)


def is_too_long(path: Path) -> bool:
    """Return whether a log takes too much space.

    False for one without a stat: it was removed, or its container has replaced its
    folder by something else.
    """
    try:
        status = path.lstat()
    except OSError:
        return False
    takes = status.st_blocks * _UNIT_BYTES
    return stat.S_ISREG(status.st_mode) and takes > 2 * MAX_FILE_BYTES


def free_space(path: Path) -> None:
    """Free the space of all but the end of a log, if it takes too much.

    The container goes on writing to the same file. In place of its beginning is a hole,
    which takes no space: positions stay valid, and nothing that is written meanwhile is
    lost. Where that cannot be, as on other systems than Linux, the log is emptied. If
    the container has replaced its log by something else, nothing is done.
    """
    if not is_too_long(path):
        return
    try:
        with os.fdopen(_open(path, os.O_WRONLY), "wb") as file:
            status = os.fstat(file.fileno())
            end = status.st_size - MAX_FILE_BYTES
            # Of half a block nothing is freed.
            end -= end % status.st_blksize
            if end > LONGEST_FILE_BYTES or not _punch_hole(file.fileno(), end):
                file.truncate(0)
    except FileNotFoundError:  # it has just been removed
        return


def _punch_hole(file: int, end: int) -> bool:
    """Free the space before an offset of a file; False if that cannot be."""
    # Late: few logs get so long.
    import ctypes  # noqa: PLC0415

    fallocate = getattr(ctypes.CDLL(None), "fallocate64", None)
    if fallocate is None:
        return False
    fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    failure: int = fallocate(file, _KEEP_SIZE | _PUNCH_HOLE, 0, end)
    return not failure


def last_message(path: Path) -> bytes:
    """Return the end of a log as a termination message.

    Source: kuberuntime_container.go, v1.32.10, readLastStringFromContainerLogs.
    """
    try:
        lines, _, rest, _ = _tail(path, MESSAGE_LINES)
    except OSError as error:
        reason = error.strerror or error
        return f"Error on reading termination message from logs: {reason}".encode()
    text = b"".join(line + b"\n" for line in lines) + rest
    return text[-MESSAGE_BYTES:]


async def follow(
    path: Path, *, tail: int, has_ended: Callable[[], bool] | None, clock: Clock
) -> AsyncGenerator[LogLine]:
    """Yield the last `tail` lines, then new ones until the container has ended.

    If `has_ended` is None, new ones are not awaited. Lines have neither a timestamp
    nor a stream, as processes write them to one file.

    Raises:
        OSError: the log cannot be read, or its end was lost.
    """
    reader = _OutputReader(path)
    for line in reader.read_tail(tail):
        yield line
    is_done = has_ended is None
    while not is_done:
        # Checked before reading, so that everything printed before the end is read.
        is_over = has_ended is None or has_ended()
        fresh = reader.read_on()
        for line in fresh or ():
            yield line
        is_done = is_over and fresh is None
        if fresh is None and not is_done:
            await clock.sleep_until(clock.now() + POLL)
    if tail or has_ended:
        for line in reader.rest():
            yield line


class _OutputReader:
    """Reads a log that grows, whose beginning is freed, and which may be emptied."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._seen = b""  # what stands before the offset
        self._rest = b""
        self._is_after_gap = False

    def read_tail(self, count: int) -> list[LogLine]:
        """Read the last lines, all that is written up to now."""
        lines, self._offset, self._rest, self._seen = _tail(self._path, count)
        return self._lines(lines)

    def read_on(self) -> list[LogLine] | None:
        """Read on; None if nothing was written."""
        if not self._path.exists():  # not started yet, or removed
            return None
        with os.fdopen(_open(self._path), "rb") as file:
            begins, fresh = _read_at(file.fileno(), self._offset)
            is_emptied = not self._goes_on(file.fileno())
            if is_emptied:
                begins, fresh = _read_at(file.fileno(), 0)
        has_jumped = begins > (0 if is_emptied else self._offset)
        lines = self._lose() if is_emptied or has_jumped else []
        self._offset = begins + len(fresh)
        self._seen = ((b"" if is_emptied else self._seen) + fresh)[-SEEN_BYTES:]
        if has_jumped:
            # A line of which only the end is left.
            _, end, after = fresh.partition(b"\n")
            fresh = after if end else fresh.lstrip(b"\0")
        if not fresh:
            return lines or None
        ended, self._rest = _split(self._rest + fresh)
        return lines + self._lines(ended)

    def rest(self) -> list[LogLine]:
        """Return the unfinished line at the end of the log."""
        rest, self._rest = self._rest, b""
        if self._is_after_gap and not rest:
            raise OSError("what was printed last may be lost: the log was emptied")
        return self._lines([rest] if rest else [])

    def _goes_on(self, file: int) -> bool:
        """Return whether what was read still stands where it was, or was freed."""
        begins = self._offset - len(self._seen)
        before = os.pread(file, len(self._seen), begins)
        return len(before) == len(self._seen) and self._seen.endswith(
            before.lstrip(b"\0")
        )

    def _lose(self) -> list[LogLine]:
        """Return the line that is not read to its end; after it some may be missing."""
        begun = self.rest() if self._rest else []
        self._is_after_gap = True
        return begun

    def _lines(self, texts: Iterable[bytes]) -> list[LogLine]:
        decoded = (text.decode("utf-8", "surrogateescape") for text in texts)
        lines = [LogLine(None, text) for text in decoded]
        if lines and self._is_after_gap:
            lines[0] = replace(lines[0], is_after_gap=True)
            self._is_after_gap = False
        return lines


def _tail(path: Path, count: int) -> tuple[list[bytes], int, bytes, bytes]:
    """Return the last lines, the file's size, its last line if unfinished, its end."""
    text, end = _last_bytes(path, count)
    lines, rest = _split(text)
    first = max(0, len(lines) + bool(rest) - count)
    return lines[first:], end, rest, text[-SEEN_BYTES:]


def _last_bytes(path: Path, lines: int) -> tuple[bytes, int]:
    """Return enough of a file's end for that many lines, and its size.

    A long line counts as several. At most as much as is kept of a log.
    """
    if not path.exists():
        return b"", 0
    blocks: list[bytes] = []
    line_ends = 0
    with os.fdopen(_open(path), "rb") as file:
        end = start = file.seek(0, os.SEEK_END)
        first = max(end - MAX_FILE_BYTES, 0)
        while start > first and line_ends <= lines:
            size = min(BLOCK_BYTES, start - first)
            start -= size
            file.seek(start)
            block = file.read(size)
            blocks.append(block)
            line_ends += max(block.count(b"\n"), size // MAX_LINE_BYTES)
    text = b"".join(reversed(blocks))
    # Of the first line only the end may be there.
    return (text.partition(b"\n")[2] or text if start else text), end


def _read_at(file: int, offset: int) -> tuple[int, bytes]:
    """Return the first block from an offset on that is there, and where it begins."""
    begins = _find_data(file, offset)
    while True:
        block = os.pread(file, BLOCK_BYTES, begins)
        # It may have been freed while it was read.
        if (later := _find_data(file, begins)) == begins:
            return begins, block
        begins = later


def _find_data(file: int, offset: int) -> int:
    """Return where the first data from an offset on is; behind a hole, or there."""
    size = os.fstat(file).st_size
    if offset >= size:
        return offset
    try:
        return os.lseek(file, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size  # all of it is a hole


def _split(text: bytes) -> tuple[list[bytes], bytes]:
    """Return complete lines, long ones split, and the unfinished line."""
    parts = [
        line[start : start + MAX_LINE_BYTES]
        for line in text.split(b"\n")
        for start in range(0, max(1, len(line)), MAX_LINE_BYTES)
    ]
    return parts[:-1], parts[-1]


class ProcessLogRotation:
    """Frees the space of long logs from `start` until `close`.

    Args:
        paths: returns the logs of running containers.
    """

    def __init__(self, paths: Callable[[], Iterable[Path]]) -> None:
        self._paths = paths
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start polling, once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop polling."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            too_long = [path for path in self._paths() if is_too_long(path)]
            for path in too_long:
                try:
                    # Of a large file that takes a while.
                    await asyncio.to_thread(free_space, path)
                except OSError as error:
                    log.warning("%s cannot be made shorter: %s", path, error)
            await asyncio.sleep(
                FAST_POLL_SECONDS if too_long else ROTATION_POLL_SECONDS
            )
