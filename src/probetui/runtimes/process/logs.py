"""Logs of containers: one file each, followed, and rotated by polling its size.

Processes write to their logs themselves, so that they go on without probetui; nothing
limits what they write between two polls. The kubelet polls every ten seconds, in which
a process writes ten gigabytes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from probetui.k8s.runtime import LogLine
from probetui.ports import Clock
from probetui.untrusted_files import DirectoryRoot

MAX_FILE_BYTES = 10 * 1024 * 1024
BLOCK_BYTES = 64 * 1024
UNREAD_BYTES = 1024 * 1024
"""How much is read of a rotated log that was not read to its end."""

MAX_LINE_BYTES = 16 * 1024
"""Longer lines are split, as container runtimes do."""

POLL = timedelta(milliseconds=100)
MESSAGE_LINES = 80
MESSAGE_BYTES = 2048
LOG_MODE = 0o600

ROTATION_POLL_SECONDS = 0.1
FAST_POLL_SECONDS = 0.02
"""The interval of polling sizes, and the one after a log was too long."""

COPY_SECONDS = 1.0
"""The interval at which the whole end of a log is kept: no one can read faster."""

log = logging.getLogger(__name__)


def open_log(path: Path) -> int:
    """Open a log for appending, which also works after it was truncated."""
    return _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _open(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a log; the container may have replaced it by something else."""
    return DirectoryRoot(path.parent).open_file(path.name, flags, LOG_MODE)


def is_too_long(path: Path) -> bool:
    """Return whether a log is to be rotated.

    False for one without a stat: it was removed, or its container has replaced its
    folder by something else.
    """
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > MAX_FILE_BYTES


def rotate(path: Path, most_bytes: int | None = None) -> None:
    """Copy the end of a log to `<name>.1` and truncate the log, if it is too long.

    The container goes on writing to the same file; a line that it prints meanwhile may
    be lost. At most `most_bytes` are copied, by default as much as a log may have. If
    the container has replaced its log by something else, nothing is done.
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
    """Copy the bytes before offset `size` to the same offset of another file.

    So offsets stay valid; before them is a hole, which takes no space.
    """
    remaining = min(size, most_bytes)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with (
        os.fdopen(_open(path), "rb") as source,
        os.fdopen(_open(to, flags), "wb") as target,
    ):
        source.seek(size - remaining)
        target.seek(size - remaining)
        while remaining and (block := source.read(min(remaining, BLOCK_BYTES))):
            target.write(block)
            remaining -= len(block)


def last_message(path: Path) -> bytes:
    """Return the end of a log as a termination message.

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
    """Yield the last `tail` lines, then new ones until the container has ended.

    If `has_ended` is None, new ones are not awaited. Lines have neither a timestamp
    nor a stream, as processes write them to one file.
    """
    lines, offset, rest = _tail(path, tail)
    for line in lines:
        yield _line(line)
    is_done = has_ended is None
    while not is_done:
        # Checked before reading, so that everything printed before the end is read.
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
    """Return the last lines, the file's size, and its last line if unfinished."""
    text, end = _last_bytes(path, count)
    if text.count(b"\n") < count:
        text = _last_bytes(_rotated(path), count)[0] + text
    lines, rest = _split(text)
    first = max(0, len(lines) + bool(rest) - count)
    return lines[first:], end, rest


def _last_bytes(path: Path, lines: int) -> tuple[bytes, int]:
    """Return enough of a file's end for that many lines, and its size.

    A long line counts as several. At most as much as a log may have: before that, a
    rotated one has a hole.
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
    return b"".join(reversed(blocks)), end


def _read_on(path: Path, offset: int, rest: bytes) -> tuple[list[bytes], int, bytes]:
    """Return the lines after `offset`, the offset behind them, the unfinished line."""
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
    """Return the unread end of a rotated log, at most `UNREAD_BYTES`."""
    with os.fdopen(_open(_rotated(path)), "rb") as rotated:
        end = rotated.seek(0, os.SEEK_END)
        rotated.seek(max(offset, end - UNREAD_BYTES))
        return rotated.read()


def _split(text: bytes) -> tuple[list[bytes], bytes]:
    """Return complete lines, long ones split, and the unfinished line."""
    parts = [
        line[start : start + MAX_LINE_BYTES]
        for line in text.split(b"\n")
        for start in range(0, max(1, len(line)), MAX_LINE_BYTES)
    ]
    return parts[:-1], parts[-1]


class ProcessLogRotation:
    """Rotates logs from `start` until `close`.

    Args:
        paths: returns the logs of running containers.
    """

    def __init__(self, paths: Callable[[], Iterable[Path]]) -> None:
        self._paths = paths
        self._task: asyncio.Task[None] | None = None
        self._copied_at: dict[Path, float] = {}

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
                await self._rotate(path)
            await asyncio.sleep(
                FAST_POLL_SECONDS if too_long else ROTATION_POLL_SECONDS
            )

    async def _rotate(self, path: Path) -> None:
        """Rotate a log; of one that is always too long, keep only a little."""
        now = asyncio.get_running_loop().time()
        copied_at = self._copied_at
        is_early = now - copied_at.get(path, -COPY_SECONDS) < COPY_SECONDS
        if not is_early:
            since = now - COPY_SECONDS
            recent = {other: at for other, at in copied_at.items() if at > since}
            self._copied_at = {**recent, path: now}
        try:
            # Truncating a large file takes a while.
            most = UNREAD_BYTES if is_early else None
            await asyncio.to_thread(rotate, path, most)
        except OSError as error:
            log.warning("%s cannot be truncated: %s", path, error)
