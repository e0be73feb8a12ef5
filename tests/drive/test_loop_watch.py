"""How late the event loop has been."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from probetui.drive.clocks import LoopWatch
from tests.fakes import FakeClock

SECOND = timedelta(seconds=1)


class StallingClock(FakeClock):
    """A clock that can go on while nobody is woken."""

    def stall(self, by: timedelta) -> None:
        self._now += by

    async def _wake(self, deadline: datetime) -> None:
        await super()._wake(max(deadline, self._now))


@pytest.fixture
def clock() -> StallingClock:
    return StallingClock()


@pytest.fixture
async def watch(clock: StallingClock) -> AsyncIterator[LoopWatch]:
    made = LoopWatch(clock)
    task = asyncio.ensure_future(made.run())
    await clock.settle()
    yield made
    task.cancel()


async def test_a_loop_that_is_in_time_loses_nothing(
    clock: StallingClock, watch: LoopWatch
) -> None:
    await clock.advance(10 * SECOND)

    assert watch.lost(clock.now()) == timedelta()


async def test_what_is_lost_is_known_at_once_and_stays(
    clock: StallingClock, watch: LoopWatch
) -> None:
    await clock.advance(0.05 * SECOND)

    clock.stall(2 * SECOND)

    assert watch.lost(clock.now()) == 1.95 * SECOND
    await clock.advance(10 * SECOND)
    assert watch.lost(clock.now()) == 1.95 * SECOND


async def test_many_small_delays_add_up(clock: StallingClock, watch: LoopWatch) -> None:
    for _ in range(10):
        await clock.advance(0.05 * SECOND)
        clock.stall(0.15 * SECOND)
        await clock.advance(timedelta())

    assert watch.lost(clock.now()) == SECOND


async def test_nothing_is_lost_before_it_runs(clock: StallingClock) -> None:
    watch = LoopWatch(clock)

    clock.stall(SECOND)

    assert watch.lost(clock.now()) == timedelta()
