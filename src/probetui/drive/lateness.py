"""How late the event loop is, and whose lateness it is: ours or the machine's.

Processor times decide: a process that ran nearly all the time delayed itself; one that
was ready but not running was delayed by others; one that was neither was stopped.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from probetui.engine.snapshot import LatenessCause, LatenessOwner
from probetui.ports import Clock
from probetui.untrusted_files import read_kernel_file

_SCHEDSTAT = Path("/proc/self/schedstat")
"""Linux only. Source: the kernel's Documentation/scheduler/sched-stats.rst."""


class ProcessorTimes(Struct, frozen=True):
    """How long this process has run, and its main thread waited for a processor.

    In nanoseconds; `waited_ns` is None if the kernel does not report it.
    """

    ran_ns: int
    waited_ns: int | None


def processor_times() -> ProcessorTimes:
    """Return the processor times of this process up to now."""
    try:
        waited_ns = int(read_kernel_file(_SCHEDSTAT).split()[1])
    except (OSError, IndexError):
        return ProcessorTimes(time.process_time_ns(), None)
    return ProcessorTimes(time.process_time_ns(), waited_ns)


BEAT = timedelta(milliseconds=100)
"""How often the lag is measured."""

LATE_BEAT = timedelta(milliseconds=50)
"""The shortest lag whose cause is determined."""

CAUSE_WINDOW = timedelta(seconds=10)
"""The window over which causes of lag are summed."""

NEARLY_ALWAYS = 0.75
"""The share of running time above which a process has delayed itself."""


class _LateBeat(Struct, frozen=True):
    """A beat that came late, and what the process did while it was not idle."""

    at: datetime
    passed: timedelta
    ran: timedelta
    waited: timedelta | None


class LoopWatch:
    """The `ports.LagSource` of the event loop that runs `run`.

    Every task on this loop is late by as much, be it for a slow callback, a busy
    machine, a stopped process or a suspended machine.

    Args:
        clock: one that counts suspends.
        times: returns how long this process has run and waited.
    """

    def __init__(
        self, clock: Clock, times: Callable[[], ProcessorTimes] = processor_times
    ) -> None:
        self._clock = clock
        self._times = times
        self._lost = timedelta()
        self._due_at: datetime | None = None
        self._late_beats: deque[_LateBeat] = deque()

    def lost(self, now: datetime) -> timedelta:
        """Return the total lateness of the loop up to now."""
        return self._lost + self._late(now)

    def cause(self, now: datetime) -> LatenessCause | None:
        """Return the cause of the lag in the last ten seconds; None without any lag.

        The cause is this process if it ran nearly all the time, the machine if it
        waited for a processor, and otherwise a stop of the process or the machine. None
        also if the kernel does not account for waiting.
        """
        while self._late_beats and now - self._late_beats[0].at > CAUSE_WINDOW:
            self._late_beats.popleft()
        passed = sum((beat.passed for beat in self._late_beats), timedelta())
        if not passed:
            return None
        ran = sum((beat.ran for beat in self._late_beats), timedelta()) / passed
        if ran > NEARLY_ALWAYS:
            return LatenessCause(LatenessOwner.PROBETUI, min(ran, 1.0))
        waits = [beat.waited for beat in self._late_beats if beat.waited is not None]
        if not waits:
            return None
        waited = sum(waits, timedelta()) / passed
        if waited >= 1 - ran - waited:
            return LatenessCause(LatenessOwner.MACHINE, min(waited, 1.0))
        return LatenessCause(LatenessOwner.STOP, 1 - ran - waited)

    async def run(self) -> None:
        """Measure how late this task wakes, and why, until cancelled."""
        began_at, before = self._clock.now(), self._times()
        while True:
            self._due_at = began_at + BEAT
            await self._clock.sleep_until(self._due_at)
            now, after = self._clock.now(), self._times()
            late = self._late(now)
            self._lost += late
            if late > LATE_BEAT:
                self._late_beats.append(_late_beat(now, now - began_at, before, after))
            began_at, before = now, after

    def _late(self, now: datetime) -> timedelta:
        if self._due_at is None or now < self._due_at:
            return timedelta()
        return now - self._due_at


def _late_beat(
    at: datetime, passed: timedelta, before: ProcessorTimes, after: ProcessorTimes
) -> _LateBeat:
    ran = timedelta(microseconds=(after.ran_ns - before.ran_ns) // 1000)
    waited = None
    if before.waited_ns is not None and after.waited_ns is not None:
        waited = timedelta(microseconds=(after.waited_ns - before.waited_ns) // 1000)
    # Before the deadline, nothing had to run.
    idle = min(max(passed - ran - (waited or timedelta()), timedelta()), BEAT)
    return _LateBeat(at, passed - idle, ran, waited)
