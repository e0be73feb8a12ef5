"""Real clocks; apart from `lateness`, no other module reads a clock."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

LONGEST_SLEEP_SECONDS = 1.0
"""The longest time between two readings of the clock during a sleep.

The event loop's timers do not count the time that the machine is suspended.
"""


def elapsed_ns() -> int:
    """Return a monotonic time in ns that includes suspends of the machine.

    Python's `time.monotonic` leaves suspends out, on Linux and on macOS. There
    CLOCK_MONOTONIC_RAW is `mach_continuous_time`; on Linux it is another clock.
    """
    return time.clock_gettime_ns(
        time.CLOCK_MONOTONIC_RAW if sys.platform == "darwin" else time.CLOCK_BOOTTIME
    )


def awake_ns() -> int:
    """Return a monotonic time in ns that excludes suspends of the machine.

    For a session on its own clock, which does not count the suspend.
    """
    return time.monotonic_ns()


class SystemClock:
    """`ports.Clock` for real time.

    The wall clock is read once; from there a clock is followed that counts suspends.
    So instants never go backwards when the wall clock is set, and an hour of suspend
    counts as an hour. `runtimes.daemon_clock` converts the times of container runtimes
    to this clock.

    Args:
        elapsed_ns: any clock that never goes backwards.
    """

    def __init__(self, elapsed_ns: Callable[[], int] = elapsed_ns) -> None:
        self._elapsed_ns = elapsed_ns
        self._started_at = datetime.now(UTC)
        self._started_ns = elapsed_ns()

    def now(self) -> datetime:
        """Return the current time in UTC."""
        passed_ns = self._elapsed_ns() - self._started_ns
        return self._started_at + timedelta(microseconds=passed_ns // 1000)

    async def sleep_until(self, deadline: datetime) -> None:
        """Sleep until an instant; return at once if it has passed.

        An instant that passes while the machine is suspended is noticed within
        `LONGEST_SLEEP_SECONDS` of its resume.
        """
        remaining = deadline - self.now()
        # The event loop may wake a sleeper a little too early.
        while remaining > timedelta():
            await asyncio.sleep(min(remaining.total_seconds(), LONGEST_SLEEP_SECONDS))
            remaining = deadline - self.now()
