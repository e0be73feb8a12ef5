"""The engine on virtual time: a heap of instants, and no event loop at all."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from datetime import datetime, timedelta

from probetui.drive.world import World
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import Fact, Input
from probetui.kubelet.journal import Entry
from probetui.kubelet.turn import Turn


class Simulation:
    """An engine and a world, and the time between them.

    Args:
        engine: the decisions; owned by this simulation from now on.
        world: answers what the engine wants.
        started_at: the engine's beginning.
    """

    def __init__(self, engine: Engine, world: World, started_at: datetime) -> None:
        self.engine = engine
        self.now = started_at
        self._world = world
        self._facts: list[tuple[datetime, int, Fact]] = []
        self._count = 0
        self._journal: list[Entry] = []

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry so far, oldest first."""
        return self._journal

    def submit(self, item: Input) -> None:
        """Hand something to the engine at this instant."""
        self._take(self.engine.submit(item, self.now))

    def run_for(self, length: timedelta) -> None:
        """Let time pass."""
        self.run_until(self.now + length)

    def run_until(self, end: datetime) -> None:
        """Let time pass up to an instant, and everything happen that is due by then."""
        while (at := self._next()) is not None and at <= end:
            self.now = max(self.now, at)
            if self._facts and self._facts[0][0] <= self.now:
                _, _, fact = heapq.heappop(self._facts)
                self._take(self.engine.submit(fact, self.now))
            else:
                self._take(self.engine.advance(self.now))
        self.now = max(self.now, end)

    def _next(self) -> datetime | None:
        deadline = self.engine.next_deadline()
        if not self._facts:
            return deadline
        fact_at = self._facts[0][0]
        return fact_at if deadline is None else min(fact_at, deadline)

    def _take(self, turn: Turn) -> None:
        self._journal.extend(turn.entries)
        for effect in turn.effects:
            at, fact = self._world.answer(effect, self.now)
            self._count += 1
            heapq.heappush(self._facts, (at, self._count, fact))
