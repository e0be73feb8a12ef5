"""A CPU budget for reading on the event loop, so that no peer holds it up.

Reading what is there already never suspends, and a peer may send faster than it can be
read. So work on what it sent is done for 2 ms of the processor, then the reader rests
for four times as long, and of many such readers one at a time goes on: time-outs fire
in time, other probes run, one peer costs at most a fifth of a core and all of them
together half of one. The processor's time is measured and not the clock's, because on a
busy machine a reader that was not scheduled has not held up anybody.
"""

from __future__ import annotations

import asyncio
import socket
import time

_BUDGET_SECONDS = 0.002
_REST_FACTOR = 4
_SHARED_FACTOR = 2
_LONGEST_REST_SECONDS = 0.25


class RestSchedule:
    """Schedules when readers that have used up their budgets continue, one by one.

    Where the machine is so busy that many rests are over at once, one reader goes on in
    each turn of the event loop.
    """

    def __init__(self) -> None:
        self._next_at = 0.0
        self._taken_in: asyncio.AbstractEventLoop | None = None

    async def rest(self, used: float) -> None:
        """Suspend after so many seconds of work."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.rest_seconds(loop.time(), used))
        while self._taken_in is loop:  # noqa: ASYNC110  # an event would let all go on
            await asyncio.sleep(0)
        self._taken_in = loop
        loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._taken_in = None

    def rest_seconds(self, now: float, used: float) -> float:
        """Return for how long to rest after so many seconds of work."""
        latest = now + _LONGEST_REST_SECONDS
        goes_on_at = min(max(now + used * _REST_FACTOR, self._next_at), latest)
        self._next_at = goes_on_at + used * _SHARED_FACTOR
        return goes_on_at - now


_SCHEDULE = RestSchedule()
"""One for all: the readers share a thread."""


class CPUBudget:
    """The CPU time that one reader has before it must pause.

    It is the event loop's thread that is measured, between two suspensions of the
    reader. Waiting for the peer counts as rest.
    """

    __slots__ = ("_began_at", "_used")

    def __init__(self) -> None:
        self._used = 0.0
        self._began_at = time.thread_time()

    async def give_way(self) -> None:
        """Suspend, if the budget is used up."""
        used = self._used + time.thread_time() - self._began_at
        if used > _BUDGET_SECONDS:
            await _SCHEDULE.rest(used)
            self._used = 0.0
            self._began_at = time.thread_time()

    async def wait_readable(self, source: socket.socket) -> None:
        """Suspend until a socket has something to read, or has ended."""
        self._used += time.thread_time() - self._began_at
        loop = asyncio.get_running_loop()
        waits_from = loop.time()
        await wait_readable(source)
        rested = (loop.time() - waits_from) / _REST_FACTOR
        self._used = max(self._used - rested, 0.0)
        self._began_at = time.thread_time()


async def wait_readable(source: socket.socket) -> None:
    """Suspend until a socket has something to read, or has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = source.fileno()
    loop.add_reader(descriptor, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def wait_writable(target: socket.socket) -> None:
    """Suspend until a socket takes something, or has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = target.fileno()
    loop.add_writer(descriptor, _resolve, ready)
    try:
        await ready
    finally:
        loop.remove_writer(descriptor)


def _resolve(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
