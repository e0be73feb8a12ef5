"""Simulation: the engine on virtual time, driven by a heap, without an event loop."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from probetui.drive.scenario.world import World
from probetui.drive.session_journal import SessionJournal
from probetui.engine.engine import Engine
from probetui.engine.inputs import Input
from probetui.kubelet.effects import Effect
from probetui.kubelet.facts import OperationFinished
from probetui.kubelet.journal import JournalEntry
from probetui.kubelet.runtime.turn import Turn

Journal = list[JournalEntry] | SessionJournal
"""Where the entries of a simulation go."""

InputListener = Callable[[Input | None, datetime], None]
"""Called with every input before the engine gets it; None where time alone passes."""


def ignore_input(_item: Input | None, _now: datetime) -> None:
    """Ignore an input."""


class Simulation:
    """An engine, a scripted world, and the virtual clock that both share.

    It can be pickled without its journal and input listener; `attach` sets them again.

    Args:
        engine: owned by this simulation from now on.
        world: answers the engine's effects.
        started_at: the instant at which the engine starts.
        journal: where its entries go.
        on_input: called with its inputs.

    Attributes:
        now: the virtual instant.
        turns: the number of inputs that the engine has been given.
        entries: the number of its journal entries.
    """

    def __init__(
        self,
        engine: Engine,
        world: World,
        started_at: datetime,
        journal: Journal | None = None,
        on_input: InputListener = ignore_input,
    ) -> None:
        self.engine = engine
        self.now = started_at
        self.turns = 0
        self.entries = 0
        self._world = world
        self._scheduled: list[tuple[datetime, int, Input]] = []
        self._count = 0
        self.attach([] if journal is None else journal, on_input)

    def attach(self, journal: Journal, on_input: InputListener) -> None:
        """Set the journal for entries and the callback for inputs."""
        self._journal = journal
        self._on_input = on_input

    def __getstate__(self) -> dict[str, Any]:
        """Return the state on which the future depends."""
        state = dict(vars(self))
        del state["_journal"], state["_on_input"]
        return state

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every entry so far, oldest first."""
        return self._journal

    def submit(self, item: Input) -> Turn:
        """Submit an input to the engine now."""
        self._on_input(item, self.now)
        return self._apply_turn(self.engine.submit(item, self.now))

    def schedule(self, item: Input, at: datetime) -> None:
        """Schedule an input for the engine at `at`."""
        self._count += 1
        heapq.heappush(self._scheduled, (at, self._count, item))

    def next_at(self) -> datetime | None:
        """Return the time of the next turn, None without one."""
        deadline = self.engine.next_deadline()
        if not self._scheduled:
            return deadline
        comes_at = self._scheduled[0][0]
        return comes_at if deadline is None else min(comes_at, deadline)

    def turn(self) -> Turn:
        """Advance to the next due instant and run its turn."""
        at = self.next_at()
        if at is not None:
            self.pass_until(at)
        if self._scheduled and self._scheduled[0][0] <= self.now:
            _, _, item = heapq.heappop(self._scheduled)
            return self.submit(item)
        self._on_input(None, self.now)
        return self._apply_turn(self.engine.advance(self.now))

    def pass_until(self, instant: datetime) -> None:
        """Advance to an instant before which nothing is due."""
        self.now = max(self.now, instant)

    def run_for(self, length: timedelta) -> None:
        """Run for a virtual time."""
        self.run_until(self.now + length)

    def run_until(self, end: datetime) -> None:
        """Run everything that is due up to an instant, and advance to it."""
        while (at := self.next_at()) is not None and at <= end:
            self.turn()
        self.pass_until(end)

    def _apply_turn(self, turn: Turn) -> Turn:
        self.turns += 1
        self.entries += len(turn.entries)
        self._journal.extend(turn.entries)
        self.carry_out(turn.effects)
        return turn

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Schedule the world's answers to effects of the engine."""
        for effect in effects:
            at, fact = self._world.answer(effect, self.now)
            self.schedule(fact, at)
        for at, finished in self._world.take_interrupted_hooks():
            self._cancel_operation(finished.operation_id)
            self.schedule(finished, at)

    def _cancel_operation(self, operation_id: int) -> None:
        """Discard the scheduled result of an operation."""
        self._scheduled = [
            entry
            for entry in self._scheduled
            if not isinstance(entry[2], OperationFinished)
            or entry[2].operation_id != operation_id
        ]
        heapq.heapify(self._scheduled)
