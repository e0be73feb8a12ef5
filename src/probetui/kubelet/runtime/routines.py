"""Routines: generators that yield operations and are sent their results.

A routine reads like the kubelet's blocking code and does no I/O. It yields a `Step` and
is sent a `StepResult`; its return value goes to its starter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec import Struct, field

from probetui.kubelet.effects import Operation, RunOperation
from probetui.kubelet.facts import OperationFinished, OperationValue
from probetui.kubelet.runtime.timers import Timers
from probetui.kubelet.runtime.turn import TurnBuilder

T = TypeVar("T")
NO_OPERATIONS: Mapping[int, Operation] = MappingProxyType({})


class StepResult(Struct, frozen=True):
    """The result of a step, and its time.

    `results` are those of the routines of a `Gather`, in order. `timed_out` says
    that a `WithTimeout` operation or a `WaitFor` ended by its limit. `fallback_host` is
    that of a hook, `config_error` as in `OperationFinished`.
    """

    at: datetime
    value: OperationValue = None
    error: str | None = None
    not_found: bool = False
    timed_out: bool = False
    results: tuple[Any, ...] = ()
    fallback_host: str = ""
    config_error: bool = False


class OneShotEvent:
    """An event that is set once; routines of one runner can wait for it."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Set the event."""
        self.is_set = True


class WithTimeout(Struct, frozen=True):
    """An operation with a deadline, after which it continues unattended.

    `if_late` is called with its result if that comes after the instant.
    """

    operation: Operation
    until: datetime
    if_late: Callable[[StepResult], None]


class WaitFor(Struct, frozen=True):
    """Wait until all latches are set, or until an instant."""

    events: tuple[OneShotEvent, ...]
    until: datetime


class Gather(Struct, frozen=True):
    """Run routines concurrently and wait for all of them."""

    routines: tuple[Routine[Any], ...]


NOW = WaitFor((), datetime.min.replace(tzinfo=UTC))
"""A step that waits for nothing: its outcome is the instant."""

Step = Operation | WithTimeout | WaitFor | Gather
Routine = Generator[Step, StepResult, T]


class _Task(Struct):
    """A routine under way; owned by the runner."""

    number: int
    pod_uid: str
    routine: Routine[Any]
    done: Callable[[Any, datetime], None]
    operation_id: int | None = None
    if_late: Callable[[StepResult], None] | None = None
    results: list[Any] = field(default_factory=list)
    missing: int = 0


class RoutineRunner:
    """Runs routines step by step; owned by the engine.

    Args:
        turn: collects the effects.
    """

    def __init__(self, turn: TurnBuilder) -> None:
        self._turn = turn
        self._tasks: dict[int, _Task] = {}
        self._waiting_for: dict[int, tuple[OneShotEvent, ...]] = {}
        self._by_operation: dict[int, int] = {}
        self._late: dict[int, Callable[[StepResult], None]] = {}
        self._operations: dict[str, dict[int, Operation]] = {}
        self._limits: Timers[int] = Timers()
        self._last_number = 0

    def start(
        self,
        pod_uid: str,
        routine: Routine[T],
        done: Callable[[T, datetime], None],
        now: datetime,
    ) -> None:
        """Run a routine to its first wait; `done` gets its return value and instant."""
        self._last_number += 1
        task = _Task(self._last_number, pod_uid, routine, done)
        self._tasks[task.number] = task
        self._advance(task, None, now)
        self.resume_released(now)

    def finish(self, finished: OperationFinished, now: datetime) -> bool:
        """Send an operation's outcome to its routine; return False if none waits."""
        outcome = StepResult(
            now,
            finished.value,
            finished.error,
            finished.not_found,
            fallback_host=finished.fallback_host,
            config_error=finished.config_error,
        )
        number = self._by_operation.pop(finished.operation_id, None)
        if number is None:
            if_late = self._late.pop(finished.operation_id, None)
            if if_late is not None:
                if_late(outcome)
            return if_late is not None
        task = self._tasks[number]
        self._end_operation(task, finished.operation_id)
        self._limits.cancel(number)
        self._advance(task, outcome, now)
        self.resume_released(now)
        return True

    def operations(self, pod_uid: str) -> Mapping[int, Operation]:
        """Return the running operations of a pod by ID, oldest first."""
        return self._operations.get(pod_uid, NO_OPERATIONS)

    def next_deadline(self) -> datetime | None:
        """Return the next time limit, or None."""
        return self._limits.next_deadline()

    def run_due(self, now: datetime) -> None:
        """Resume the routines whose time limit has passed."""
        while (number := self._limits.pop_due(now)) is not None:
            task = self._tasks[number]
            if task.operation_id is not None:
                del self._by_operation[task.operation_id]
                if task.if_late is not None:
                    self._late[task.operation_id] = task.if_late
                self._end_operation(task, task.operation_id)
            self._waiting_for.pop(number, None)
            self._advance(task, StepResult(now, timed_out=True), now)
            self.resume_released(now)

    def _advance(self, task: _Task, outcome: StepResult | None, now: datetime) -> None:
        """Run a routine until it waits or ends."""
        while True:
            try:
                step = (
                    next(task.routine)
                    if outcome is None
                    else task.routine.send(outcome)
                )
            except StopIteration as end:
                del self._tasks[task.number]
                task.done(end.value, now)
                return
            if self._wait_for(task, step, now):
                return
            outcome = StepResult(now, results=tuple(task.results))

    def _wait_for(self, task: _Task, step: Step, now: datetime) -> bool:
        """Prepare a task to wait; return False if there is nothing to wait for."""
        task.results = []
        match step:
            case Gather(routines):
                return self._start_gather(task, routines, now)
            case WaitFor(events, until):
                if until <= now or (events and all(event.is_set for event in events)):
                    return False
                if events:
                    self._waiting_for[task.number] = events
                self._limits.set(task.number, until)
            case WithTimeout(operation, until, if_late):
                self._emit(task, operation)
                task.if_late = if_late
                self._limits.set(task.number, until)
            case _:
                self._emit(task, step)
        return True

    def _start_gather(
        self, task: _Task, routines: tuple[Routine[Any], ...], now: datetime
    ) -> bool:
        task.results = [None] * len(routines)
        # One more than the routines: the task must not resume before all have started.
        task.missing = len(routines) + 1

        def collect(index: int) -> Callable[[Any, datetime], None]:
            def done(value: Any, at: datetime) -> None:
                task.results[index] = value
                task.missing -= 1
                if task.missing == 0:
                    self._advance(task, StepResult(at, results=tuple(task.results)), at)

            return done

        for index, routine in enumerate(routines):
            self.start(task.pod_uid, routine, collect(index), now)
        task.missing -= 1
        return task.missing > 0

    def _emit(self, task: _Task, operation: Operation) -> None:
        operation_id = self._turn.next_id()
        task.operation_id = operation_id
        self._by_operation[operation_id] = task.number
        self._operations.setdefault(task.pod_uid, {})[operation_id] = operation
        self._turn.emit(RunOperation(operation_id, task.pod_uid, operation))

    def _end_operation(self, task: _Task, operation_id: int) -> None:
        of_pod = self._operations[task.pod_uid]
        del of_pod[operation_id]
        if not of_pod:
            del self._operations[task.pod_uid]
        task.operation_id = task.if_late = None

    def resume_released(self, now: datetime) -> None:
        """Resume the routines whose latches were set outside the runner."""
        while self._waiting_for and (number := self._released()) is not None:
            del self._waiting_for[number]
            self._limits.cancel(number)
            self._advance(self._tasks[number], StepResult(now), now)

    def _released(self) -> int | None:
        """Return the oldest task whose latches are all set, None if there is none."""
        return min(
            (
                number
                for number, events in self._waiting_for.items()
                if all(event.is_set for event in events)
            ),
            default=None,
        )
