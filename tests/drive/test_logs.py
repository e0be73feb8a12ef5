"""Logs are read in the background within limits of lines, memory and time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

import pytest

from probetui.drive import logs
from probetui.drive.executor import Executor
from probetui.drive.logs import (
    LAST_BYTES,
    LAST_LINES,
    LogState,
    LogTail,
    read_last_output,
    read_log,
)
from probetui.drive.realtime import RealtimeSession
from probetui.drive.session import SupportsLogs
from probetui.engine.engine import Engine
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, LogLine, RuntimeState
from probetui.kubelet.config import KubeletConfig
from probetui.ports import LogSource
from tests.builders import START
from tests.drive.test_realtime import NoHooks
from tests.fakes import FakeClock, FakeEngine, FakeProber, FakeRuntime

ID = ContainerID("fake://app")


class LinesSource:
    """A `LogSource` with a given number of lines, and as many each time it is opened.

    `opened` has the requested tails, `left` the number of readers that stopped reading.
    """

    def __init__(self, count: int, error: str = "", text: str = "line {}") -> None:
        self._count = count
        self._error = error
        self._text = text
        self.opened: list[int] = []
        self.left = 0

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        self.opened.append(tail)
        try:
            for number in range(self._count):
                yield LogLine(None, self._text.format(number))
            if self._error:
                raise ContainerRuntimeError(self._error)
        finally:
            self.left += 1


class Burst:
    """A `LogSource` of a container that prints many lines at once, and ends."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.opened: list[int] = []

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        is_first = not self.opened
        self.opened.append(tail)
        for number in range(0 if is_first else self.count - tail, self.count):
            yield LogLine(None, f"line {number}")


class SilentSource:
    """A `LogSource` that yields no line."""

    def __init__(self) -> None:
        self.left = asyncio.Event()

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        try:
            await asyncio.Event().wait()
            yield LogLine(None, "never")
        finally:
            self.left.set()


def a_tail() -> LogTail:
    return LogTail(ID, lambda: None)


async def is_gone(_container_id: ContainerID) -> None:
    """Return the state of a container that is gone."""


async def read(
    source: LogSource,
    tail: LogTail,
    state_of: Callable[[ContainerID], Awaitable[RuntimeState | None]] = is_gone,
) -> None:
    """Read to the end of the log."""
    clock = FakeClock()
    reading = asyncio.ensure_future(read_log(source, tail, clock, state_of))
    while not reading.done():
        await clock.advance(logs.PAUSE)
    await reading
    tail.close()


class WithLogs(FakeRuntime):
    """A runtime with the logs of a given source."""

    def __init__(self, engine: FakeEngine, source: LogSource) -> None:
        super().__init__(engine)
        self._source = source

    def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        return self._source.follow_logs(container_id, tail=tail, follow=follow)


def a_session(source: LogSource) -> RealtimeSession:
    clock = FakeClock()
    runtime = WithLogs(FakeEngine(clock), source)
    return RealtimeSession(
        Engine(KubeletConfig(), START),
        Executor(runtime, FakeProber(clock), NoHooks(), clock),
        runtime,
        clock,
        runtime_name="fake 1.0",
    )


async def test_lines_are_kept_in_order_until_the_log_ends() -> None:
    tail = a_tail()

    await read(LinesSource(3), tail)

    assert [line.text for line in tail.lines] == ["line 0", "line 1", "line 2"]
    assert tail.state is LogState.ENDED
    assert not tail.skips


async def test_a_log_that_breaks_keeps_its_lines_and_shows_the_error() -> None:
    tail = a_tail()

    await read(LinesSource(1, error="no such container"), tail)

    assert (tail.state, tail.problem) == (LogState.REFUSED, "no such container")
    assert [line.text for line in tail.lines] == ["line 0"]


async def test_the_oldest_lines_are_dropped_when_there_are_too_many() -> None:
    tail = a_tail()

    for number in range(logs.LINES_KEPT + 1):
        tail.add(LogLine(None, f"line {number}"))
    tail.close()

    assert tail.dropped == logs.LINES_KEPT // 10
    assert tail.lines[0].text == f"line {tail.dropped}"
    assert tail.lines[-1].text == f"line {logs.LINES_KEPT}"


async def test_long_lines_use_no_more_memory_than_short_ones() -> None:
    tail = a_tail()
    line = LogLine(None, "x" * (logs.CHARACTERS_KEPT // 10))

    for _ in range(100):
        tail.add(line)
    tail.close()

    assert sum(len(log_line.text) for log_line in tail.lines) <= logs.CHARACTERS_KEPT
    assert tail.dropped + len(tail.lines) == 100
    assert tail.lines


async def test_a_line_longer_than_the_limit_is_dropped() -> None:
    tail = a_tail()

    tail.add(LogLine(None, "x" * (logs.CHARACTERS_KEPT + 1)))
    tail.close()

    assert (tail.dropped, len(tail.lines)) == (1, 0)


async def test_the_lines_read_per_turn_of_the_loop_are_limited() -> None:
    clock, tail = FakeClock(), a_tail()
    reading = asyncio.ensure_future(
        read_log(LinesSource(logs.LINES_AT_ONCE * 3), tail, clock, is_gone)
    )

    await clock.advance(timedelta())

    assert len(tail.lines) == logs.LINES_AT_ONCE
    reading.cancel()
    tail.close()


async def test_a_flood_is_skipped_and_read_from_its_end() -> None:
    source, tail = LinesSource(logs.LINES_AT_ONCE * (logs.PATIENCE + 2)), a_tail()
    clock = FakeClock()
    reading = asyncio.ensure_future(read_log(source, tail, clock, is_gone))

    while len(source.opened) < 2:
        await clock.advance(logs.PAUSE)

    assert source.opened == [logs.FIRST_LINES, logs.LINES_AT_ONCE]
    assert source.left == 1
    assert list(tail.skips) == [logs.LINES_AT_ONCE * (logs.PATIENCE + 1)]
    reading.cancel()
    tail.close()


async def test_lines_that_are_known_are_not_told_again_after_a_flood() -> None:
    source, tail = Burst(logs.LINES_AT_ONCE * (logs.PATIENCE + 1) + 100), a_tail()
    clock = FakeClock()
    reading = asyncio.ensure_future(read_log(source, tail, clock, is_gone))

    while not reading.done():
        await clock.advance(logs.PAUSE)
    told = [line.text for line in tail.lines]

    assert source.opened == [logs.FIRST_LINES, logs.LINES_AT_ONCE]
    assert len(set(told)) == len(told)
    assert told[-1] == f"line {source.count - 1}"
    assert list(tail.skips) == []
    tail.close()


async def test_lines_that_a_source_has_lost_are_skipped() -> None:
    class Losing:
        async def follow_logs(
            self, container_id: ContainerID, *, tail: int, follow: bool
        ) -> AsyncIterator[LogLine]:
            yield LogLine(None, "one")
            yield LogLine(None, "three", is_after_gap=True)

    tail = a_tail()

    await read(Losing(), tail)

    assert list(tail.lines) == [LogLine(None, "one"), LogLine(None, "three")]
    assert list(tail.skips) == [1]


async def test_a_log_that_ends_before_its_container_is_read_on() -> None:
    """A daemon that is stopped ends its answers as if the logs were over."""
    printed = 0
    states = iter([RuntimeState.RUNNING] * 2 + [RuntimeState.EXITED] * 2)

    class Cut:
        async def follow_logs(
            self, container_id: ContainerID, *, tail: int, follow: bool
        ) -> AsyncIterator[LogLine]:
            nonlocal printed
            for number in range(max(0, printed - tail), printed):
                yield LogLine(None, str(number))
            printed += 300

    async def state_of(_: ContainerID) -> RuntimeState:
        return next(states)

    tail = a_tail()

    await read(Cut(), tail, state_of)

    assert [line.text for line in tail.lines] == [str(n) for n in range(900)]
    assert tail.state is LogState.ENDED
    assert list(tail.skips) == []


async def test_a_log_that_ends_within_what_is_known_is_not_told_again() -> None:
    counts = iter([300, 5, 300, 300])
    states = iter([RuntimeState.RUNNING] * 2 + [RuntimeState.EXITED] * 2)

    class Cut:
        async def follow_logs(
            self, container_id: ContainerID, *, tail: int, follow: bool
        ) -> AsyncIterator[LogLine]:
            for number in range(next(counts)):
                yield LogLine(None, str(number))

    async def state_of(_: ContainerID) -> RuntimeState:
        return next(states)

    tail = a_tail()

    await read(Cut(), tail, state_of)

    assert [line.text for line in tail.lines] == [str(n) for n in range(300)]
    assert list(tail.skips) == []


async def test_many_lines_are_notified_as_one_change() -> None:
    notified = asyncio.Event()
    changes: list[int] = []

    def on_change() -> None:
        changes.append(len(tail.lines))
        notified.set()

    tail = LogTail(ID, on_change)

    for number in range(100):
        tail.add(LogLine(None, str(number)))
    await notified.wait()

    assert changes == [100]


async def test_a_closed_tail_notifies_nobody() -> None:
    changes: list[int] = []
    tail = LogTail(ID, lambda: changes.append(1))
    notified = asyncio.Event()
    later_tail = LogTail(ID, notified.set)
    tail.add(LogLine(None, "a"))

    tail.close()
    tail.add(LogLine(None, "b"))
    later_tail.add(LogLine(None, "c"))
    await notified.wait()

    assert not changes


async def test_a_session_reads_logs_until_the_tail_is_closed() -> None:
    source = SilentSource()
    session = a_session(source)
    tail = session.follow_logs(ID, lambda: None)
    await asyncio.sleep(0)

    tail.close()
    await source.left.wait()

    assert tail.state is LogState.READING


async def test_the_fake_runtime_is_a_source_of_logs_for_a_session() -> None:
    clock = FakeClock()
    session = a_session(FakeRuntime(FakeEngine(clock)))

    assert isinstance(session, SupportsLogs)


@pytest.mark.parametrize("state", list(LogState))
def test_every_state_is_a_word_to_show(state: LogState) -> None:
    assert state.value


class Printed:
    """A `LogSource` with given lines."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    async def follow_logs(
        self, container_id: ContainerID, *, tail: int, follow: bool
    ) -> AsyncIterator[LogLine]:
        assert not follow
        for text in self._texts[-tail:]:
            yield LogLine(START, text, is_stderr=True)


async def last_texts(*printed: str) -> list[str]:
    return [line.text for line in await read_last_output(Printed(*printed), ID)]


async def test_the_last_output_is_the_newest_lines_with_their_times() -> None:
    lines = await read_last_output(Printed(*map(str, range(25))), ID)

    assert [line.text for line in lines] == [str(number) for number in range(15, 25)]
    assert len(lines) == LAST_LINES
    assert {(line.at, line.is_stderr) for line in lines} == {(START, True)}


async def test_older_lines_that_do_not_fit_are_left_out_of_the_last_output() -> None:
    kept = await last_texts("first", "x" * LAST_BYTES, "third", "last")

    assert kept == ["third", "last"]


async def test_the_newest_line_is_kept_to_the_limit_and_cut_between_words() -> None:
    begins = "panic: " + "y" * (LAST_BYTES - 20)

    (text,) = await last_texts("first", f"{begins} {'secret' * 300_000}")

    assert text == f"{begins}…"


@pytest.mark.parametrize("letter", ["z", "漢", "\udcff"])
async def test_a_newest_line_without_blanks_is_cut_to_the_limit(letter: str) -> None:
    (text,) = await last_texts(letter * 100_000)

    size = len(text.encode(errors="surrogateescape"))
    assert LAST_BYTES - 8 < size <= LAST_BYTES
    assert text.startswith(letter)
    assert text.endswith("…")
