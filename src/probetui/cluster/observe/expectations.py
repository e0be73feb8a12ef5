"""Expectations: the effects that the kubelet's rules predict, and their absence.

The observed ticks are evaluated by the same rules (`result_run`). Once they certainly
reach a threshold, the cluster has to show the effect soon: a kill, or a change of
readiness. A missing or unexpected effect is reported with possible causes; statuses and
events show the others.

Statuses are late, and a kubelet skips those that have changed again. So readiness is
expected as a state: a status has to show it at some time after the tick, unless
something may have changed it since.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from msgspec import Struct

from probetui.cluster.observe.probe_counters import CountedTicks
from probetui.k8s.probe import ProbeKey
from probetui.k8s.status import ContainerStatus
from probetui.kubelet.journal import NoteEntry, TickAction, TickEntry
from probetui.kubelet.outcome import Result
from probetui.kubelet.runtime.turn import TurnBuilder

_LEAST_PATIENCE = timedelta(seconds=10)
"""A status comes within a tenth of a second, an event may take longer or be lost."""

_MOST_PATIENCE = timedelta(minutes=5)
_LAGS_KEPT = 20
_NO_LAG = timedelta()
_EARLY = timedelta(seconds=1)
"""Inputs may arrive in another order than they happened, by this much."""

_STATES_KEPT = 20

_WORDS = {
    TickAction.KILL: "killed",
    TickAction.READY: "ready",
    TickAction.NOT_READY: "not ready",
    TickAction.STARTED: "started",
}
_UNDONE_BY = {
    TickAction.READY: Result.FAILURE,
    TickAction.NOT_READY: Result.SUCCESS,
}


class StatusLag:
    """The delay of a node's statuses, measured by the newest ones."""

    def __init__(self) -> None:
        self._newest: deque[timedelta] = deque(maxlen=_LAGS_KEPT)

    def learn(self, lag: timedelta) -> None:
        """Add the delay of a status."""
        self._newest.append(max(lag, _NO_LAG))

    @property
    def patience(self) -> timedelta:
        """The time to wait for a status: three times the longest delay."""
        longest = max(self._newest, default=_NO_LAG)
        return min(max(_LEAST_PATIENCE, 3 * longest), _MOST_PATIENCE)


class _Expectation(Struct, frozen=True):
    """An effect to be shown after `since`; `latest` is the last time of its cause.

    `within` is how long the kubelet may take for it.
    """

    key: ProbeKey
    action: TickAction
    at: datetime
    since: datetime
    latest: datetime
    within: timedelta
    run: int


class _Kill(Struct, frozen=True):
    """A kill that the cluster reported.

    `is_counted`: every tick before it is known.
    """

    key: ProbeKey
    at: datetime
    is_counted: bool


class _ShownState(Struct, frozen=True):
    at: datetime
    ready: bool
    started: bool

    def shows(self, action: TickAction) -> bool:
        if action is TickAction.STARTED:
            return self.started
        return self.ready is (action is TickAction.READY)


class Expectations:
    """The expected effects on the containers of one pod.

    Args:
        pod_name: its name, for messages.
        turn: takes the notes.

    Attributes:
        lag: the delay of its node's statuses.
    """

    def __init__(self, pod_name: str, turn: TurnBuilder) -> None:
        self._pod_name = pod_name
        self._turn = turn
        self.lag = StatusLag()
        self._open: list[_Expectation] = []
        self._kills: list[_Kill] = []
        self._states: dict[str, deque[_ShownState]] = {}
        self._ended_at: dict[str, datetime] = {}
        self._told: set[tuple[ProbeKey, TickAction]] = set()

    @property
    def next_deadline(self) -> datetime | None:
        """When the next effect is overdue or unexplained, None for never."""
        deadlines = [self._until(expectation) for expectation in self._open]
        deadlines += [kill.at + self.lag.patience for kill in self._kills]
        return min(deadlines, default=None)

    def expect(
        self,
        tick: TickEntry,
        action: TickAction,
        counted: CountedTicks,
        within: timedelta,
    ) -> None:
        """Expect the effect of a tick; it may have been shown before the tick.

        Args:
            tick: it has certainly reached its threshold.
            action: the effect.
            counted: between which instants it was.
            within: how long a kill may take: the grace period.
        """
        key, since = tick.key, counted.earliest - _EARLY
        is_open = any(
            (expectation.key, expectation.action) == (key, action)
            for expectation in self._open
        )
        if action not in _WORDS or is_open or (key, action) in self._told:
            return
        expected = _Expectation(
            key, action, tick.at, since, counted.latest, within, tick.run.count
        )
        if action is TickAction.KILL:
            for kill in self._kills:
                if kill.key == key and since <= kill.at <= self._until(expected):
                    self._kills.remove(kill)
                    return
            ended_at = self._ended_at.get(key.container_name)
            if ended_at is not None and ended_at >= since:
                return  # it ended by itself, or the event was lost
        elif self._is_shown(expected):
            return
        self._open.append(expected)

    def doubt(self, key: ProbeKey, may_be: AbstractSet[Result]) -> None:
        """Cancel the effects that a worker's possible results would undo."""
        self._open = [
            expectation
            for expectation in self._open
            if expectation.key != key
            or _UNDONE_BY.get(expectation.action) not in may_be
        ]
        for action, result in _UNDONE_BY.items():
            if result in may_be:
                self._told.discard((key, action))

    def record_kill(self, key: ProbeKey, at: datetime, *, is_counted: bool) -> None:
        """Record a kill for a probe that the cluster reported.

        Args:
            key: the probe.
            at: when that arrived.
            is_counted: the counters hold every tick, so that it has to be explained.
        """
        for expected in self._open:
            if expected.key == key and expected.action is TickAction.KILL:
                self._open.remove(expected)
                self.lag.learn(at - expected.latest - expected.within)
                return
        self._kills.append(_Kill(key, at, is_counted))

    def show(self, status: ContainerStatus, at: datetime) -> None:
        """Record a new status of a running container."""
        state = _ShownState(at, status.ready, bool(status.started))
        states = self._states.setdefault(status.name, deque(maxlen=_STATES_KEPT))
        states.append(state)
        for expected in [
            expectation for expectation in self._open if self._is_shown(expectation)
        ]:
            self._open.remove(expected)
            self.lag.learn(at - expected.latest)
        self._told -= {
            (key, action)
            for key, action in self._told
            if key.container_name == status.name
            and action is not TickAction.KILL
            and state.shows(action)
        }

    def end(self, container_name: str, at: datetime) -> None:
        """Record the end of an instance: its effects are not shown any more."""
        self._ended_at[container_name] = at
        self._states.pop(container_name, None)
        self.forget(container_name)

    def forget(self, container_name: str) -> None:
        """Cancel the expectations of a container that its pod or a stop ends."""
        self._open = [
            expectation
            for expectation in self._open
            if expectation.key.container_name != container_name
        ]
        self._told = {
            (key, action)
            for key, action in self._told
            if key.container_name != container_name
        }

    def check(self, now: datetime, counted_until: datetime | None) -> None:
        """Report overdue effects and unexplained kills.

        Args:
            now: the instant.
            counted_until: up to when the counters hold every tick.
        """
        for expected in [
            pending for pending in self._open if self._until(pending) <= now
        ]:
            self._open.remove(expected)
            self._told.add((expected.key, expected.action))
            expected_state = _WORDS[expected.action]
            seconds = (now - expected.latest).total_seconds()
            self._note(
                f"{self._name(expected.key)}: should have been {expected_state} at "
                f"{expected.at:%H:%M:%S} ({expected.run} in a row) and was "
                f"not, as far as is known {seconds:.0f}s later: another version's "
                "rule, a restarted kubelet, or a status that is late",
                now,
            )

        patience = self.lag.patience
        for kill in [kill for kill in self._kills if kill.at + patience <= now]:
            self._kills.remove(kill)
            is_covered = counted_until is not None and kill.at + _EARLY <= counted_until
            if is_covered and kill.is_counted:
                self._note(
                    f"{self._name(kill.key)}: was killed at {kill.at:%H:%M:%S} before "
                    "its counted failures reached the threshold: a tick was missed, "
                    "the kubelet restarted, or it has another version's rule",
                    now,
                )

    def _until(self, expected: _Expectation) -> datetime:
        return expected.latest + expected.within + self.lag.patience

    def _is_shown(self, expected: _Expectation) -> bool:
        """Return whether a status in force since then has shown a state."""
        if expected.action is TickAction.KILL:
            return False
        for state in reversed(self._states.get(expected.key.container_name, ())):
            if state.shows(expected.action):
                return True
            if state.at < expected.since:
                return False
        return False

    def _note(self, text: str, at: datetime) -> None:
        sequence = self._turn.next_sequence()
        self._turn.write(NoteEntry(sequence, at, text, is_fault=True))

    def _name(self, key: ProbeKey) -> str:
        kind = key.probe_type.value.lower()
        return f"{self._pod_name}/{key.container_name} {kind}"
