"""What becomes of each effect of an engine: it is answered once, or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import is_not

from probetui.drive.executor import Executor, FactReporter, _name
from probetui.engine.engine import Engine
from probetui.engine.inputs import Fact, Input, LastOutputRead, ListenersFound
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.effects import (
    Effect,
    FindListeners,
    GetRuntimeStatus,
    ListImages,
    ReadLastOutput,
    Relist,
    RunOperation,
    RunProbe,
)
from probetui.kubelet.facts import (
    ImagesListed,
    OperationFinished,
    ProbeFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
)
from probetui.kubelet.runtime.turn import Turn
from probetui.ports import Clock, HookRunner, Prober, Runtime

_ANSWERS = (
    ProbeFinished,
    OperationFinished,
    Relisted,
    RelistFailed,
    RuntimeStatusRead,
    ImagesListed,
    ListenersFound,
    LastOutputRead,
)


class WatchedEngine(Engine):
    """An engine that notes which effects it asked for.

    Attributes:
        asked: those that nobody has begun to carry out, and when they were asked for.
    """

    def __init__(self, config: KubeletConfig, started_at: datetime) -> None:
        super().__init__(config, started_at)
        self.asked: list[tuple[Effect, datetime]] = []

    def advance(self, now: datetime) -> Turn:
        turn = super().advance(now)
        self.asked += [(effect, now) for effect in turn.effects]
        return turn


class WatchedExecutor(Executor):
    """An executor that notes what it answers.

    Args:
        engine: whose effects they are.
        is_over: whether the session has ended, which gives up what is under way.

    Attributes:
        answers: all of them, in the order in which they were reported.
        broken: what does not hold of effects.
    """

    def __init__(
        self,
        runtime: Runtime,
        prober: Prober,
        hooks: HookRunner,
        clock: Clock,
        engine: WatchedEngine,
        is_over: Callable[[], bool],
    ) -> None:
        super().__init__(runtime, prober, hooks, clock)
        self._engine = engine
        self._is_over = is_over
        self.answers: list[Fact] = []
        self.broken: list[str] = []

    async def execute(self, effect: Effect, report: FactReporter) -> None:
        asked = self._engine.asked
        begun = next(n for n, (other, _) in enumerate(asked) if other is effect)
        del asked[begun]
        answers: list[Fact] = []

        def note(fact: Fact) -> None:
            if isinstance(fact, _ANSWERS):
                answers.append(fact)
                self.answers.append(fact)
            report(fact)

        try:
            await super().execute(effect, note)
        except asyncio.CancelledError:
            if not self._is_over():
                self.broken.append(f"{_name(effect)} is given up while others go on")
            raise
        if len(answers) != 1 or not _is_answer(effect, answers[0]):
            self.broken.append(f"{_name(effect)} is answered by {answers}")

    def unanswered(self, inputs: Sequence[tuple[Input | None, datetime]]) -> list[str]:
        """Return what does not hold at the end of a session with these inputs."""
        given = [item for item, _ in inputs if isinstance(item, _ANSWERS)]
        broken = list(self.broken)
        # Those that come with the end are not read.
        if any(map(is_not, given, self.answers)) or len(given) > len(self.answers):
            broken.append("an answer is lost, or given in another order")
        last = inputs[-1][1] if inputs else None
        broken += [
            f"{_name(effect)} was never begun"
            for effect, at in self._engine.asked
            if at != last
        ]
        return broken


def _is_answer(effect: Effect, fact: Fact) -> bool:
    match effect, fact:
        case (
            (RunProbe(probe_id=asked), ProbeFinished(probe_id=answered))
            | (
                RunOperation(operation_id=asked),
                OperationFinished(operation_id=answered),
            )
            | (FindListeners(container_id=asked), ListenersFound(container_id=answered))
            | (
                ReadLastOutput(container_id=asked),
                LastOutputRead(container_id=answered),
            )
        ):
            return asked == answered
        case (
            (Relist(), Relisted() | RelistFailed())
            | (GetRuntimeStatus(), RuntimeStatusRead())
            | (ListImages(), ImagesListed())
        ):
            return True
        case _:
            return False
