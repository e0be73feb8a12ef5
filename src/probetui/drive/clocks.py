"""The time of the real world; nothing else in probetui reads a clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


class SystemClock:
    """`ports.Clock` for real time.

    The wall clock is read once; from there the monotonic clock is followed. So
    instants compare with those of container runtimes, and never go backwards when
    somebody sets the wall clock. `elapsed_ns` is any clock that never goes backwards.
    """

    def __init__(self, elapsed_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._elapsed_ns = elapsed_ns
        self._started_at = datetime.now(UTC)
        self._started_ns = elapsed_ns()

    def now(self) -> datetime:
        """Return the instant, in UTC."""
        elapsed_ns = self._elapsed_ns() - self._started_ns
        return self._started_at + timedelta(microseconds=elapsed_ns // 1000)

    async def sleep_until(self, deadline: datetime) -> None:
        """Return at that instant or soon after; at once if it has passed."""
        remaining = deadline - self.now()
        # The event loop may wake a sleeper a little too early.
        while remaining > timedelta():
            await asyncio.sleep(remaining.total_seconds())
            remaining = deadline - self.now()
