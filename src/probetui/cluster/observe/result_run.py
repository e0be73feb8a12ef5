"""The result run of an observed worker: exact, or a lower bound.

If the order of results is unknown, or the results before the first one, every possible
state of the worker is tracked; what all states agree on is exact. The kubelet's port
counts each result, under the rules of the node's kubelet.

Each state has the least and the most kills, near misses and longest run of failures of
all orders of results that lead to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import zip_longest
from typing import NamedTuple

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.results_manager import ResultsManager
from probetui.kubelet.prober.worker import RecordedResult, Worker

_MOST_ORDERED = 64
"""Ticks between two polls whose orders are followed; after more all is forgotten."""

_MOST_STATES = 200
_MOST_COUNTED = 1000


class _State(NamedTuple):
    """A possible state of the worker.

    `is_open`: the run may have begun before the first known result, and be longer.
    `reached` is what the port recorded for a last result that reached its threshold.
    `instance` is the lowest possible restart count of the container, where restarts
    are bounded.
    """

    last: Result
    run: int
    is_open: bool
    reached: RecordedResult | None
    instance: int = 0


class Bounds(NamedTuple):
    """What a number is at least and at most."""

    least: int = 0
    most: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether it is known."""
        return self.least == self.most

    def plus(self, least: int, most: int) -> Bounds:
        """Return the bounds of a sum."""
        return Bounds(self.least + least, self.most + most)

    def joined(self, other: Bounds) -> Bounds:
        """Return the bounds of what is one or the other."""
        return Bounds(min(self.least, other.least), max(self.most, other.most))


class RunTally(NamedTuple):
    """What came of a worker's results so far, from when they are counted.

    `kills` counts the runs of failures that reached the threshold of a worker that then
    stops its container, `near_misses` those that ended one short of it with a success,
    `longest` the longest run of failures. `healed` counts the runs of at least one
    failure, of at least two and so on that ended with a success.
    """

    kills: Bounds = Bounds()
    near_misses: Bounds = Bounds()
    longest: Bounds = Bounds()
    healed: tuple[Bounds, ...] = ()

    def joined(self, other: RunTally) -> RunTally:
        """Return the tally of what is one or the other."""
        return RunTally(
            self.kills.joined(other.kills),
            self.near_misses.joined(other.near_misses),
            self.longest.joined(other.longest),
            self.healed
            if self.healed == other.healed
            else joined_by_length(self.healed, other.healed),
        )


def joined_by_length(
    healed: Sequence[Bounds], other: Sequence[Bounds]
) -> tuple[Bounds, ...]:
    """Return the bounds of numbers by length that are one or the other."""
    pairs = zip_longest(healed, other, fillvalue=Bounds())
    return tuple(bounds.joined(others) for bounds, others in pairs)


def sum_by_length(
    healed: Sequence[Bounds], other: Sequence[Bounds]
) -> tuple[Bounds, ...]:
    """Return the bounds of sums of numbers by length."""
    pairs = zip_longest(healed, other, fillvalue=Bounds())
    return tuple(bounds.plus(*others) for bounds, others in pairs)


_NO_TALLY = RunTally()


class _Step(NamedTuple):
    """A possible next state, and what the result counts for on the way to it.

    `healed` is how long the run of failures was, at least and at most, that a success
    has ended.
    """

    state: _State
    is_kill: bool = False
    is_near_miss: bool = False
    failures: int = 0
    healed: tuple[int, int] = (0, 0)

    def tally(self, before: RunTally) -> RunTally:
        """Return the tally after this step."""
        kills, near_misses, longest, healed = before
        if self.is_kill:
            kills = kills.plus(1, 1)
        if self.is_near_miss:
            near_misses = near_misses.plus(1, 1)
        if self.failures > longest.least:
            longest = Bounds(self.failures, max(self.failures, longest.most))
        if self.healed[1]:
            least, most = self.healed
            run = (Bounds(1, 1),) * least + (Bounds(0, 1),) * (most - least)
            healed = sum_by_length(healed, run)
        return RunTally(kills, near_misses, longest, healed)


_Tallies = dict[_State, RunTally]


class RunBound(NamedTuple):
    """The known result run: exact, or at least `run` for a reason."""

    last: Result
    run: int
    is_exact: bool
    reason: str = ""


_FRESH = (_State(Result.SUCCESS, 0, is_open=False, reached=None),)
_UNKNOWN = tuple(
    _State(result, 0, is_open=True, reached=None)
    for result in (Result.SUCCESS, Result.FAILURE)
)
_UNKNOWN_ORDER = "the order of results between two polls is unknown"


class ResultRun:
    """Tracks the run of one worker, from before its first tick.

    Args:
        worker: the port's worker, which is set to each possible state in turn.
        tells_lengths: whether `bound` is asked for. Without it all runs of successes
            that have reached their threshold are one state, as nothing that follows
            depends on their length: months of them cost little then.

    Attributes:
        restarts: bounds of the container's restart count during the results that are
            counted next. A worker on hold has no result before its container has been
            restarted. None if the restarts are not known.
    """

    def __init__(self, worker: Worker, *, tells_lengths: bool = True) -> None:
        self.worker = worker
        self._tells_lengths = tells_lengths
        self.restarts: Bounds | None = None
        self._results = ResultsManager(worker.key.probe_type)
        self._states: _Tallies = dict.fromkeys(_FRESH, _NO_TALLY)
        self._reason = ""

    @property
    def worker(self) -> Worker:
        """The port's worker; its state is internal and not for display."""
        return self._worker

    @worker.setter
    def worker(self, worker: Worker) -> None:
        self._worker = worker
        self._counted: dict[tuple[Result, int, Result], _State] = {}

    @property
    def bound(self) -> RunBound:
        """The current run.

        A run that may have reached a threshold and restarted is bounded as if it had
        not: a kill would show that.
        """
        last = {state.last for state in self._states}
        runs = {state.run for state in self._states}
        if len(last) == len(runs) == 1 and not any(
            state.is_open for state in self._states
        ):
            return RunBound(last.pop(), runs.pop(), is_exact=True)
        if len(last) == 1:
            going_on = {state.run for state in self._states if state.run}
            least = min(going_on, default=0)
            return RunBound(last.pop(), least, is_exact=False, reason=self._reason)
        return RunBound(Result.SUCCESS, 0, is_exact=False, reason=self._reason)

    @property
    def tally(self) -> RunTally:
        """What came of the results that were counted."""
        return _joined(self._states.values())

    @property
    def reached(self) -> Result | None:
        """The result whose threshold the last tick certainly reached, or None."""
        if any(state.reached is None for state in self._states):
            return None
        results = {state.last for state in self._states}
        return results.pop() if len(results) == 1 else None

    @property
    def may_have_killed(self) -> bool:
        """Whether the last tick may have been a kill."""
        return any(map(self._is_killed, self._states))

    @property
    def recorded(self) -> RecordedResult | None:
        """What the port recorded for the last result, None if uncertain."""
        recorded = [
            state.reached for state in self._states if state.reached is not None
        ]
        return recorded[0] if self.reached is not None else None

    def longest(self, result: Result) -> int:
        """Return the longest possible run of a result, below its threshold if open.

        More results may extend it: a run that has reached its threshold goes on.
        """
        runs = [
            max(state.run, self.worker.threshold(result) - 1 if state.is_open else 0)
            for state in self._states
            if state.last is result
        ]
        return max(runs, default=0)

    def begin(self) -> None:
        """Start again: the kubelet has created another worker."""
        self._states, self._reason = dict.fromkeys(_FRESH, self.tally), ""

    def forget(
        self,
        reason: str,
        unseen: ProbeCounts | None = None,
        most_kills: float = math.inf,
    ) -> None:
        """Forget the run: ticks are missing, for the given reason.

        Args:
            reason: for display.
            unseen: the most results that are not counted, but belong to the tally.
            most_kills: the most kills among them, if that is known otherwise.
        """
        tally = self.tally
        if unseen is not None:
            tally = self._with_unseen(tally, unseen, most_kills)
        self._states, self._reason = dict.fromkeys(_UNKNOWN, tally), reason

    def copied(self) -> ResultRun:
        """Return a run that goes on from the same states."""
        return copy(self)

    def start_tally(self) -> None:
        """Count kills, near misses and the longest run from now on."""
        self._states = dict.fromkeys(self._states, _NO_TALLY)

    def join(self, other: ResultRun) -> None:
        """Add the states of another run of the same worker: either is possible."""
        for state, tally in other._states.items():
            _put(self._states, state, tally)

    def record_same_instance(self) -> None:
        """Record that the container still runs: the last result did not kill it.

        This raises a bound, but never makes a run exact: statuses may be late.
        """
        possible = {
            state: tally
            for state, tally in self._states.items()
            if not self._is_held(state)
        }
        if any(state.is_open for state in possible):
            self._states = possible

    def count(self, result: Result, times: int = 1) -> None:
        """Count a result, repeated `times` times, as the newest."""
        if times > _MOST_COUNTED:
            self.forget("more results at once than can be followed", _of(result, times))
            return
        before = self.tally
        for _ in range(times):
            after = self._all_after(self._states, result)
            if after == self._states:
                break  # Nor does any result like it change anything.
            self._states = after
        self._settle(before, _of(result, times))

    def count_in_any_order(self, counts: ProbeCounts) -> None:
        """Count results of both kinds in unknown order."""
        if counts.total > _MOST_ORDERED:
            self.forget("too many results between two polls", counts)
            return
        self._reason = _UNKNOWN_ORDER
        before = self.tally
        states: dict[ProbeCounts, _Tallies] = {ProbeCounts(): self._states}
        for _ in range(counts.total):
            following: dict[ProbeCounts, _Tallies] = {}
            for done, here in states.items():
                for result, then in (
                    (Result.SUCCESS, ProbeCounts(done.successes + 1, done.failures)),
                    (Result.FAILURE, ProbeCounts(done.successes, done.failures + 1)),
                ):
                    if then.successes > counts.successes or (
                        then.failures > counts.failures
                    ):
                        continue
                    into = following.setdefault(then, {})
                    for state, tally in self._all_after(here, result).items():
                        _put(into, state, tally)
            states = following
        self._states = states[counts]
        self._settle(before, counts)
        if len(self._states) > _MOST_STATES:
            self.forget(self._reason)

    def _settle(self, before: RunTally, counts: ProbeCounts) -> None:
        """Forget the run if no order of the results fits the restarts."""
        if not self._states:
            self._states = dict.fromkeys(_UNKNOWN, before)
            self.forget("the results do not fit the restarts of the container", counts)

    def _with_unseen(
        self, tally: RunTally, unseen: ProbeCounts, most_kills: float
    ) -> RunTally:
        """Return a tally that also holds results of which no order is known."""
        threshold = self.worker.threshold(Result.FAILURE)
        longest = self.longest(Result.FAILURE)
        failures = unseen.failures + longest
        kills = int(min(failures // threshold, most_kills)) if self._kills else 0
        near = failures // (threshold - 1) if threshold > 1 and self._kills else 0
        run = min(failures, threshold) if self._kills else failures
        healed = [Bounds(0, failures // n) for n in range(1, threshold) if self._kills]
        return RunTally(
            tally.kills.plus(0, kills),
            tally.near_misses.plus(0, near),
            Bounds(tally.longest.least, max(tally.longest.most, run)),
            sum_by_length(tally.healed, healed),
        )

    @property
    def _kills(self) -> bool:
        return Result.FAILURE in self.worker.holds_after

    def _is_held(self, state: _State) -> bool:
        return state.reached is not None and state.last in self.worker.holds_after

    def _is_killed(self, state: _State) -> bool:
        return self._is_held(state) and state.last is Result.FAILURE

    def _all_after(self, states: Mapping[_State, RunTally], result: Result) -> _Tallies:
        after: _Tallies = {}
        for state, tally in states.items():
            instance = self._instance(state)
            if instance is not None:
                for step in self._after(state, result, instance):
                    _put(after, step.state, step.tally(tally))
        return after

    def _instance(self, state: _State) -> int | None:
        """Return the lowest restart count at the next result, None if it cannot come.

        A worker on hold waits for the next instance.
        """
        if self.restarts is None:
            return state.instance
        least, most = self.restarts
        next_one = state.instance + self._is_held(state)
        return max(next_one, least) if next_one <= most else None

    def _after(self, state: _State, result: Result, instance: int) -> Iterator[_Step]:
        is_open = state.is_open and state.last is result
        yield from self._steps(state, state.run, result, instance, is_open=is_open)
        if is_open:
            # The longest possible run: the next result reaches the threshold.
            longest = max(state.run, self.worker.threshold(result) - 1)
            yield from self._steps(state, longest, result, instance, is_open=True)

    def _steps(
        self, state: _State, run: int, result: Result, instance: int, *, is_open: bool
    ) -> Iterator[_Step]:
        after = self._count(state.last, run, result)
        after = after._replace(is_open=is_open and after.run > 0, instance=instance)
        if result is Result.FAILURE:
            # The port restarts its count after a kill.
            failures = after.run or self.worker.threshold(result)
            yield _Step(after, is_kill=self._is_killed(after), failures=failures)
            return
        short = self.worker.threshold(Result.FAILURE) - 1
        is_near = bool(
            self._kills and short and state.last is Result.FAILURE and run <= short
        )
        is_certain = is_near and run == short
        longest = short if state.is_open else run
        healed = (run, longest) if is_near else (0, 0)
        if not is_certain:
            yield _Step(after, healed=healed)
        if is_certain or (is_near and state.is_open):
            yield _Step(after, is_near_miss=True, healed=healed)

    def _count(self, last: Result, run: int, result: Result) -> _State:
        """Return the state after a result, as the port counts it."""
        known = self._counted.get((last, run, result))
        if known is not None:
            return known
        worker = self.worker
        worker.last_result, worker.result_run = last, run
        recorded = worker.record(result, self._results)
        self._results.take_updates()
        length = worker.result_run
        if result is Result.SUCCESS and not self._tells_lengths:
            length = min(length, worker.threshold(result))
        after = _State(
            worker.last_result,
            length,
            is_open=False,
            reached=recorded if recorded.stored else None,
        )
        self._counted[last, run, result] = after
        return after


def _put(states: _Tallies, state: _State, tally: RunTally) -> None:
    """Add a way to a state."""
    known = states.get(state)
    states[state] = tally if known is None else known.joined(tally)


def _joined(tallies: Iterable[RunTally]) -> RunTally:
    first, *others = tallies
    for tally in others:
        first = first.joined(tally)
    return first


def _of(result: Result, times: int) -> ProbeCounts:
    if result is Result.FAILURE:
        return ProbeCounts(failures=times)
    return ProbeCounts(successes=times)
