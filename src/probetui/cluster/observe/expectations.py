"""Prediction beside fact: what the kubelet's rules demand, and whether it came.

The observed ticks are lived by the same rules (`result_run`). Where they certainly
reach a threshold, the cluster has to show the consequence soon: a kill, a change of
readiness. What does not come, or comes unexpected, is reported with possible causes;
what agrees is shown by statuses and events themselves.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from probetui.cluster.observe.probe_counters import CountedTicks
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import NoteEntry, TickAction, TickEntry
from probetui.kubelet.runtime.turn import TurnBuilder

PATIENCE = timedelta(seconds=10)
"""A status comes within a tenth of a second, an event may take longer or be lost."""

_EARLY = timedelta(seconds=1)
"""Inputs may arrive in another order than they happened, by this much."""

_WORDS = {
    TickAction.KILL: "killed",
    TickAction.READY: "ready",
    TickAction.NOT_READY: "not ready",
    TickAction.STARTED: "started",
}


class _Expectation(Struct, frozen=True):
    key: ProbeKey
    action: TickAction
    at: datetime
    until: datetime
    run: int


class _Fact(Struct, frozen=True):
    """What the cluster has shown; `is_counted`: every tick before it is known."""

    key: ProbeKey
    action: TickAction
    at: datetime
    is_counted: bool


class Expectations:
    """What is still to come for the containers of one pod.

    Args:
        pod_name: its name, for people.
        turn: takes the notes.
    """

    def __init__(self, pod_name: str, turn: TurnBuilder) -> None:
        self._pod_name = pod_name
        self._turn = turn
        self._open: list[_Expectation] = []
        self._facts: list[_Fact] = []

    @property
    def next_deadline(self) -> datetime | None:
        """When something is overdue or unexplained, None for never."""
        deadlines = [it.until for it in self._open]
        deadlines += [it.at + PATIENCE for it in self._facts]
        return min(deadlines, default=None)

    def expect(self, tick: TickEntry, counted: CountedTicks, within: timedelta) -> None:
        """Expect what a tick leads to; the fact may have been seen before the tick.

        Args:
            tick: whose action is certain.
            counted: between which instants it was.
            within: how long a kill may take: the grace period.
        """
        if tick.action not in _WORDS:
            return
        until = counted.latest + within + PATIENCE
        for fact in self._facts:
            is_meant = fact.key == tick.key and fact.action is tick.action
            if is_meant and counted.earliest - _EARLY <= fact.at <= until:
                self._facts.remove(fact)
                return
        self._open.append(_Expectation(tick.key, tick.action, tick.at, until, tick.run))

    def note_fact(
        self, key: ProbeKey, action: TickAction, at: datetime, *, is_counted: bool
    ) -> None:
        """Note what the cluster shows of a container for one of its probes.

        Args:
            key: the probe.
            action: what has become of it.
            at: when it arrived.
            is_counted: the counters hold every tick, so that it has to be explained.
        """
        for expected in self._open:
            if expected.key == key and expected.action is action:
                self._open.remove(expected)
                return
        self._facts.append(_Fact(key, action, at, is_counted))

    def forget(self, container_name: str) -> None:
        """Expect nothing more of a container: its pod goes, or it was stopped."""
        self._open = [
            it for it in self._open if it.key.container_name != container_name
        ]

    def check(self, now: datetime, counted_until: datetime | None) -> None:
        """Report what did not come in time, and what came without a reason.

        Args:
            now: the instant.
            counted_until: up to when the counters hold every tick.
        """
        overdue = [it for it in self._open if it.until <= now]
        for expected in overdue:
            self._open.remove(expected)
            words = _WORDS[expected.action]
            self._note(
                f"{self._name(expected.key)}: should have been {words} at "
                f"{expected.at:%H:%M:%S} ({expected.run} in a row) and was "
                "not: another version's rule, a restarted kubelet, or a status that "
                "is late",
                now,
                is_fault=True,
            )

        for fact in [it for it in self._facts if it.at + PATIENCE <= now]:
            self._facts.remove(fact)
            is_covered = counted_until is not None and fact.at + _EARLY <= counted_until
            if is_covered and fact.is_counted and fact.action is TickAction.KILL:
                self._note(
                    f"{self._name(fact.key)}: was killed at {fact.at:%H:%M:%S} before "
                    "its counted failures reached the threshold: a tick was missed, "
                    "the kubelet restarted, or it has another version's rule",
                    now,
                    is_fault=True,
                )

    def _note(self, text: str, at: datetime, *, is_fault: bool = False) -> None:
        sequence = self._turn.next_sequence()
        self._turn.write(NoteEntry(sequence, at, text, is_fault=is_fault))

    def _name(self, key: ProbeKey) -> str:
        kind = key.probe_type.value.lower()
        return f"{self._pod_name}/{key.container_name} {kind}"
