"""One probe of a pod in a cluster: its known ticks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from probetui.cluster.observe.probe_counters import CountedTicks, ProbeCounts
from probetui.cluster.observe.result_run import Bounds, ResultRun, RunBound
from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.probe import Probe, ProbeKey, ProbeType
from probetui.k8s.runtime import NO_CONTAINER, ContainerID
from probetui.kubelet.journal import (
    Gate,
    HoldChange,
    Probed,
    Skip,
    StoredChange,
    TickAction,
    TickEntry,
    TickRun,
    TickTiming,
    Trigger,
)
from probetui.kubelet.outcome import (
    INITIAL_RESULT,
    NOT_TIMED,
    Attempt,
    ProbeResult,
    Result,
)
from probetui.kubelet.prober.worker import (
    RecordedResult,
    Worker,
    tick_action,
)
from probetui.kubelet.runtime.turn import TurnBuilder

HISTORY = 60
_SECOND = timedelta(seconds=1)
_RESULTS = {Result.SUCCESS: ProbeResult.SUCCESS, Result.FAILURE: ProbeResult.FAILURE}

_STATES = {
    (ProbeType.READINESS, Result.SUCCESS): TickAction.READY,
    (ProbeType.READINESS, Result.FAILURE): TickAction.NOT_READY,
    (ProbeType.STARTUP, Result.SUCCESS): TickAction.STARTED,
}
FROM_EVENTS = "known from events only, which report no successes and may be dropped"
NOT_COUNTED = "not in the kubelet's counters yet"
_OR_NEWER = "this one, or a newer one that no status had shown"
_MORE_TICKS = 100
"""Results that are counted late, at most: a worker has no more than one a second."""

TOO_MANY = "there are more results than a probe can have in that time"
FROM_THE_MIDDLE = "the run may have begun before it was watched"


class SeenFailure(NamedTuple):
    """A failure, an error or a warning from an event, to the second."""

    at: datetime
    output: str


class PossibleKill(NamedTuple):
    """Between which instants an instance that has ended may have been killed."""

    earliest: datetime
    latest: datetime


class KilledInstance(NamedTuple):
    """The instance that a probe killed, or one after it that no status shows yet."""

    own_id: ContainerID
    or_newer: bool


NOT_CERTAIN = KilledInstance(NO_CONTAINER, or_newer=False)


class KnownTime(NamedTuple):
    """Between which instants no result is missing; `since` is None if that is never.

    `has_all`: there was none before.
    """

    since: datetime | None
    until: datetime
    has_all: bool = False


class ObservedProbe:
    """Observes one worker from outside; belongs to one pod.

    Args:
        worker: the port's worker, which counts the results.
        turn: receives its ticks.
    """

    def __init__(self, worker: Worker, turn: TurnBuilder) -> None:
        self.key: ProbeKey = worker.key
        self.probe: Probe = worker.probe
        self.stored: Result | None = None
        self.on_hold = False
        self.container_id: ContainerID = NO_CONTAINER
        self.killed: KilledInstance | None = None
        """Which instance a kill of what is counted now is of; None for the newest."""
        self.last_tick: TickEntry | None = None
        self.is_close = False
        """Whether the counters were polled at least once in its last period."""
        self._turn = turn
        self._run = ResultRun(worker)
        self._run.forget(NOT_COUNTED)
        self._events_alone = ""
        self._is_counted = False
        self._counts = ProbeCounts()
        self._errors = 0
        self._error_run = 0
        self._ticks = 0
        self._history: deque[TickEntry] = deque(maxlen=HISTORY)
        self._failures: deque[SeenFailure] = deque(maxlen=20)
        self._seen_failure_at: datetime | None = None
        self._reached_before: Result | None = None
        self.is_sampled = False
        """Whether its polls are samples of a store."""
        self._kills = 0
        self._kills_alone = False
        self._possible_since: list[datetime] = []
        self._failed: deque[CountedTicks] = deque(maxlen=HISTORY)
        self._has_missed = False
        self._sampled_at: datetime | None = None

    @property
    def worker(self) -> Worker:
        """The port's worker; its state is internal and not for display."""
        return self._run.worker

    @worker.setter
    def worker(self, worker: Worker) -> None:
        self._run.worker = worker

    @property
    def is_counted(self) -> bool:
        """Whether the kubelet's counters hold its ticks, now or soon."""
        return not self._events_alone

    @property
    def is_exact(self) -> bool:
        """Whether the result run is exact: no poll misses a tick."""
        return self._is_counted and self.is_close and self._run.bound.is_exact

    def take_kill(self, counted: CountedTicks) -> tuple[datetime, datetime] | None:
        """Return between which instants it killed, if that has become certain.

        It may have become so by the restarts, after the poll that has the failure.
        """
        kills = self._run.tally.kills
        if not self.is_sampled or kills.least <= self._kills:
            return None
        self._kills = kills.least
        earliest = self._possible_since[kills.least - 1]
        return (counted.earliest if self._kills_alone else earliest), counted.latest

    def may_have_killed(
        self, since: datetime | None, times: PossibleKill, known: KnownTime
    ) -> bool:
        """Return whether its results allow a kill of an instance that ended.

        Args:
            since: the end of the instance before it; None if that is not known.
            times: when it may have been killed.
            known: when no result is missing, if they are watched.
        """
        if not self.is_sampled:
            return self._may_have_killed_unseen(since, times, known)
        failures = sum(
            counted.counts.failures
            for counted in self._failed
            if counted.earliest <= times.latest + _SECOND
            and (since is None or counted.latest >= since)
        )
        is_known = (
            self._is_counted
            and not self._has_missed
            and self._sampled_at is not None
            and self._sampled_at >= times.latest + _SECOND
        )
        needed = 1 if since is None else self.worker.threshold(Result.FAILURE)
        return failures >= needed or not is_known

    def _may_have_killed_unseen(
        self, since: datetime | None, times: PossibleKill, known: KnownTime
    ) -> bool:
        """Return whether watched results allow a kill of which no event came.

        Without counters, events are all that is known, and each tells of a failure.
        """
        period = self.probe.period_seconds * _SECOND
        failures = sum(
            tick.result is Result.FAILURE
            for tick in self._history
            if tick.at <= times.latest + period and (since is None or tick.at >= since)
        )
        if known.since is None or times.earliest <= known.since:
            return True
        unseen = (times.latest + _SECOND - known.until) // period + 1
        threshold = self.worker.threshold(Result.FAILURE)
        needed, run = threshold, self._run.longest(Result.FAILURE)
        if known.has_all:
            seen = sum(tick.result is Result.FAILURE for tick in self._history)
            run = min(run, seen)
        if self._events_alone:
            needed, run = 1, failures
        elif since is None and not known.has_all:
            needed = 1
        return failures >= needed or (unseen > 0 and run + unseen >= threshold)

    # -- inputs

    def bound_restarts(self, restarts: Bounds | None, now: datetime) -> None:
        """Bound the restarts of the container at the results polled now."""
        self.is_sampled = True
        self._sampled_at = now
        self._run.restarts = restarts

    def end_past(self) -> None:
        """Record that the samples of a store end: the run is not known any more."""
        self.is_sampled = self.on_hold = False
        self._run.restarts = None
        self._run.forget(NOT_COUNTED)
        self._is_counted = False
        self._sampled_at = None
        self._failed.clear()

    def begin_instance(self, container_id: ContainerID) -> None:
        """Record that another instance of the container runs."""
        if container_id == self.container_id:
            return
        self.container_id = container_id
        self.stored = INITIAL_RESULT[self.key.probe_type]
        self._reached_before = self.stored
        self.on_hold = False

    def agree(self, result: Result) -> None:
        """Adopt a stored result that the pod's status shows."""
        if self.stored is not result:
            self.stored = result

    def hold(self) -> None:
        """Record that the container is killed for this probe."""
        self.on_hold = True
        self.stored = Result.FAILURE

    def lose_counters(self, reason: str) -> None:
        """Record that the counters cannot be read: only events show this probe."""
        self._is_counted = False
        self._events_alone = f"{FROM_EVENTS} ({reason})"
        self._run.forget(self._events_alone)

    def find_counters(self) -> None:
        """Record that the counters can be read, though they may lack this probe yet."""
        self._events_alone = ""
        self._run.forget(NOT_COUNTED)

    def lose_series(self) -> None:
        """Record that the kubelet has counted nothing of the worker: it is a new one.

        Or it has ended, and its run goes on for a moment without being counted.
        """
        if not self.is_sampled:
            self._run.forget(NOT_COUNTED)

    def record_failure(self, seen: SeenFailure) -> TickEntry | None:
        """Apply the event of a failure; return its tick.

        Without counters the event itself is a tick. Two that are a period apart are
        consecutive.
        """
        self._failures.append(seen)
        if not self._events_alone:
            return None  # the counters hold it, now or soon
        before, self._seen_failure_at = self._seen_failure_at, seen.at
        if before is None or not self._are_consecutive(before, seen.at):
            self._run.forget(self._events_alone)
        self._record_instance()
        self._run.count(Result.FAILURE)
        self._counts = self._counts._replace(failures=self._counts.failures + 1)
        return self._write(
            Result.FAILURE,
            seen.at,
            _source_gates("event", seen.at, seen.at),
            seen.output,
        )

    def _are_consecutive(self, before: datetime, after: datetime) -> bool:
        """Return whether no result can have come between two, of which the seconds are.

        Each may take as long as its timeout.
        """
        period = self.probe.period_seconds * _SECOND
        longest = self.probe.timeout_seconds * _SECOND
        gap = after - before
        least, most = gap - _SECOND, gap + _SECOND
        return period - longest <= least and most <= 2 * period - longest

    def record_error(self, seen: SeenFailure) -> TickEntry:
        """Return the tick of an error that an event reports; no counter has it."""
        self._errors += 1
        self._error_run += 1
        gates = _source_gates("event", seen.at, seen.at)
        return self._write(None, seen.at, gates, seen.output)

    def may_store(self, counted: CountedTicks) -> frozenset[Result]:
        """Return the results whose threshold a poll may have reached."""
        by_result = {
            Result.SUCCESS: counted.counts.successes,
            Result.FAILURE: counted.counts.failures,
        }
        return frozenset(
            result
            for result, count in by_result.items()
            if count
            and (
                counted.is_new_worker
                or count + self._run.longest(result) >= self.worker.threshold(result)
            )
        )

    def demand(self, tick: TickEntry) -> TickAction:
        """Return the effect that the cluster has to show after the newest tick.

        It may be a state that is not new; NONE if uncertain.
        """
        if tick.action is not TickAction.NONE or tick.result is None:
            return tick.action
        is_reached = self._run.reached is tick.result
        return (
            _STATES.get((self.key.probe_type, tick.result), tick.action)
            if (is_reached and not tick.run.doubt)
            else TickAction.NONE
        )

    def record_counts(self, counted: CountedTicks) -> Iterator[TickEntry]:
        """Apply the ticks between two polls; yield those that are written."""
        counts = counted.counts
        if counted.is_baseline:
            self._set_baseline(counts)
            return
        if counted.is_new_worker:
            self._has_missed = self._has_missed or self._counts.total > 0
            self._run.begin()
            self._counts = ProbeCounts()
        elif not self._is_counted:
            self._run.forget(FROM_THE_MIDDLE)
        self._is_counted = True
        period = self.probe.period_seconds * _SECOND
        is_close = counted.latest - counted.earliest <= period
        # What a store has of statuses is too late to expect anything.
        self.is_close = is_close and not self.is_sampled
        self._counts = ProbeCounts(
            self._counts.successes + counts.successes,
            self._counts.failures + counts.failures,
        )
        if counts.total:
            self._error_run = 0
        if counts.total > (counted.latest - counted.earliest) / _SECOND + _MORE_TICKS:
            self._run.forget(TOO_MANY)
            return
        if self.is_sampled:
            self._follow_sample(counted)
        gates = _source_gates("counters", counted.earliest, counted.latest)
        if counts.successes and counts.failures:
            yield from self._write_unordered(counted, gates)
            return
        result = Result.FAILURE if counts.failures else Result.SUCCESS
        seen = self._event_of(counted, result)
        instants = _instants(counted, self.probe.period_seconds)
        if seen is not None and counts.total == 1:
            # The event has the second; polls may be further apart.
            instants = [min(max(instants[0], seen.at), seen.at + _SECOND)]
        kills = self._run.tally.kills.least
        for at in instants:
            self._record_instance()
            self._run.count(result)
            output = "" if seen is None else seen.output
            is_kill = self._kills_alone and self._run.tally.kills.least > kills
            kills = self._run.tally.kills.least
            yield self._write(result, at, gates, output, is_kill=is_kill)

    def _record_instance(self) -> None:
        """Record, before a result, whether the container is that of the last one."""
        last = self.last_tick
        is_same = last is not None and last.container_id == self.container_id
        if is_same and not self.is_sampled:  # their statuses are later than results
            self._run.record_same_instance()

    def _follow_sample(self, counted: CountedTicks) -> None:
        """Find whether it has certainly killed in a poll, before that is counted."""
        counts = counted.counts
        self._kills_alone = False
        if counts.failures:
            self._failed.append(counted)
            alone, whole = self._run.copied(), self._run.copied()
            alone.start_tally()
            for run in (alone, whole):
                if counts.successes:
                    run.count_in_any_order(counts)
                else:
                    run.count(Result.FAILURE, counts.failures)
            self._kills_alone = alone.tally.kills.least > 0
            possible = whole.tally.kills.most - len(self._possible_since)
            self._possible_since += [counted.earliest] * possible

    def _set_baseline(self, counts: ProbeCounts) -> None:
        """Start from a first poll: results of one kind have only one order."""
        self._is_counted = True
        self._counts = counts
        is_mixed = counts.successes and counts.failures
        if is_mixed or (self.is_sampled and counts.failures):
            # Results of months: the restarts in them are not told apart.
            self._run.forget(FROM_THE_MIDDLE)
            return
        self._run.begin()
        self._run.count(Result.SUCCESS, counts.successes)
        self._run.count(Result.FAILURE, counts.failures)

    # -- ticks

    def _write_unordered(
        self, counted: CountedTicks, gates: tuple[Gate, ...]
    ) -> Iterator[TickEntry]:
        counts = counted.counts
        text = f"unknown: {counts.successes} succeeded, {counts.failures} failed"
        gates = (*gates, Gate("order", text, passed=False))
        results = [Result.FAILURE] * counts.failures
        results += [Result.SUCCESS] * counts.successes
        instants = _instants(counted, self.probe.period_seconds)
        self._run.count_in_any_order(counts)
        for place, (result, at) in enumerate(zip(results, instants, strict=True), 1):
            seen = self._event_of(counted, result)
            output = "" if seen is None else seen.output
            is_kill = place == counts.failures and self._kills_alone
            yield self._write(result, at, gates, output, follows=False, is_kill=is_kill)

    def _event_of(self, counted: CountedTicks, result: Result) -> SeenFailure | None:
        """Return the event of a failure at that time, if there is one."""
        if result is Result.SUCCESS:
            return None
        for seen in reversed(self._failures):
            if counted.earliest - _SECOND <= seen.at <= counted.latest:
                return seen
        return None

    def _write(
        self,
        result: Result | None,
        at: datetime,
        gates: tuple[Gate, ...],
        output: str,
        *,
        follows: bool = True,
        is_kill: bool = False,
    ) -> TickEntry:
        """Write a tick of which the run has been counted; `follows` its order.

        `is_kill`: in every order that fits the restarts, one of its poll killed.
        """
        self._ticks += 1
        stored, held = self.stored, self.on_hold
        recorded = self._run.recorded if follows and result is not None else None
        threshold = self.worker.threshold(Result.FAILURE if result is None else result)
        run, doubt = self._run_of(result, follows=follows)
        action = TickAction.DISCARDED if result is None else TickAction.NONE
        if result is not None and recorded is not None and self._run.reached is result:
            action = self._reach(result, recorded)
            if run < threshold:
                run, doubt = threshold, ""
        if is_kill and action is not TickAction.KILL:
            action, run, doubt = TickAction.KILL, threshold, ""
            self.hold()
        own_id = self.container_id
        if action is TickAction.KILL and self.killed is not None:
            own_id = self.killed.own_id
            if self.killed.or_newer:
                gates = (*gates, Gate("instance", _OR_NEWER, passed=False))
        attempt = Attempt(
            ProbeResult.UNKNOWN, error=output or "unknown", detail=NOT_TIMED
        )
        if result is not None:
            attempt = Attempt(_RESULTS[result], output, detail=NOT_TIMED)
        entry = TickEntry(
            sequence=self._turn.next_sequence(),
            at=at,
            key=self.key,
            n=self._ticks,
            trigger=Trigger.PERIODIC,
            timing=TickTiming(at, period_seconds=self.probe.period_seconds),
            container_id=own_id,
            new_container=False,
            gates=gates,
            outcome=Probed((attempt,), result, action),
            run=TickRun(run, threshold, doubt),
            stored=StoredChange(stored, self.stored),
            hold=HoldChange(held, self.on_hold),
        )
        self._turn.write(entry)
        if own_id not in (self.container_id, NO_CONTAINER):
            self.on_hold = False  # the next instance runs already
            self.stored = INITIAL_RESULT[self.key.probe_type]
        self._history.append(entry)
        self.last_tick = entry
        return entry

    def _run_of(self, result: Result | None, *, follows: bool) -> tuple[int, str]:
        """Return the run at a tick, and the reason why it may be longer."""
        bound = self._bound()
        if result is None:
            return bound.run, ""
        if bound.last is not result or not follows:
            return 1, bound.reason or FROM_THE_MIDDLE
        return max(bound.run, 1), "" if bound.is_exact else bound.reason

    def _bound(self) -> RunBound:
        """Return the run; of events alone it is never exact."""
        bound = self._run.bound
        if not self._events_alone:
            return bound
        return bound._replace(is_exact=False, reason=self._events_alone)

    def _reach(self, result: Result, recorded: RecordedResult) -> TickAction:
        """Store a result whose threshold was reached; return its effect."""
        # Not the stored one, which a status may have shown before the counters did.
        before, self._reached_before = self._reached_before, result
        self.stored = result
        self.on_hold = self.on_hold or result in self.worker.holds_after
        return tick_action(
            self.key.probe_type, result, recorded, before, kills=True, is_deleted=False
        )

    # -- snapshot

    def _bound_at(self, now: datetime) -> RunBound:
        """Return the run; from events alone, only if no success can have followed."""
        bound = self._bound()
        if not self._events_alone:
            return bound
        seen_at = self._seen_failure_at
        longest = self.probe.period_seconds * _SECOND + 2 * _SECOND
        if seen_at is None or now - seen_at > longest:
            return bound._replace(last=Result.SUCCESS, run=0)
        return bound

    def snapshot(
        self,
        now: datetime,
        upcoming_skip: Skip | None,
        delay_until: datetime | None,
        *,
        is_alive: bool,
    ) -> ProbeSnapshot:
        """Return a snapshot of the probe; its next tick is estimated from the last."""
        bound = self._bound_at(now)
        last = self.last_tick
        next_at = None
        if last is not None and is_alive and upcoming_skip is None:
            period = self.probe.period_seconds * _SECOND
            periods = max(-((last.at - now) // period), 1)
            next_at = last.at + periods * period
        return ProbeSnapshot(
            key=self.key,
            probe=self.probe,
            worker_alive=is_alive,
            stored_result=self.stored,
            last_result=bound.last,
            result_run=bound.run,
            on_hold=self.on_hold,
            next_tick_at=next_at,
            upcoming_skip=upcoming_skip,
            delay_until=delay_until,
            ticks=self._counts.total + self._errors,
            successes=self._counts.successes,
            failures=self._counts.failures,
            errors=self._errors,
            last_run=last,
            history=tuple(self._history),
            error_run=self._error_run,
            run_doubt="" if bound.is_exact else bound.reason,
        )


def _source_gates(
    source: str, earliest: datetime, latest: datetime
) -> tuple[Gate, ...]:
    """Return the source of a tick and its time, for the trace."""
    if earliest == latest:
        text = f"{source}, {earliest:%H:%M:%S} to the second"
        return (Gate("source", text, passed=True),)
    first = f"{earliest:%H:%M:%S}.{earliest.microsecond // 100_000}"
    last = f"{latest:%H:%M:%S}.{latest.microsecond // 100_000}"
    return (Gate("source", f"{source}, between {first} and {last}", passed=True),)


def _instants(counted: CountedTicks, period_seconds: int) -> list[datetime]:
    """Return the likeliest times of the ticks: around the middle, a period apart."""
    total = counted.counts.total
    whole = counted.latest - counted.earliest
    middle = counted.earliest + whole / 2
    step = min(period_seconds * _SECOND, whole / max(total, 1))
    first = middle - step * (total - 1) / 2
    return [first + step * place for place in range(total)]
