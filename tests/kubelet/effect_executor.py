"""Runs routines step by step; the test answers their operations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from probetui.kubelet.effects import Effect, Operation, RunOperation
from probetui.kubelet.facts import OperationFinished, OperationValue
from probetui.kubelet.journal import EventEntry, JournalEntry
from probetui.kubelet.runtime.routines import Routine, RoutineRunner
from probetui.kubelet.runtime.turn import TurnBuilder
from tests.builders import START

E = TypeVar("E", bound=JournalEntry)


class EffectExecutor:
    """A routine runner with its turns, and a clock that the test advances.

    `returned` has the results of finished routines, in the order of their ends.
    """

    def __init__(self) -> None:
        self.turn_builder = TurnBuilder()
        self.runner = RoutineRunner(self.turn_builder)
        self.now = START
        self.returned: list[Any] = []
        self._unanswered: list[RunOperation] = []
        self._entries: list[JournalEntry] = []

    def start(self, routine: Routine[Any], pod_uid: str = "uid-of-web") -> None:
        """Start a routine and run it to its first wait."""

        def record_result(value: Any, _at: datetime) -> None:
            self.returned.append(value)

        self.runner.start(pod_uid, routine, record_result, self.now)

    def pending_operations(self) -> list[Operation]:
        """Return the operations without an answer, oldest first."""
        self._finish_turn()
        return [operation.operation for operation in self._unanswered]

    def answer(
        self,
        value: OperationValue = None,
        *,
        error: str | None = None,
        not_found: bool = False,
        fallback_host: str = "",
        config_error: bool = False,
        index: int = 0,
        after: float = 0,
    ) -> bool:
        """Answer a pending operation, by default the oldest one."""
        self.now += timedelta(seconds=after)
        self._finish_turn()
        effect = self._unanswered.pop(index)
        finished = OperationFinished(
            effect.operation_id, value, error, not_found, fallback_host, config_error
        )
        return self.runner.finish(finished, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)
        self.runner.run_due(self.now)

    def entries(self, kind: type[E]) -> list[E]:
        """Return the entries of one kind so far."""
        self._finish_turn()
        return [entry for entry in self._entries if isinstance(entry, kind)]

    def events(self) -> list[tuple[str, str, str]]:
        """Return type, reason and message of every event so far."""
        return [
            (entry.event.type, entry.event.reason, entry.event.message)
            for entry in self.entries(EventEntry)
        ]

    def _finish_turn(self) -> None:
        turn = self.turn_builder.finish()
        self._entries += turn.entries
        self._unanswered += [_operation(effect) for effect in turn.effects]


def _operation(effect: Effect) -> RunOperation:
    assert isinstance(effect, RunOperation)
    return effect
