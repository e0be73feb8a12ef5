"""Parsing Docker's multiplexed streams: output of commands, and logs; pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from probetui.k8s.runtime import LogLine
from probetui.runtimes.docker.translate import parse_docker_time

STDERR = 2
SYSTEM_ERROR = 3
"""The stream of the daemon's own error, after which nothing more comes."""

HEADER = struct.Struct(">BxxxL")
"""A frame's header: stream number and length of the payload."""

LONGEST_LINE_BYTES = 64 * 1024
"""Longer lines are split; the daemon itself splits at 16 KiB."""


LONGEST_PROBLEM_BYTES = 1000

LINES_REMEMBERED = 100_000
"""How many lines are known as told: more than a file of a log has that we limit."""

_NOTHING = (b"", b"")


class FramePiece(NamedTuple):
    """A part of a frame of stdout or stderr; `is_last` for the last one.

    One that `is_problem` is the daemon's, not of the output.
    """

    is_stderr: bool
    payload: bytes
    is_last: bool
    is_problem: bool = False


class Demultiplexer:
    """Removes the frames; a frame may arrive in many pieces."""

    def __init__(self) -> None:
        self._header = b""
        self._stream = 0
        self._left = 0

    def feed(self, data: bytes) -> Iterator[FramePiece]:
        """Yield the payloads in some bytes of the stream."""
        at = 0
        while at < len(data):
            if not self._left:
                missing = HEADER.size - len(self._header)
                self._header += data[at : at + missing]
                at += missing
                if len(self._header) < HEADER.size:
                    return
                self._stream, self._left = HEADER.unpack(self._header)
                self._header = b""
                continue
            payload = data[at : at + self._left]
            at += len(payload)
            self._left -= len(payload)
            yield FramePiece(
                self._stream == STDERR,
                payload,
                is_last=not self._left,
                is_problem=self._stream == SYSTEM_ERROR,
            )


class ExecOutput:
    """The output of a command, up to a limit.

    Args:
        limit_bytes: how much of each stream is kept.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._frames = Demultiplexer()
        self._kept = {False: bytearray(), True: bytearray()}

    @property
    def stdout(self) -> bytes:
        """The beginning of stdout."""
        return bytes(self._kept[False])

    @property
    def stderr(self) -> bytes:
        """The beginning of stderr."""
        return bytes(self._kept[True])

    def feed(self, data: bytes) -> None:
        """Parse some bytes of the stream."""
        for piece in self._frames.feed(data):
            kept = self._kept[piece.is_stderr]
            kept += piece.payload[: self._limit - len(kept)]


class StampedLine(NamedTuple):
    """A line of a log, and its time as the daemon wrote it: to the nanosecond."""

    stamp: bytes
    line: LogLine


class ToldLines:
    """Remembers which lines of a log were told.

    Of a log that is rotated Docker before 23 tells the lines of a file again from its
    first on, when the next file is begun before it has noticed the last one. (moby
    daemon/logger/loggerutils/follow.go, v20.10, handleRotate.) They have the same text
    and the same time to the nanosecond, which no two lines have, not even after a clock
    was set back.
    """

    def __init__(self) -> None:
        self._told: dict[int, None] = {}

    def add(self, line: StampedLine) -> bool:
        """Add a line that is to be told; False if it was told before."""
        key = hash(line)
        if key in self._told:
            return False
        if len(self._told) >= LINES_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[key] = None
        return True

    def __len__(self) -> int:
        return len(self._told)


class LogLineParser:
    """Parses a log into lines with timestamps.

    Docker writes a timestamp before every entry. A line that it had to split consists
    of several entries, of which only the last ends with a line feed.

    Args:
        has_terminal: the container has a terminal, whose log has no frames.

    Attributes:
        problem: why the daemon could not read on.
    """

    def __init__(self, *, has_terminal: bool) -> None:
        self.problem = b""
        self._frames = None if has_terminal else Demultiplexer()
        self._entry = {False: b"", True: b""}
        self._goes_on = {False: False, True: False}
        self._line = {False: _NOTHING, True: _NOTHING}

    def feed(self, data: bytes) -> Iterator[StampedLine]:
        """Yield the lines that are complete with some bytes of the log."""
        if self._frames is None:
            yield from self._without_frames(data)
            return
        for is_stderr, payload, is_last, is_problem in self._frames.feed(data):
            if is_problem:
                self.problem = (self.problem + payload)[:LONGEST_PROBLEM_BYTES]
                continue
            self._entry[is_stderr] += payload
            if is_last or len(self._entry[is_stderr]) >= LONGEST_LINE_BYTES:
                entry, self._entry[is_stderr] = self._entry[is_stderr], b""
                yield from self._add(entry, is_stderr=is_stderr, is_last=is_last)

    def rest(self) -> Iterator[StampedLine]:
        """Yield the unfinished lines at the end of the log."""
        for is_stderr in (False, True):
            if self._line[is_stderr] != _NOTHING:
                yield self._finished(is_stderr=is_stderr)

    def _without_frames(self, data: bytes) -> Iterator[StampedLine]:
        *entries, self._entry[False] = (self._entry[False] + data).split(b"\n")
        for entry in entries:
            yield from self._add(entry + b"\n", is_stderr=False, is_last=True)
        if len(self._entry[False]) >= LONGEST_LINE_BYTES:
            entry, self._entry[False] = self._entry[False], b""
            yield from self._add(entry, is_stderr=False, is_last=False)

    def _add(
        self, entry: bytes, *, is_stderr: bool, is_last: bool
    ) -> Iterator[StampedLine]:
        """Append an entry, or a part of a long one, to its line."""
        if self._goes_on[is_stderr]:
            entry_stamp, text = b"", entry
        else:
            entry_stamp, _, text = entry.partition(b" ")
        self._goes_on[is_stderr] = not is_last
        stamp, line = self._line[is_stderr]
        line += text
        self._line[is_stderr] = stamp or entry_stamp, line
        if line.endswith(b"\n") or len(line) >= LONGEST_LINE_BYTES:
            yield self._finished(is_stderr=is_stderr)

    def _finished(self, *, is_stderr: bool) -> StampedLine:
        stamp, line = self._line[is_stderr]
        self._line[is_stderr] = _NOTHING
        at = parse_docker_time(stamp.decode("ascii", "replace"))
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        decoded = text.decode("utf-8", "surrogateescape")
        return StampedLine(stamp, LogLine(at, decoded, is_stderr))
