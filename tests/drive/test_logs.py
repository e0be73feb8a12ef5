"""Logs read in the background, within bounds, however fast they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from probetui.drive import logs
from probetui.drive.executor import Executor
from probetui.drive.logs import LogState, LogTail, read_log
from probetui.drive.realtime import RealtimeSession
from probetui.drive.session import SupportsLogs
from probetui.engine.engine import Engine
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.config import KubeletConfig
from probetui.ports import LogLine, LogSource
from tests.builders import START
from tests.drive.test_realtime import NoHooks
from tests.fakes import FakeClock, FakeEngine, FakeProber, FakeRuntime

ID = ContainerID("fake://app")


class Scroll:
    """A `LogSource` with a given number of lines, and as many each time it is opened.

    `opened` has the tails that were asked for, `left` how many readers went away.
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


class Silence:
    """A `LogSource` from which nothing comes."""

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


async def read(source: LogSource, tail: LogTail) -> None:
    """Read to the end, with as much time as that takes."""
    clock = FakeClock()
    reading = asyncio.ensure_future(read_log(source, tail, clock))
    while not reading.done():
        await clock.advance(logs.PAUSE)
    await reading
    tail.close()


def a_session(source: LogSource | None) -> RealtimeSession:
    clock = FakeClock()
    runtime = FakeRuntime(FakeEngine(clock))
    return RealtimeSession(
        Engine(KubeletConfig(), START),
        Executor(runtime, FakeProber(clock), NoHooks(), clock),
        clock,
        runtime_name="fake 1.0",
        logs=source,
    )


async def test_lines_are_kept_in_their_order_until_the_log_ends() -> None:
    tail = a_tail()

    await read(Scroll(3), tail)

    assert [line.text for line in tail.lines] == ["line 0", "line 1", "line 2"]
    assert tail.state is LogState.ENDED
    assert not tail.skips


async def test_a_log_that_cannot_be_read_says_why_and_keeps_what_came() -> None:
    tail = a_tail()

    await read(Scroll(1, error="no such container"), tail)

    assert (tail.state, tail.problem) == (LogState.REFUSED, "no such container")
    assert [line.text for line in tail.lines] == ["line 0"]


async def test_the_oldest_lines_go_when_there_are_too_many() -> None:
    tail = a_tail()

    for number in range(logs.LINES_KEPT + 1):
        tail.add(LogLine(None, f"line {number}"))
    tail.close()

    assert tail.dropped == logs.LINES_KEPT // 10
    assert tail.lines[0].text == f"line {tail.dropped}"
    assert tail.lines[-1].text == f"line {logs.LINES_KEPT}"


async def test_long_lines_take_no_more_room_than_short_ones() -> None:
    tail = a_tail()
    line = LogLine(None, "x" * (logs.CHARACTERS_KEPT // 10))

    for _ in range(100):
        tail.add(line)
    tail.close()

    assert sum(len(log_line.text) for log_line in tail.lines) <= logs.CHARACTERS_KEPT
    assert tail.dropped + len(tail.lines) == 100
    assert tail.lines


async def test_one_line_that_is_too_long_alone_is_let_go_of() -> None:
    tail = a_tail()

    tail.add(LogLine(None, "x" * (logs.CHARACTERS_KEPT + 1)))
    tail.close()

    assert (tail.dropped, len(tail.lines)) == (1, 0)


async def test_only_so_many_lines_are_read_in_one_moment() -> None:
    clock, tail = FakeClock(), a_tail()
    reading = asyncio.ensure_future(
        read_log(Scroll(logs.LINES_AT_ONCE * 3), tail, clock)
    )

    await clock.advance(timedelta())

    assert len(tail.lines) == logs.LINES_AT_ONCE
    reading.cancel()
    tail.close()


async def test_a_flood_is_skipped_and_read_from_its_end() -> None:
    source, tail = Scroll(logs.LINES_AT_ONCE * (logs.PATIENCE + 2)), a_tail()
    clock = FakeClock()
    reading = asyncio.ensure_future(read_log(source, tail, clock))

    while len(source.opened) < 2:
        await clock.advance(logs.PAUSE)

    assert source.opened == [logs.FIRST_LINES, logs.LINES_AT_ONCE]
    assert source.left == 1
    assert list(tail.skips) == [logs.LINES_AT_ONCE * (logs.PATIENCE + 1)]
    reading.cancel()
    tail.close()


async def test_one_change_is_told_for_many_lines() -> None:
    told = asyncio.Event()
    changes: list[int] = []

    def on_change() -> None:
        changes.append(len(tail.lines))
        told.set()

    tail = LogTail(ID, on_change)

    for number in range(100):
        tail.add(LogLine(None, str(number)))
    await told.wait()

    assert changes == [100]


async def test_nothing_is_told_any_more_once_it_is_closed() -> None:
    changes: list[int] = []
    tail = LogTail(ID, lambda: changes.append(1))
    told = asyncio.Event()
    a_later_one = LogTail(ID, told.set)
    tail.add(LogLine(None, "a"))

    tail.close()
    tail.add(LogLine(None, "b"))
    a_later_one.add(LogLine(None, "c"))
    await told.wait()

    assert not changes


async def test_a_session_reads_logs_until_the_tail_is_closed() -> None:
    source = Silence()
    session = a_session(source)
    tail = session.follow_logs(ID, lambda: None)
    await asyncio.sleep(0)

    tail.close()
    await source.left.wait()

    assert tail.state is LogState.READING


async def test_a_session_without_logs_says_so() -> None:
    tail = a_session(None).follow_logs(ID, lambda: None)

    assert tail.state is LogState.REFUSED
    assert tail.problem == "fake 1.0 keeps no logs"
    tail.close()


async def test_the_fake_runtime_is_a_source_of_logs_for_a_session() -> None:
    clock = FakeClock()
    session = a_session(FakeRuntime(FakeEngine(clock)))

    assert isinstance(session, SupportsLogs)


@pytest.mark.parametrize("state", list(LogState))
def test_every_state_is_a_word_to_show(state: LogState) -> None:
    assert state.value
