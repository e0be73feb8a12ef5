"""The result run of an observed worker: exact, or a lower bound.

If the order of results is unknown, or the results before the first one, every possible
state of the worker is tracked; what all states agree on is exact. The kubelet's port
counts each result, under the rules of the node's kubelet.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """

    last: Result
    run: int
    is_open: bool
    reached: RecordedResult | None


class RunBound(NamedTuple):
    """The known result run: exact, or at least `run` for a reason."""

    last: Result
    run: int
    is_exact: bool
    reason: str = ""


_FRESH = frozenset({_State(Result.SUCCESS, 0, is_open=False, reached=None)})
_UNKNOWN = frozenset(
    _State(result, 0, is_open=True, reached=None)
    for result in (Result.SUCCESS, Result.FAILURE)
)


class ResultRun:
    """Tracks the run of one worker, from before its first tick.

    Args:
        worker: the port's worker, which is set to each possible state in turn.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._results = ResultsManager(worker.key.probe_type)
        self._states = _FRESH
        self._reason = ""

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
    def reached(self) -> Result | None:
        """The result whose threshold the last tick certainly reached, or None."""
        if any(state.reached is None for state in self._states):
            return None
        results = {state.last for state in self._states}
        return results.pop() if len(results) == 1 else None

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
        self._states, self._reason = _FRESH, ""

    def forget(self, reason: str) -> None:
        """Forget the run: ticks are missing, for the given reason."""
        self._states, self._reason = _UNKNOWN, reason

    def record_same_instance(self) -> None:
        """Record that the container still runs: the last result did not kill it.

        This raises a bound, but never makes a run exact: statuses may be late.
        """
        held = self.worker.holds_after
        possible = frozenset(
            state
            for state in self._states
            if state.reached is None or state.last not in held
        )
        if any(state.is_open for state in possible):
            self._states = possible

    def count(self, result: Result, times: int = 1) -> None:
        """Count a result, repeated `times` times, as the newest."""
        if times > _MOST_COUNTED:
            self.forget("more results at once than can be followed")
            return
        for _ in range(times):
            self._states = frozenset(
                after for state in self._states for after in self._after(state, result)
            )

    def count_in_any_order(self, counts: ProbeCounts) -> None:
        """Count results of both kinds in unknown order."""
        if counts.total > _MOST_ORDERED:
            self.forget("too many results between two polls")
            return
        self._reason = "the order of results between two polls is unknown"
        states: dict[ProbeCounts, set[_State]] = {ProbeCounts(): set(self._states)}
        for _ in range(counts.total):
            following: dict[ProbeCounts, set[_State]] = {}
            for done, here in states.items():
                for result, then in (
                    (Result.SUCCESS, ProbeCounts(done.successes + 1, done.failures)),
                    (Result.FAILURE, ProbeCounts(done.successes, done.failures + 1)),
                ):
                    if then.successes > counts.successes or (
                        then.failures > counts.failures
                    ):
                        continue
                    after = {
                        following_state
                        for state in here
                        for following_state in self._after(state, result)
                    }
                    following.setdefault(then, set()).update(after)
            states = following
        self._states = frozenset(states[counts])
        if len(self._states) > _MOST_STATES:
            self.forget(self._reason)

    def _after(self, state: _State, result: Result) -> Iterator[_State]:
        is_open = state.is_open and state.last is result
        yield self._counted(state.last, state.run, result, is_open=is_open)
        if is_open:
            # The longest possible run: the next result reaches the threshold.
            longest = max(state.run, self.worker.threshold(result) - 1)
            yield self._counted(result, longest, result, is_open=True)

    def _counted(
        self, last: Result, run: int, result: Result, *, is_open: bool
    ) -> _State:
        """Return the state after a result, as the port counts it."""
        worker = self.worker
        worker.last_result, worker.result_run = last, run
        recorded = worker.record(result, self._results)
        self._results.take_updates()
        return _State(
            worker.last_result,
            worker.result_run,
            is_open and worker.result_run > 0,
            recorded if recorded.stored else None,
        )
