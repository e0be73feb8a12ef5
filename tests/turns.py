"""Measure how long the event loop was blocked, in CPU time of its thread."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

LONGEST_TURN_SECONDS = 0.3
"""Ten times the usual longest turn, and a tenth of what delays a probe."""

_BEAT_SECONDS = 0.01


class Turns:
    """Measurements so far: the longest turn, in seconds, and the number of beats."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.beats = 0

    async def measure(self) -> None:
        """Measure until cancelled."""
        while True:
            began_at = time.thread_time()
            await asyncio.sleep(_BEAT_SECONDS)
            self.longest = max(self.longest, time.thread_time() - began_at)
            self.beats += 1


@contextlib.asynccontextmanager
async def measured_turns() -> AsyncIterator[Turns]:
    """Measure while the block runs and a little longer: the last turn counts too."""
    turns = Turns()
    task = asyncio.create_task(turns.measure())
    try:
        await asyncio.sleep(0)
        yield turns
        await asyncio.sleep(2 * _BEAT_SECONDS)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
