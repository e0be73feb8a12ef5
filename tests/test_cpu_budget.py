"""The CPU budget: readers suspend after long work, and continue one at a time."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from probetui.cpu_budget import CPUBudget, RestSchedule


def work(seconds: float) -> None:
    """Use CPU time, however busy the machine is."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def ran_meanwhile(budget: CPUBudget) -> bool:
    """Return whether another task runs while a reader yields."""
    ran = asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await budget.give_way()
    return ran.is_set()


async def test_a_reader_suspends_after_long_work() -> None:
    budget = CPUBudget()
    work(0.003)

    assert await ran_meanwhile(budget)
    assert not await ran_meanwhile(CPUBudget())


async def test_the_budget_restarts_after_a_rest() -> None:
    budget = CPUBudget()
    work(0.003)

    await budget.give_way()

    assert not await ran_meanwhile(budget)


async def test_a_short_wait_does_not_restart_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a peer that sends byte by byte would use the whole processor."""
    # Independent of how long the waits take on a busy machine.
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 0.0)
    here, there = socket.socketpair()
    budget = CPUBudget()
    with here, there:
        there.send(b"a")
        for _ in range(10):
            work(0.0003)
            await budget.wait_readable(here)
    monkeypatch.undo()

    assert await ran_meanwhile(budget)


async def test_a_long_wait_restarts_the_budget() -> None:
    here, there = socket.socketpair()
    budget = CPUBudget()
    work(0.003)
    with here, there:
        asyncio.get_running_loop().call_later(0.03, there.send, b"a")
        await budget.wait_readable(here)

    assert not await ran_meanwhile(budget)


@pytest.mark.parametrize(
    ("used", "rests"),
    [
        pytest.param(0.002, [0.008, 0.012, 0.016], id="one after the other"),
        pytest.param(0.1, [0.25, 0.25, 0.25], id="not for long"),
    ],
)
def test_resting_readers_continue_one_after_the_other(
    used: float, rests: list[float]
) -> None:
    schedule = RestSchedule()

    found = [schedule.rest_seconds(10, used) for _ in rests]

    assert found == pytest.approx(rests)


async def test_readers_whose_rests_end_together_continue_in_separate_turns() -> None:
    schedule = RestSchedule()
    turn, turns = 0, []

    async def rest() -> None:
        await schedule.rest(0)
        turns.append(turn)

    readers = [asyncio.create_task(rest()) for _ in range(5)]
    while len(turns) < len(readers):
        await asyncio.sleep(0)
        turn += 1

    assert len(set(turns)) == len(readers)


def test_a_reader_alone_works_for_a_fifth_of_the_time() -> None:
    schedule, now = RestSchedule(), 10.0

    for _ in range(3):
        rest = schedule.rest_seconds(now, 0.002)

        assert rest == pytest.approx(0.008)
        now += 0.002 + rest


async def test_a_reader_of_a_socket_continues_when_data_arrives() -> None:
    here, there = socket.socketpair()
    with here, there:
        waiting = asyncio.create_task(CPUBudget().wait_readable(here))
        await asyncio.sleep(0)
        assert not waiting.done()

        there.send(b"a")

        await waiting


async def test_a_cancelled_wait_for_a_socket_leaves_no_reader() -> None:
    here, there = socket.socketpair()
    with here, there:
        waiting = asyncio.create_task(CPUBudget().wait_readable(here))
        await asyncio.sleep(0)

        waiting.cancel()

        await asyncio.wait([waiting])
        assert not asyncio.get_running_loop().remove_reader(here)
