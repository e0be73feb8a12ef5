"""How long the event loop was held up, as its thread's time on the processor."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

LONGEST_TURN_SECONDS = 0.3
"""Ten times what was seen, and a tenth of what holds up a probe."""

_BEAT_SECONDS = 0.01


class Turns:
    """What was measured so far: the longest turn, in seconds, and how many beats."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.beats = 0

    async def measure(self) -> None:
        """Go on until cancelled."""
        while True:
            began_at = time.thread_time()
            await asyncio.sleep(_BEAT_SECONDS)
            self.longest = max(self.longest, time.thread_time() - began_at)
            self.beats += 1


@contextlib.asynccontextmanager
async def measured_turns() -> AsyncIterator[Turns]:
    """Measure while the body runs, and a moment longer: the last turn counts too."""
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
