"""The result run of a worker that is seen from outside: exact, or with a bound.

Where the order of results is unknown, or what came before the first one, every state
that the worker can be in is followed; what all of them agree on is exact.

Source: prober/worker.go, v1.36.2, doProbe (the counting; see also
`kubelet/prober/worker.py`, which lives it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.k8s.probe import Probe, ProbeType
from probetui.kubelet.outcome import Result
from probetui.kubelet.prober.worker import HOLDS_AFTER

_MOST_ORDERED = 64
"""Ticks between two polls whose orders are followed; after more all is forgotten."""

_MOST_STATES = 200
_MOST_COUNTED = 1000


class _State(NamedTuple):
    """A state that the worker may be in.

    `is_open`: the run may have begun before what is known, and be longer. `reached` is
    the result whose threshold the last tick has reached.
    """

    last: Result
    run: int
    is_open: bool
    reached: Result | None


class RunBound(NamedTuple):
    """The result run as it is known: exact, or at least `run` for a reason."""

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
    """Follows the run of one worker; begins before its first tick.

    Args:
        probe: with its thresholds.
        probe_type: says after which results it is on hold.
    """

    def __init__(self, probe: Probe, probe_type: ProbeType) -> None:
        self._thresholds = {
            Result.SUCCESS: probe.success_threshold,
            Result.FAILURE: probe.failure_threshold,
        }
        self._holds_after = HOLDS_AFTER[probe_type]
        self._states = _FRESH
        self._reason = ""

    @property
    def bound(self) -> RunBound:
        """The run now.

        Where it may have reached a threshold and begun anew, it is bound as if it had
        not: that would be seen, by a kill.
        """
        last = {state.last for state in self._states}
        runs = {state.run for state in self._states}
        if len(last) == len(runs) == 1 and not any(it.is_open for it in self._states):
            return RunBound(last.pop(), runs.pop(), is_exact=True)
        if len(last) == 1:
            going_on = {it.run for it in self._states if it.run}
            least = min(going_on, default=0)
            return RunBound(last.pop(), least, is_exact=False, reason=self._reason)
        return RunBound(Result.SUCCESS, 0, is_exact=False, reason=self._reason)

    @property
    def reached(self) -> Result | None:
        """The result whose threshold the last tick certainly reached, or None."""
        found = {state.reached for state in self._states}
        return found.pop() if len(found) == 1 else None

    def begin(self) -> None:
        """Begin anew: the kubelet has made another worker."""
        self._states, self._reason = _FRESH, ""

    def forget(self, reason: str) -> None:
        """Forget the run: ticks are missing, for a reason in words."""
        self._states, self._reason = _UNKNOWN, reason

    def note_same_instance(self) -> None:
        """Note that the container still runs after the last result: it was not killed.

        That raises a bound, and never makes a run exact: statuses may be late.
        """
        held = self._holds_after
        left = frozenset(it for it in self._states if it.reached not in held)
        if any(it.is_open for it in left):
            self._states = left

    def count(self, result: Result, times: int = 1) -> None:
        """Count a result that came so many times, the last of those that are known."""
        if times > _MOST_COUNTED:
            self.forget("more results at once than are counted here")
            return
        for _ in range(times):
            self._states = frozenset(
                after for state in self._states for after in self._after(state, result)
            )

    def count_in_any_order(self, counts: ProbeCounts) -> None:
        """Count results of both kinds of which the order is unknown."""
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
                    after = {it for state in here for it in self._after(state, result)}
                    following.setdefault(then, set()).update(after)
            states = following
        self._states = frozenset(states[counts])
        if len(self._states) > _MOST_STATES:
            self.forget(self._reason)

    def _after(self, state: _State, result: Result) -> Iterator[_State]:
        is_same = state.last is result
        run = state.run + 1 if is_same else 1
        is_open = is_same and state.is_open
        is_reached = run >= self._thresholds[result]
        if not is_reached:
            yield _State(result, run, is_open, None)
        if is_reached or is_open:
            if result in self._holds_after:
                yield _State(result, 0, is_open=False, reached=result)
            else:
                yield _State(result, run, is_open, result)
