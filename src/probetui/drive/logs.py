"""Container logs, read in the background into bounded memory.

A container may print faster than this program can afford to read. So a bounded number
of lines is read per interval; if the reader falls behind, lines are skipped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, nullcontext
from datetime import timedelta
from enum import StrEnum

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, LogLine, RuntimeState
from probetui.ports import Clock, LogSource

LINES_KEPT = 10_000
CHARACTERS_KEPT = 8_000_000
FIRST_LINES = 1_000
LINES_AT_ONCE = 500
PAUSE = timedelta(milliseconds=50)
"""At most `LINES_AT_ONCE` lines are read in that time."""

REST = timedelta(seconds=1)
"""After so long a log is opened again that ended before its container."""

PATIENCE = 40
"""After this many full batches in a row, the waiting lines are skipped."""

NOTICE_PERIOD_SECONDS = 0.05

_ELLIPSIS = "…"

LAST_LINES = 10
LAST_BYTES = 2048
"""How much is kept of what a container printed last."""


class LogState(StrEnum):
    """The state of reading a log."""

    READING = "follow"
    ENDED = "ended"
    REFUSED = "refused"


class LogTail:
    """The newest log lines of one container instance; its opener closes it.

    Args:
        container_id: the instance.
        on_change: called on the event loop after something changed, at most 20 times a
            second.
    """

    def __init__(
        self, container_id: ContainerID, on_change: Callable[[], None]
    ) -> None:
        self.container_id = container_id
        self._on_change = on_change
        self._lines: list[LogLine] = []
        self._characters = 0
        self._dropped = 0
        self._skips: list[int] = []
        self._state = LogState.READING
        self._problem = ""
        self._notice: asyncio.TimerHandle | None = None
        self._close: Callable[[], object] = _do_nothing

    @property
    def lines(self) -> Sequence[LogLine]:
        """The kept lines, oldest first; do not modify the list."""
        return self._lines

    @property
    def dropped(self) -> int:
        """The number of lines dropped before the kept ones."""
        return self._dropped

    @property
    def skips(self) -> Sequence[int]:
        """The numbers of lines before which some were skipped; the first line is 0."""
        return self._skips

    @property
    def state(self) -> LogState:
        """The state of reading."""
        return self._state

    @property
    def problem(self) -> str:
        """Why the log cannot be read, empty if it can."""
        return self._problem

    def close(self) -> None:
        """Stop reading."""
        self._close()
        if self._notice is not None:
            self._notice.cancel()
            self._notice = None
        self._on_change = _do_nothing

    # -- for the reader

    def read_by(self, close: Callable[[], object]) -> None:
        """Set the callback that stops reading."""
        self._close = close

    def add(self, line: LogLine) -> None:
        """Append a line; drop the oldest lines beyond the limit."""
        self._lines.append(line)
        self._characters += len(line.text)
        if len(self._lines) > LINES_KEPT or self._characters > CHARACTERS_KEPT:
            self._drop_oldest()
        self._schedule_notice()

    def skip(self) -> None:
        """Record that lines may be missing before the next one."""
        self._skips.append(self._dropped + len(self._lines))

    def finish(self, state: LogState, problem: str = "") -> None:
        """Mark the log as complete."""
        self._state, self._problem = state, problem
        self._schedule_notice()

    def _drop_oldest(self) -> None:
        """Drop a tenth at once: dropping one by one would move all others each time."""
        count = 0
        most_characters = CHARACTERS_KEPT * 9 // 10
        while count < LINES_KEPT // 10 or self._characters > most_characters:
            self._characters -= len(self._lines[count].text)
            count += 1
            if count == len(self._lines):
                break
        del self._lines[:count]
        self._dropped += count

    def _schedule_notice(self) -> None:
        if self._notice is None:
            loop = asyncio.get_running_loop()
            self._notice = loop.call_later(NOTICE_PERIOD_SECONDS, self._notify_listener)

    def _notify_listener(self) -> None:
        self._notice = None
        self._on_change()


async def read_log(
    source: LogSource,
    tail: LogTail,
    clock: Clock,
    state_of: Callable[[ContainerID], Awaitable[RuntimeState | None]],
) -> None:
    """Read a container's log to its end, into `tail`.

    A connection may end as if the log did. So it is read on from where it ended, at
    least once more after `state_of` the container, None if it is gone, is an end.
    """
    seam, count, has_exited = _Seam(tail, ()), FIRST_LINES, False
    try:
        while True:
            if not await _falls_behind(source, seam, clock, count):
                state = await state_of(tail.container_id)
                if has_exited or state is None:
                    break
                has_exited = state is RuntimeState.EXITED
                await clock.sleep_until(clock.now() + (PAUSE if has_exited else REST))
            seam, count = _Seam(tail, tail.lines[-LINES_AT_ONCE:]), LINES_AT_ONCE
    except ContainerRuntimeError as error:
        tail.finish(LogState.REFUSED, str(error))
    else:
        tail.finish(LogState.ENDED)


async def read_last_output(
    source: LogSource, container_id: ContainerID
) -> tuple[LogLine, ...]:
    """Return the last lines of an exited container's log, oldest first.

    At most `LAST_LINES` and `LAST_BYTES`. The newest line is always there; if it is
    longer, its beginning is.

    Raises:
        ContainerRuntimeError: the log cannot be read.
    """
    newest: deque[LogLine] = deque(maxlen=LAST_LINES)
    lines = source.follow_logs(container_id, tail=LAST_LINES, follow=False)
    closing = aclosing(lines) if isinstance(lines, AsyncGenerator) else nullcontext()
    async with closing:
        async for line in lines:
            newest.append(line)
    kept: deque[LogLine] = deque()
    room = LAST_BYTES
    while newest:
        line = newest.pop()
        room -= len(_as_bytes(line.text)) + 1
        if room < 0:
            if not kept:
                kept.append(replace(line, text=_cut(line.text)))
            break
        kept.appendleft(line)
    return tuple(kept)


def _cut(text: str) -> str:
    """Return the beginning of a line that is too long, cut between words.

    Half of a secret would not be recognized as one when it is masked.
    """
    limit = LAST_BYTES - len(_as_bytes(_ELLIPSIS))
    beginning = _as_bytes(text)[:limit].decode(errors="surrogateescape")
    words, blank, _ = beginning.rpartition(" ")
    return (words if blank else beginning) + _ELLIPSIS


def _as_bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


class _Seam:
    """Where a log that is opened again goes on; lines may be missing there.

    Args:
        tail: takes the lines.
        known: the last ones that it has, of which the first ones may be repetitions.
    """

    def __init__(self, tail: LogTail, known: Sequence[LogLine]) -> None:
        self.tail = tail
        self._known = tuple(known)
        self._begins = list(range(len(self._known)))
        self._held: list[LogLine] = []
        self._repeated = 0

    def add(self, line: LogLine) -> None:
        """Add a line, unless it is, or may be, one that is known."""
        if line.is_after_gap:
            self.close()
            self.tail.skip()
            line = replace(line, is_after_gap=False)
        if not self._known:
            self.tail.add(line)
            return
        number, known = len(self._held), self._known
        self._held.append(line)
        self._begins = [
            begin
            for begin in self._begins
            if begin + number < len(known) and known[begin + number] == line
        ]
        if any(begin + number + 1 == len(known) for begin in self._begins):
            self._repeated = number + 1
        # The longest repetition counts: a program may print the same again and again.
        if not self._begins or self._begins[0] + number + 1 == len(known):
            self.close()

    def close(self) -> None:
        """Add what was held back and is not known."""
        if self._known and self._begins:
            # It ends within what is known.
            self._held.clear()
        if self._held and not self._repeated:
            self.tail.skip()
        self._known = ()
        for line in self._held[self._repeated :]:
            self.tail.add(line)
        self._held.clear()


async def _falls_behind(
    source: LogSource, seam: _Seam, clock: Clock, count: int
) -> bool:
    """Follow a log from its last `count` lines; True if the container outpaces it.

    False once it has ended.
    """
    lines = source.follow_logs(seam.tail.container_id, tail=count, follow=True)
    closing = aclosing(lines) if isinstance(lines, AsyncGenerator) else nullcontext()
    taken = full = 0
    ends_at = clock.now() + PAUSE
    try:
        async with closing:
            async for line in lines:
                seam.add(line)
                taken += 1
                if taken < LINES_AT_ONCE:
                    continue
                is_early = clock.now() < ends_at
                full = full + 1 if is_early else 0
                if full > PATIENCE:
                    return True
                # Also yields to the loop if lines never have to be awaited.
                await clock.sleep_until(ends_at)
                taken, ends_at = 0, clock.now() + PAUSE
    finally:
        seam.close()
    return False


def _do_nothing() -> None:
    """Do nothing, in place of a callback that was removed."""
