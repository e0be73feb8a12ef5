"""The real clock and the fake clock of tests, under one contract."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from probetui.drive import clocks
from probetui.drive.clocks import SystemClock
from tests.builders import START, at
from tests.fakes import FakeClock

MILLISECOND = timedelta(milliseconds=1)
SECOND = timedelta(seconds=1)


class Elapsed:
    """A monotonic clock in nanoseconds that tests advance."""

    def __init__(self) -> None:
        self.ns = 5_000

    def __call__(self) -> int:
        return self.ns


def test_the_clock_shows_the_wall_time_in_utc() -> None:
    before = datetime.now(UTC)  # noqa: TID251  # what the clock is compared with

    now = SystemClock().now()

    after = datetime.now(UTC)  # noqa: TID251  # what the clock is compared with
    assert before <= now <= after
    assert now.tzinfo is UTC


def test_the_clock_starts_at_the_wall_time_and_follows_a_monotonic_clock() -> None:
    elapsed = Elapsed()
    clock = SystemClock(elapsed)
    started = clock.now()

    elapsed.ns += 90_000_001_999

    assert clock.now() - started == timedelta(seconds=90, microseconds=1)


@pytest.mark.skipif(sys.platform != "linux", reason="the clock has this name on Linux")
def test_the_clock_counts_the_time_that_the_machine_is_suspended() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)  # noqa: TID251  # what it is compared with

    elapsed = clocks.elapsed_ns()

    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)  # noqa: TID251  # the same
    assert before <= elapsed <= after


async def test_a_deadline_that_passes_in_a_suspend_is_noticed_soon_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clocks, "LONGEST_SLEEP_SECONDS", 0.01)
    elapsed = Elapsed()
    clock = SystemClock(elapsed)
    sleeper = asyncio.ensure_future(clock.sleep_until(clock.now() + 3600 * SECOND))
    await asyncio.sleep(0)

    elapsed.ns += 3601 * 10**9

    async with asyncio.timeout(60):
        await sleeper


async def test_a_sleeper_never_wakes_before_its_deadline() -> None:
    clock = SystemClock()
    deadline = clock.now() + 20 * MILLISECOND

    await clock.sleep_until(deadline)

    assert deadline <= clock.now() < deadline + timedelta(seconds=1)


async def test_a_sleeper_that_wakes_too_early_sleeps_on() -> None:
    readings = iter([0, 0, 9_000_000, 9_999_000, 10_000_000])
    clock = SystemClock(lambda: next(readings))

    await clock.sleep_until(clock._started_at + 10 * MILLISECOND)

    assert next(readings, None) is None


@pytest.mark.parametrize(
    "make_clock",
    [pytest.param(SystemClock, id="system"), pytest.param(FakeClock, id="fake")],
)
async def test_a_deadline_in_the_past_returns_at_once(
    make_clock: Callable[[], SystemClock | FakeClock],
) -> None:
    clock = make_clock()

    async with asyncio.timeout(1):
        await clock.sleep_until(clock.now())
        await clock.sleep_until(clock.now() - timedelta(days=1))


async def test_the_fake_clock_wakes_sleepers_in_order_of_their_deadlines() -> None:
    clock = FakeClock()
    woken: list[tuple[str, datetime]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep_until(at(seconds))
        woken.append((name, clock.now()))

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(sleeper("last", 3))
        tasks.create_task(sleeper("first", 1))
        tasks.create_task(sleeper("second", 1))
        await clock.advance(timedelta(seconds=2.5))

        assert woken == [("first", at(1)), ("second", at(1))]
        assert clock.now() == at(2.5)

        await clock.advance(timedelta(seconds=1))

    assert woken[2:] == [("last", at(3))]


async def test_the_fake_clock_lets_tasks_finish_before_it_moves_on() -> None:
    clock = FakeClock()
    instants: list[datetime] = []

    async def ticker() -> None:
        for second in range(1, 4):
            await clock.sleep_until(at(second))
            for _ in range(10):
                await asyncio.sleep(0)
            instants.append(clock.now())

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ticker())
        await clock.advance(timedelta(seconds=3))

    assert instants == [at(1), at(2), at(3)]


async def test_a_sleeper_that_is_cancelled_is_forgotten() -> None:
    clock = FakeClock()
    sleeper = asyncio.ensure_future(clock.sleep_until(at(60)))
    await clock.settle()
    assert clock.next_deadline == at(60)

    sleeper.cancel()
    await clock.settle()

    assert clock.next_deadline is None


async def test_the_fake_clock_can_jump_from_deadline_to_deadline() -> None:
    clock = FakeClock()

    async with clock.jumping():
        await clock.sleep_until(at(3600))
        await clock.sleep_until(at(7200))

    assert clock.now() == at(7200)
    assert clock.now() - START == timedelta(hours=2)
