"""The lateness of the event loop and its cause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from probetui.drive.lateness import LoopWatch, ProcessorTimes, processor_times
from probetui.engine.snapshot import LatenessCause, LatenessOwner
from tests.fakes import FakeClock

SECOND = timedelta(seconds=1)


class StallingClock(FakeClock):
    """A clock that can advance without waking a sleeper."""

    def stall(self, by: timedelta) -> None:
        self._now += by

    async def _wake(self, deadline: datetime) -> None:
        await super()._wake(max(deadline, self._now))


@pytest.fixture
def clock() -> StallingClock:
    return StallingClock()


@pytest.fixture
async def watch(clock: StallingClock) -> AsyncIterator[LoopWatch]:
    loop_watch = LoopWatch(clock)
    task = asyncio.ensure_future(loop_watch.run())
    await clock.settle()
    yield loop_watch
    task.cancel()


async def test_a_loop_that_is_in_time_has_no_lateness(
    clock: StallingClock, watch: LoopWatch
) -> None:
    await clock.advance(10 * SECOND)

    assert watch.lost(clock.now()) == timedelta()


async def test_lateness_is_counted_at_once_and_kept(
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


async def test_there_is_no_lateness_before_the_watch_runs(clock: StallingClock) -> None:
    watch = LoopWatch(clock)

    clock.stall(SECOND)

    assert watch.lost(clock.now()) == timedelta()


class Processor:
    """Fake times that the process has run and waited."""

    def __init__(self, *, reports_waits: bool = True) -> None:
        self._reports_waits = reports_waits
        self.ran = self.waited = timedelta()

    def times(self) -> ProcessorTimes:
        waited_ns = self.waited // timedelta(microseconds=1) * 1000
        return ProcessorTimes(
            self.ran // timedelta(microseconds=1) * 1000,
            waited_ns if self._reports_waits else None,
        )


async def cause_of_stall(
    stall: float, ran: float, waited: float, *, reports_waits: bool = True
) -> LatenessCause | None:
    """Return whose lateness a stall of so many seconds is."""
    clock, processor = StallingClock(), Processor(reports_waits=reports_waits)
    watch = LoopWatch(clock, processor.times)
    task = asyncio.ensure_future(watch.run())
    await clock.advance(SECOND)
    clock.stall(stall * SECOND)
    processor.ran += ran * SECOND
    processor.waited += waited * SECOND
    await clock.advance(0.2 * SECOND)
    task.cancel()
    return watch.cause(clock.now())


@pytest.mark.parametrize(
    ("stall", "ran", "waited", "owner"),
    [
        pytest.param(2, 2, 0, LatenessOwner.PROBETUI, id="it ran all the time"),
        pytest.param(2, 1.7, 0.3, LatenessOwner.PROBETUI, id="it ran nearly always"),
        pytest.param(2, 1, 1, LatenessOwner.MACHINE, id="it had half a processor"),
        pytest.param(2, 0.1, 1.9, LatenessOwner.MACHINE, id="it hardly ran"),
        pytest.param(2, 0, 0, LatenessOwner.STOP, id="it was stopped"),
        pytest.param(0.2, 0.2, 0, LatenessOwner.PROBETUI, id="a short time"),
        pytest.param(0.2, 0.02, 0.18, LatenessOwner.MACHINE, id="a short wait"),
    ],
)
async def test_the_cause_of_a_lateness_follows_from_the_processor_times(
    stall: float, ran: float, waited: float, owner: LatenessOwner
) -> None:
    cause = await cause_of_stall(stall, ran, waited)

    assert cause is not None
    assert cause.owner is owner


async def test_a_cause_has_the_share_of_time_spent_waiting() -> None:
    cause = await cause_of_stall(4, 1, 3)

    assert str(cause) == (
        "this machine is busy: probetui waited 75% of that time for a processor"
    )


@pytest.mark.parametrize(
    ("ran", "owner"),
    [
        pytest.param(2, LatenessOwner.PROBETUI, id="it ran"),
        pytest.param(0.5, None, id="it did not"),
    ],
)
async def test_without_wait_times_only_our_own_lateness_has_a_cause(
    ran: float, owner: LatenessOwner | None
) -> None:
    cause = await cause_of_stall(2, ran, 2 - ran, reports_waits=False)

    assert (cause.owner if cause else None) is owner


async def test_a_loop_in_time_has_no_cause(
    clock: StallingClock, watch: LoopWatch
) -> None:
    await clock.advance(5 * SECOND)

    assert watch.cause(clock.now()) is None


async def test_a_cause_is_forgotten_after_ten_seconds() -> None:
    clock, processor = StallingClock(), Processor()
    watch = LoopWatch(clock, processor.times)
    task = asyncio.ensure_future(watch.run())
    await clock.settle()
    clock.stall(2 * SECOND)

    await clock.advance(9 * SECOND)
    cause = watch.cause(clock.now())
    await clock.advance(3 * SECOND)
    task.cancel()

    assert cause is not None
    assert watch.cause(clock.now()) is None


def test_the_processor_time_of_this_process_is_read() -> None:
    before = processor_times()
    sum(range(1_000_000))

    assert processor_times().ran_ns > before.ran_ns > 0
