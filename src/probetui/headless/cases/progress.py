"""Run a test case: do its actions in time, decide whether expectations are met."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.debugger.commands import (
    DelayProbes,
    InjectContainerFault,
)
from probetui.debugger.scope import Scope
from probetui.durations import format_duration
from probetui.headless.cases.case import (
    UNDOING,
    ActionKind,
    CaseAction,
    CaseStep,
    Expectation,
    Relation,
)
from probetui.headless.cases.commands import CaseCommand, action_command
from probetui.headless.cases.result import ExpectationResult, Failure, Outcome
from probetui.headless.condition import Condition, ConditionKind, ConditionWatch
from probetui.headless.verdict import EXIT_NO, EXIT_OK, Verdict
from probetui.k8s.event import EventType
from probetui.k8s.pod import Container, Pod
from probetui.k8s.pod_names import find_pods
from probetui.k8s.probe import ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.journal import (
    ContainerEntry,
    EventEntry,
    JournalEntry,
    LifecycleStep,
    NoteEntry,
    TickAction,
    TickEntry,
    UserEntry,
)
from probetui.kubelet.outcome import Result
from probetui.presentation.cause.obstacle import state_clauses
from probetui.presentation.plain.lines import PlainLines

_KEPT = 400
_KEPT_FOR_CAUSES = 50_000
"""The most entries that causes are read from; those of a case are hardly ever more."""

_MOST_LINES = 12
_LONGEST = 200
_ENDED = {LifecycleStep.EXITED, LifecycleStep.KILLED, LifecycleStep.GONE}
_NO_ONE_OFF = {Relation.EQUAL, Relation.AT_MOST, Relation.LESS}
"""Relations that a count which only grows cannot regain once it is too large."""


_KILLING = (ProbeType.STARTUP, ProbeType.LIVENESS)


_OF_STATES = (ProbeType.READINESS, ProbeType.STARTUP)


class _Undo(Struct, frozen=True):
    """The end of an action with a duration.

    `container` is set for a freeze, which a new instance does not inherit.
    """

    at: datetime
    command: CaseCommand
    container: tuple[str, str] | None = None


class CaseProgress:
    """Follows the journal of a case's session, acts and checks expectations.

    Expectations are checked one after the other; the first failure ends the case.

    Args:
        steps: the steps of the case.
        pods: the pods of its session.
        timeout: for the whole case, None for no limit.
        lines: creates the formatter of the entries in a failure's report, which takes
            the instant that times count from.

    Attributes:
        condition: the awaited end, as the time limit's message names it.
        failure: why the case failed, None if it has not.
        results: the results of the expectations so far.
        is_over: whether it has passed or failed, or was abandoned.
        is_abandoned: whether it ended undecided.
        ended_at: when it ended.
    """

    def __init__(
        self,
        steps: Sequence[CaseStep],
        pods: Sequence[Pod],
        timeout: timedelta | None,
        lines: Callable[[datetime], PlainLines],
    ) -> None:
        self._pods = pods
        self._timeout = timeout
        self._lines = lines
        self._steps = steps
        self._items: list[tuple[CaseStep, CaseAction | Expectation]] = []
        for step in steps:
            if step.action is not None:
                self._items.append((step, step.action))
            self._items += [(step, expected) for expected in step.expectations]
        self._place = 0
        conditions = {
            expected.condition for step in steps for expected in step.expectations
        }
        self._watches = {
            condition: ConditionWatch(condition, pods) for condition in conditions
        }
        self._lost: set[Condition] = set()
        self._since_step: dict[Condition, int] = dict.fromkeys(conditions, 0)
        self._used: dict[Condition, int] = dict.fromkeys(conditions, 0)
        self._undoing: list[_Undo] = []
        self._doing: CaseAction | None = None
        # Containers whose instance is ending; the value is the next instance, once it
        # has started.
        self._ending: dict[tuple[str, str], ContainerID | None] = {}
        self._recent: deque[JournalEntry] = deque(maxlen=_KEPT)
        self._journal: deque[JournalEntry] = deque(maxlen=_KEPT_FOR_CAUSES)
        self._longest_runs: dict[ProbeKey, int] = {}
        self._send: Callable[[CaseCommand], object] = _send_nowhere
        self._began_at: datetime | None = None
        self._armed_at: datetime | None = None
        self.condition = "the end of the case"
        self.failure: Failure | None = None
        self.results: list[ExpectationResult] = []
        self.is_over = self.is_abandoned = False
        self.ended_at: datetime | None = None

    def begin(self, now: datetime, send: Callable[[CaseCommand], object]) -> None:
        """Begin the case; `send` submits commands to the engine."""
        self._began_at = self._armed_at = now
        self._send = send
        self._evaluate(now)

    @property
    def began_at(self) -> datetime:
        """When the case began."""
        assert self._began_at is not None, "it has begun"  # noqa: S101  # for the type
        return self._began_at

    @property
    def verdict(self) -> Verdict | None:
        """Why the session is over; None while it is not."""
        if not self.is_over or self.is_abandoned:
            return None
        if self.failure is None:
            return Verdict("passed", EXIT_OK)
        return Verdict("failed", EXIT_NO)

    @property
    def due_at(self) -> datetime | None:
        """When `advance` has to be called, None for never."""
        if self.is_over or self._began_at is None:
            return None
        instants = [undo.at for undo in self._undoing]
        if self._timeout is not None:
            instants.append(self._began_at + self._timeout)
        if (ends_at := self._current_ends_at()) is not None:
            instants.append(ends_at)
        return min(instants, default=None)

    def observe(self, entry: JournalEntry) -> None:
        """Evaluate the next journal entry; they come in order, each once."""
        while not self.is_over and (due := self.due_at) and due < entry.at:
            self._reach(due)
        if self.is_over:
            return
        self._recent.append(entry)
        self._journal.append(entry)
        for watch in self._watches.values():
            watch.observe(entry)
        self._note(entry)
        self._note_lost()
        self._evaluate(entry.at)

    def advance(self, now: datetime) -> None:
        """Advance the clock to `now`; no entry came."""
        while not self.is_over and (due := self.due_at) and due <= now:
            self._reach(due)

    def abandon(self) -> bool:
        """End the case undecided, and return whether it was still running."""
        if self.is_over:
            return False
        self.is_over = self.is_abandoned = True
        return True

    def stop(self, now: datetime, came: str) -> None:
        """Fail the case, unless it is over, because its session has ended.

        Args:
            now: when the session ended.
            came: what is reported in place of the expectation.
        """
        if self._began_at is None:
            self._began_at = now
        if not self.is_over:
            self._fail(now, came)

    def all_results(self) -> tuple[ExpectationResult, ...]:
        """Return the results of all expectations, including those not reached."""
        expectations = [
            expected for step in self._steps for expected in step.expectations
        ]
        return (
            *self.results,
            *(
                ExpectationResult(expected.text, expected.place, Outcome.NOT_REACHED)
                for expected in expectations[len(self.results) :]
            ),
        )

    # -- time

    def _current_ends_at(self) -> datetime | None:
        """Return the latest time at which the current item is decided, or None."""
        if self._place == len(self._items) or self._armed_at is None:
            return None
        _, item = self._items[self._place]
        length = item.lasting
        if isinstance(item, Expectation) and item.within is not None:
            length = item.within
        return None if length is None else self._armed_at + length

    def _reach(self, now: datetime) -> None:
        """Handle everything that is due at `now`."""
        due = [undo for undo in self._undoing if undo.at <= now]
        self._undoing = [undo for undo in self._undoing if undo.at > now]
        for undo in due:
            self._send(undo.command)
        ends_at = self._current_ends_at()
        if ends_at is not None and ends_at <= now:
            _, item = self._items[self._place]
            if isinstance(item, CaseAction) or item.lasting is not None:
                self._meet(item, now)
                self._evaluate(now)
            else:
                self._fail(now, self._observed_text(item))
        elif self._timeout is not None and self.began_at + self._timeout <= now:
            limit = format_duration(self._timeout)
            self._fail(now, f"the time limit of the case, {limit}, was reached")

    # -- steps

    def _evaluate(self, now: datetime) -> None:
        """Advance through all items that can be decided now."""
        while not self.is_over and self._began_at is not None:
            if self._place == len(self._items):
                self._finish(now)
                return
            step, item = self._items[self._place]
            if isinstance(item, CaseAction):
                if item.kind is ActionKind.WAIT:
                    return
                self._act(item, now)
                self._meet(item, now)
                continue
            is_met = None if self._doing is not None else self._is_met(step, item)
            if is_met is None:
                return
            if not is_met:
                self._fail(now, self._observed_text(item))
                return
            self._meet(item, now)

    def _meet(self, item: CaseAction | Expectation, now: datetime) -> None:
        """Record that an item is done, and continue with the next."""
        if isinstance(item, Expectation):
            at = now - self.began_at
            met = ExpectationResult(item.text, item.place, Outcome.PASSED, at)
            self.results.append(met)
            if item.relation is None and not item.condition.kind.is_state:
                self._used[item.condition] += 1
        elif item.kind is not ActionKind.WAIT:
            self._count_from_now()
        self._place += 1
        self._armed_at = now
        if self._place == len(self._items):
            return
        step, item = self._items[self._place]
        if step.action is None:
            self._lost.clear()
        elif isinstance(item, CaseAction) and item.kind is ActionKind.WAIT:
            self._count_from_now()

    def _count_from_now(self) -> None:
        """Begin a step: its expectations count from now on."""
        for condition, watch in self._watches.items():
            self._since_step[condition] = self._used[condition] = watch.count
        self._longest_runs.clear()
        self._lost.clear()

    def _act(self, action: CaseAction, now: datetime) -> None:
        uid = next(pod.uid for pod in self._pods if pod.name == action.pod)
        name, kind = action.container, action.kind
        scope = Scope(uid, name, action.probe_type)
        if action.lasting is not None:
            at = now + action.lasting
            if kind in UNDOING:
                undoing: CaseCommand = InjectContainerFault(uid, name, UNDOING[kind])
            else:
                undoing = DelayProbes(scope, timedelta())
            is_frozen = kind is ActionKind.FREEZE
            frozen = (uid, name) if is_frozen else None
            self._undoing.append(_Undo(at, undoing, frozen))
        self._doing = action
        self._send(action_command(action, uid))

    def _note(self, entry: JournalEntry) -> None:
        """Record what tells whether an action was done, and what explains a failure."""
        match entry:
            case TickEntry() if entry.attempts or entry.overridden.injected:
                place = entry.key[:2]
                if self._ending.get(place) == entry.container_id and (
                    entry.stored.after is Result.SUCCESS
                ):
                    del self._ending[place]
                if entry.result is Result.FAILURE:
                    longest = self._longest_runs.get(entry.key, 0)
                    self._longest_runs[entry.key] = max(longest, entry.run.count)
            case ContainerEntry():
                self._note_container(entry)
            case UserEntry(target=target) if self._doing is not None:
                if target.startswith(f"{self._doing.pod}/{self._doing.container}"):
                    self._doing = None
            case NoteEntry(is_refusal=True):
                self._fail_refused(entry)
            case _:
                pass

    def _note_container(self, entry: ContainerEntry) -> None:
        place = entry.pod_uid, entry.container_name
        pod = next((pod for pod in self._pods if pod.uid == entry.pod_uid), None)
        container = None if pod is None else pod.container(entry.container_name)
        if pod is None or container is None:
            return
        if entry.what in _ENDED:
            self._undoing = [undo for undo in self._undoing if undo.container != place]
        is_lasting = container in pod.containers or container.is_sidecar
        if entry.what in {*_ENDED, LifecycleStep.STOPPING} and is_lasting:
            self._ending[place] = None
        elif entry.what is LifecycleStep.STARTED and place in self._ending:
            if any(container.probe(probe_type) for probe_type in _OF_STATES):
                self._ending[place] = entry.container_id
            else:
                del self._ending[place]

    def _fail_refused(self, note: NoteEntry) -> None:
        """Fail if it is the step's action that was refused."""
        if self._place == 0 or self._place == len(self._items):
            return
        step, item = self._items[self._place]
        is_first = step.expectations[:1] == (item,)
        if step.action is not None and is_first:
            self._fail(note.at, f"{step.action.text}: {note.text}")

    def _note_lost(self) -> None:
        """Record which states are lost, or held only by an ending instance."""
        self._lost.update(
            condition
            for condition, watch in self._watches.items()
            if condition.kind.is_state and not self._holds(condition)
        )

    # -- decisions

    def _holds(self, condition: Condition) -> bool:
        """Return whether a state holds of instances that are not ending.

        A container that is being stopped may still answer a probe.
        """
        target = condition.target
        pods, name = find_pods(target, self._pods) if target else (self._pods, "")
        uids = {pod.uid for pod in pods}
        return self._watches[condition].holds and not any(
            uid in uids and name in {"", ending} for uid, ending in self._ending
        )

    def _is_met(self, step: CaseStep, expected: Expectation) -> bool | None:
        """Return whether an expectation is met, None while that is undecided."""
        watch = self._watches[expected.condition]
        if expected.relation is not None:
            return self._is_count_met(step, expected, expected.relation)
        if expected.condition.kind.is_state:
            if expected.lasting is not None:
                return None if watch.holds else False
            if expected.is_negated:
                return True if not watch.holds else None
            was_lost = expected.condition in self._lost
            if self._holds(expected.condition) and (
                was_lost or not needs_loss(step, expected)
            ):
                return True
        elif watch.count > self._used[expected.condition]:
            return True
        return False if watch.impossible else None

    def _is_count_met(
        self, step: CaseStep, expected: Expectation, relation: Relation
    ) -> bool | None:
        count = self._count(step, expected)
        holds = relation.holds(count, expected.number)
        if expected.lasting is not None:
            return None if holds else False
        if expected.within is None or holds:
            return holds
        is_over = count > expected.number and relation in _NO_ONE_OFF
        return False if is_over else None

    def _count(self, step: CaseStep, expected: Expectation) -> int:
        """Return the count since the step's action or, without one, since the start."""
        before = 0 if step.action is None else self._since_step[expected.condition]
        return self._watches[expected.condition].count - before

    # -- the end

    def _fail(self, now: datetime, came: str) -> None:
        self._finish(now)
        at = now - self.began_at
        _, item = self._items[min(self._place, len(self._items) - 1)]
        self.failure = Failure(
            self._current_text(), item.place, came, at, tuple(self._last_lines())
        )
        if isinstance(item, Expectation) and self._place < len(self._items):
            failed = ExpectationResult(item.text, item.place, Outcome.FAILED, at)
            self.results.append(failed)

    def _finish(self, now: datetime) -> None:
        """End the case, and undo its faults so that its pods can stop quickly."""
        self.is_over = True
        self.ended_at = now
        for undo in self._undoing:
            self._send(undo.command)
        self._undoing.clear()

    def _current_text(self) -> str:
        """Return the current expectation, with the action before it."""
        step, item = self._items[min(self._place, len(self._items) - 1)]
        if isinstance(item, CaseAction):
            return f"after {item.text}"
        return (
            item.text
            if step.action is None
            else f"after {step.action.text}: {item.text}"
        )

    def _observed_text(self, expected: Expectation) -> str:
        step, _ = self._items[self._place]
        if self._doing is not None:
            return f"{self._doing.text} was not done"
        watch = self._watches[expected.condition]
        kind = expected.condition.kind
        if expected.relation is not None:
            noun = "restarts" if kind is ConditionKind.RESTARTS else f"{kind}"
            since = "" if step.action is None else f" since {step.action.text}"
            return f"{noun}: {self._count(step, expected)}{since}"
        if watch.impossible:
            return watch.impossible
        if not kind.is_state:
            reason = (
                f" {expected.condition.reason}" if expected.condition.reason else ""
            )
            return f"{kind}{reason}: not once{self._state_words(expected)}"
        if expected.is_negated or (watch.holds and needs_loss(step, expected)):
            return f"it was {kind} all the time"
        return "; ".join(self._clauses(watch.unmet())) or f"not {kind}"

    def _clauses(
        self, containers: Iterable[tuple[Pod, Container]], *, tells_ready: bool = False
    ) -> Iterator[str]:
        """Return why each container is as it is."""
        journal = [*self._journal]
        now = journal[-1].at if journal else self.began_at
        view = self._lines(self.began_at).view(now)
        return state_clauses(
            containers, journal, self._pods, view, tells_ready=tells_ready
        )

    def _state_words(self, expected: Expectation) -> str:
        """Describe the containers of a target; empty if there is none."""
        target = expected.condition.target
        pods, name = find_pods(target, self._pods) if target else (self._pods, "")
        containers = [
            (pod, container)
            for pod in pods
            for container in pod.all_containers()
            if name in {"", container.name}
        ]
        told = list(self._clauses(containers, tells_ready=True))
        if expected.condition.kind is ConditionKind.KILLED:
            told += self._longest_run_clauses(containers)
        return f": {'; '.join(told)}" if told else ""

    def _longest_run_clauses(
        self, containers: Sequence[tuple[Pod, Container]]
    ) -> Iterator[str]:
        """Yield how often the probes that may kill failed, which `why` does not say."""
        for pod, container in containers:
            for probe_type in _KILLING:
                if container.probe(probe_type) is None:
                    continue
                key = ProbeKey(pod.uid, container.name, probe_type)
                longest = self._longest_runs.get(key, 0)
                failed = (
                    f"failed {longest} in a row at most" if longest else "never failed"
                )
                name = f"{pod.name}/{container.name}'s"
                whose = "its" if len(containers) == 1 else name
                yield f"{whose} {probe_type.lower()} probe {failed}"

    def _last_lines(self) -> Sequence[str]:
        """Format the last entries, without successes that changed nothing."""
        lines = self._lines(self.began_at)
        lines.register_pods(self._pods)
        texts = [
            line
            for entry in self._recent
            for line in lines.format_entry(entry)
            if not _is_routine(entry)
        ]
        return [_cut(text) for text in texts[-_MOST_LINES:]]


def needs_loss(step: CaseStep, expected: Expectation) -> bool:
    """Return whether a state must be lost and regained.

    So it is with `again`, and after an action that ends the expectation's container.
    """
    action = step.action
    if expected.again:
        return True
    if action is None or not action.kind.ends_container:
        return False
    target = expected.condition.target
    return target in {"", action.pod, f"{action.pod}/{action.container}"}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_routine(entry: JournalEntry) -> bool:
    if isinstance(entry, EventEntry):
        return entry.event.type is EventType.NORMAL
    return (
        isinstance(entry, TickEntry)
        and entry.result in {Result.SUCCESS, None}
        and entry.action is TickAction.NONE
    )


def _send_nowhere(_command: CaseCommand) -> None:
    """Do nothing: the case has not begun."""
