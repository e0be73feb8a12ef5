"""Event-loop lag: how late callbacks run, and why does not matter."""

from __future__ import annotations

from datetime import datetime, timedelta

from probetui.ports import Clock

BEAT = timedelta(milliseconds=100)
"""How often the loop should come round to this."""


class LoopWatch:
    """`ports.LostTime` of the event loop that runs `run`.

    Whatever is late on this loop is late by as much: a callback that takes long, a
    machine without time for this process, a process that was stopped, a machine that
    was suspended.

    Args:
        clock: one that counts suspends.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lost = timedelta()
        self._due_at: datetime | None = None

    def lost(self) -> timedelta:
        """Return for how long, all in all, the loop has been late until now."""
        return self._lost + self._late()

    async def run(self) -> None:
        """Look how late this is woken, until cancelled."""
        while True:
            self._due_at = self._clock.now() + BEAT
            await self._clock.sleep_until(self._due_at)
            self._lost += self._late()

    def _late(self) -> timedelta:
        if self._due_at is None:
            return timedelta()
        return max(self._clock.now() - self._due_at, timedelta())
