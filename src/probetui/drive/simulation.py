"""The engine on virtual time: a heap of instants, and no event loop at all."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from probetui.drive.session_journal import SessionJournal
from probetui.drive.world import World
from probetui.kubelet.engine import Engine
from probetui.kubelet.inputs import Input
from probetui.kubelet.journal import Entry
from probetui.kubelet.turn import Turn

Journal = list[Entry] | SessionJournal
"""Where entries are kept."""

Hear = Callable[[Input | None, datetime], None]
"""Told of every input before the engine sees it, of None where only time passes."""


def hear_nothing(_item: Input | None, _now: datetime) -> None:
    """Let inputs pass."""


class Simulation:
    """An engine and a world, and the time between them.

    It can be pickled, but for its journal and who hears its inputs: those are given
    to it again with `attach`.

    Args:
        engine: the decisions; owned by this simulation from now on.
        world: answers what the engine wants.
        started_at: the engine's beginning.
        journal: where its entries go.
        hear: hears its inputs.

    Attributes:
        now: the instant it has come to.
        turns: how often the engine has been spoken to.
        entries: how many entries came of that.
    """

    def __init__(
        self,
        engine: Engine,
        world: World,
        started_at: datetime,
        journal: Journal | None = None,
        hear: Hear = hear_nothing,
    ) -> None:
        self.engine = engine
        self.now = started_at
        self.turns = 0
        self.entries = 0
        self._world = world
        self._coming: list[tuple[datetime, int, Input]] = []
        self._count = 0
        self.attach([] if journal is None else journal, hear)

    def attach(self, journal: Journal, hear: Hear) -> None:
        """Put entries there from now on, and let this one hear inputs."""
        self._journal = journal
        self._hear = hear

    def __getstate__(self) -> dict[str, Any]:
        """Return all that decides about what comes next."""
        state = dict(vars(self))
        del state["_journal"], state["_hear"]
        return state

    @property
    def journal(self) -> Sequence[Entry]:
        """Every entry so far, oldest first."""
        return self._journal

    def submit(self, item: Input) -> Turn:
        """Hand something to the engine at this instant."""
        self._hear(item, self.now)
        return self._take(self.engine.submit(item, self.now))

    def schedule(self, item: Input, at: datetime) -> None:
        """Hand something to the engine at an instant to come."""
        self._count += 1
        heapq.heappush(self._coming, (at, self._count, item))

    def next_at(self) -> datetime | None:
        """Return when something is due next, None for never."""
        deadline = self.engine.next_deadline()
        if not self._coming:
            return deadline
        comes_at = self._coming[0][0]
        return comes_at if deadline is None else min(comes_at, deadline)

    def turn(self) -> Turn:
        """Let time pass until something is due, and that happen."""
        at = self.next_at()
        if at is not None:
            self.pass_until(at)
        if self._coming and self._coming[0][0] <= self.now:
            _, _, item = heapq.heappop(self._coming)
            return self.submit(item)
        self._hear(None, self.now)
        return self._take(self.engine.advance(self.now))

    def pass_until(self, instant: datetime) -> None:
        """Let time pass in which nothing is due."""
        self.now = max(self.now, instant)

    def run_for(self, length: timedelta) -> None:
        """Let time pass."""
        self.run_until(self.now + length)

    def run_until(self, end: datetime) -> None:
        """Let time pass up to an instant, and everything happen that is due by then."""
        while (at := self.next_at()) is not None and at <= end:
            self.turn()
        self.pass_until(end)

    def _take(self, turn: Turn) -> Turn:
        self.turns += 1
        self.entries += len(turn.entries)
        self._journal.extend(turn.entries)
        for effect in turn.effects:
            at, fact = self._world.answer(effect, self.now)
            self.schedule(fact, at)
        return turn
