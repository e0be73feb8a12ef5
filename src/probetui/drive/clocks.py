"""Real clocks; besides `lateness`, nothing else in probetui reads a clock."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

LONGEST_SLEEP_SECONDS = 1.0
"""After so long awake a sleeper looks at the clock again.

The event loop's timers do not count the time that the machine is suspended.
"""


def elapsed_ns() -> int:
    """Return the nanoseconds since some instant, those of suspends included.

    Python's `time.monotonic` leaves suspends out, on Linux and on macOS. There
    CLOCK_MONOTONIC_RAW is `mach_continuous_time`; on Linux it is another clock.
    """
    return time.clock_gettime_ns(
        time.CLOCK_MONOTONIC_RAW if sys.platform == "darwin" else time.CLOCK_BOOTTIME
    )


def awake_ns() -> int:
    """Return the nanoseconds since some instant in which the machine was not suspended.

    For a session whose time is its own: nobody watched it meanwhile.
    """
    return time.monotonic_ns()


class SystemClock:
    """`ports.Clock` for real time.

    The wall clock is read once; from there a clock is followed that counts suspends.
    So instants never go backwards when somebody sets the wall clock, and an hour in
    which the machine was suspended has passed here too. What container runtimes say
    of the wall clock is brought to this one by `runtimes.daemon_clock`.

    Args:
        elapsed_ns: any clock that never goes backwards.
    """

    def __init__(self, elapsed_ns: Callable[[], int] = elapsed_ns) -> None:
        self._elapsed_ns = elapsed_ns
        self._started_at = datetime.now(UTC)
        self._started_ns = elapsed_ns()

    def now(self) -> datetime:
        """Return the instant, in UTC."""
        passed_ns = self._elapsed_ns() - self._started_ns
        return self._started_at + timedelta(microseconds=passed_ns // 1000)

    async def sleep_until(self, deadline: datetime) -> None:
        """Return at that instant or soon after; at once if it has passed.

        One that passes while the machine is suspended is noticed within
        `LONGEST_SLEEP_SECONDS` of its resume.
        """
        remaining = deadline - self.now()
        # The event loop may wake a sleeper a little too early.
        while remaining > timedelta():
            await asyncio.sleep(min(remaining.total_seconds(), LONGEST_SLEEP_SECONDS))
            remaining = deadline - self.now()
