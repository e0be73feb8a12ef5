"""Instants of a runtime whose clock is another one than the session's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from probetui.k8s.runtime import (
    ContainerID,
    LogLine,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.runtimes.daemon_clock import GOOD_FOR, DaemonClock
from tests.builders import START, at
from tests.fakes import FakeClock

SECOND = timedelta(seconds=1)
APP = ContainerID("docker://4f7a")


class FakeDaemon:
    """A daemon whose clock is `ahead`; `answers_after` is how long an answer takes."""

    def __init__(self, clock: FakeClock, ahead: timedelta) -> None:
        self.clock = clock
        self.ahead = ahead
        self.answers_after = timedelta()
        self.asked = 0

    def now(self) -> datetime:
        return self.clock.now() + self.ahead

    async def time(self) -> datetime | None:
        self.asked += 1
        await self.clock.advance(self.answers_after)
        answer = self.now()
        await self.clock.advance(self.answers_after)
        return answer

    def running(self, container_id: ContainerID = APP) -> RuntimeContainerStatus:
        """Return a container that was started just now."""
        return RuntimeContainerStatus(
            container_id, "app", RuntimeState.RUNNING, self.now(), self.now()
        )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


OFFSETS = [
    pytest.param(45 * SECOND, id="ahead"),
    pytest.param(-45 * SECOND, id="behind"),
    pytest.param(timedelta(hours=1), id="an-hour-ahead"),
]


@pytest.mark.parametrize("ahead", OFFSETS)
async def test_a_start_is_converted_to_the_clock_of_the_session(
    clock: FakeClock, ahead: timedelta
) -> None:
    daemon = FakeDaemon(clock, ahead)
    daemon_clock = DaemonClock(clock, daemon.time)

    found = await daemon_clock.container(daemon.running())

    assert found.started_at == START
    assert daemon_clock.offset == ahead


@pytest.mark.parametrize("ahead", OFFSETS)
async def test_a_daemon_without_a_clock_is_measured_by_a_start(
    clock: FakeClock, ahead: timedelta
) -> None:
    daemon = FakeDaemon(clock, ahead)
    daemon_clock = DaemonClock(clock)
    await clock.advance(SECOND)
    started = daemon.running()
    await clock.advance(SECOND)
    daemon_clock.started(APP, START)

    found = await daemon_clock.container(started)

    assert found.started_at == at(1)


async def test_without_any_measurement_nothing_was_started_in_the_future(
    clock: FakeClock,
) -> None:
    daemon = FakeDaemon(clock, 45 * SECOND)

    found = await DaemonClock(clock).container(daemon.running())

    assert found.started_at == START


async def test_on_one_machine_instants_stay_what_they_are_however_slow_it_answers(
    clock: FakeClock,
) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon.answers_after = 7 * SECOND
    daemon_clock = DaemonClock(clock, daemon.time)

    found = await daemon_clock.container(daemon.running())

    assert found.started_at == START
    assert not daemon_clock.offset


async def test_an_offset_is_as_exact_as_the_answer_was_quick(clock: FakeClock) -> None:
    daemon = FakeDaemon(clock, 45 * SECOND)
    daemon_clock = DaemonClock(clock, daemon.time)
    daemon_clock.sample(daemon.now() + SECOND, at(0), at(2))
    assert daemon_clock.offset == 45 * SECOND

    daemon_clock.sample(daemon.now() + 1.4 * SECOND, at(1), at(2))

    assert daemon_clock.offset == 45 * SECOND, "it is within what was measured"


async def test_a_start_does_not_move_when_a_clock_is_set(clock: FakeClock) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon_clock = DaemonClock(clock, daemon.time)
    first = daemon.running()
    before = await daemon_clock.container(first)

    await clock.advance(GOOD_FOR + SECOND)
    daemon.ahead = timedelta(hours=1)
    other = await daemon_clock.container(daemon.running(ContainerID("docker://5b")))

    assert other.started_at == clock.now()
    assert await daemon_clock.container(first) == before


@pytest.mark.parametrize("can_ask", [True, False])
async def test_no_container_starts_before_it_is_created_when_a_clock_is_set_back(
    clock: FakeClock, *, can_ask: bool
) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon_clock = DaemonClock(clock, daemon.time if can_ask else None)
    made = daemon.running()
    await daemon_clock.container(replace(made, started_at=None))
    daemon.ahead = timedelta(days=-2)
    await clock.advance(5 * SECOND)

    found = await daemon_clock.container(replace(made, started_at=daemon.now()))

    assert found.created_at == START
    assert found.started_at == (clock.now() if can_ask else START)


@pytest.mark.parametrize("step", [1, -1], ids=["forwards", "backwards"])
async def test_a_clock_that_is_set_by_an_hour_is_noticed_with_the_next_start(
    clock: FakeClock, step: int
) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon_clock = DaemonClock(clock, daemon.time)
    await daemon_clock.container(daemon.running())

    daemon.ahead = step * timedelta(hours=1)
    other = ContainerID("docker://5b")
    daemon_clock.started(other, clock.now())
    found = await daemon_clock.container(daemon.running(other))

    assert found.started_at == clock.now()


async def test_what_was_started_by_others_in_the_future_has_it_measured_again(
    clock: FakeClock,
) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon_clock = DaemonClock(clock, daemon.time)
    await daemon_clock.container(daemon.running())
    daemon.ahead = 45 * SECOND

    found = await daemon_clock.container(daemon.running(ContainerID("docker://5b")))

    assert found.started_at == START
    assert daemon_clock.offset == 45 * SECOND


async def test_the_daemon_clock_is_read_rarely_and_only_for_new_containers(
    clock: FakeClock,
) -> None:
    daemon = FakeDaemon(clock, timedelta())
    daemon_clock = DaemonClock(clock, daemon.time)
    known = daemon.running()
    await daemon_clock.container(known)
    await daemon_clock.container(daemon.running(ContainerID("docker://5b")))
    assert daemon.asked == 1

    await clock.advance(GOOD_FOR + SECOND)
    await daemon_clock.container(known)
    assert daemon.asked == 1

    await daemon_clock.container(daemon.running(ContainerID("docker://6c")))
    assert daemon.asked == 2


async def test_a_container_that_is_started_again_has_a_start_of_its_own(
    clock: FakeClock,
) -> None:
    daemon = FakeDaemon(clock, 45 * SECOND)
    daemon_clock = DaemonClock(clock, daemon.time)
    await daemon_clock.container(daemon.running())
    await clock.advance(5 * SECOND)

    again = await daemon_clock.container(daemon.running())

    assert again.started_at == at(5)


async def test_the_end_is_never_before_the_start(clock: FakeClock) -> None:
    daemon_clock = DaemonClock(clock)
    await clock.advance(9 * SECOND)
    running = RuntimeContainerStatus(APP, "app", RuntimeState.RUNNING, at(1), at(5))
    await daemon_clock.container(running)
    daemon_clock.sample(at(9) + 45 * SECOND, at(9), at(9))

    ended = RuntimeContainerStatus(
        APP, "app", RuntimeState.EXITED, at(1), at(5), at(47)
    )
    found = await daemon_clock.container(ended)

    assert (found.started_at, found.finished_at) == (at(5), at(5))


async def test_what_has_never_happened_stays_so(clock: FakeClock) -> None:
    daemon_clock = DaemonClock(clock)
    daemon_clock.sample(at(45), START, START)
    never = datetime.fromtimestamp(0, UTC)
    created = RuntimeContainerStatus(APP, "app", RuntimeState.CREATED, never)

    found = await daemon_clock.container(created)

    assert (found.created_at, found.started_at) == (never, None)


async def test_sandboxes_and_lines_of_logs_are_converted_too(clock: FakeClock) -> None:
    daemon = FakeDaemon(clock, 45 * SECOND)
    daemon_clock = DaemonClock(clock, daemon.time)
    sandbox = SandboxStatus("5a", is_ready=True, created_at=daemon.now())

    found = await daemon_clock.sandbox(sandbox)

    assert found.created_at == START
    assert daemon_clock.log_line(LogLine(at(46), "hello")) == LogLine(at(1), "hello")


async def test_an_offset_and_its_changes_are_reported_once(clock: FakeClock) -> None:
    daemon_clock = DaemonClock(clock)
    offsets: list[timedelta] = []
    daemon_clock.on_offset(offsets.append)

    for ahead in (0.9, 45, 45.5, 44.5, -45, 0):
        daemon_clock.sample(START + ahead * SECOND, START, START)

    assert offsets == [45 * SECOND, -45 * SECOND, timedelta()]


@pytest.mark.parametrize(
    "year",
    [
        pytest.param(1970, id="never"),
        pytest.param(2300, id="too far"),
        pytest.param(9999, id="the end of time"),
    ],
)
async def test_what_cannot_be_is_no_measurement_and_not_later_than_now(
    clock: FakeClock, year: int
) -> None:
    theirs = datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)

    async def ask() -> datetime:
        return theirs

    daemon_clock = DaemonClock(clock, ask)
    daemon_clock.started(APP, START)
    running = RuntimeContainerStatus(APP, "app", RuntimeState.RUNNING, theirs, theirs)

    found = await daemon_clock.container(running)

    assert not daemon_clock.offset
    assert found.started_at == min(theirs, START)
