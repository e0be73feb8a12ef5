"""Compare a run of probetui with the recorded run of a real kubelet.

For each container these must be equal: the order of types, reasons and messages of its
events; how often a probe fails before it kills; the times of these events from the
start of the instance, within 1.5 s or one period of its probes, whichever is longer;
the time from a kill to the next event; whether it is restarted at once. For the pod:
phase, conditions, states, exit codes, `ready` and `started`, in the same order and at
the same time from the start of each instance.

When its manifest is removed, a kubelet forgets the status of a static pod and stops
probing it, while ours is deleted as at an API server: probes are compared up to there.

Random differences are allowed: every sync repeats `BackOff` and similar events, and the
times of syncs depend on random pauses of 10 to 15 s. Where they decide when a container
is started again, `restarts` has the rule; where that makes a later container wait or
not wait, the difference is marked as chance. So is the error of a probe that ran while
its container ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from tests.conformance.observation import Observation, Status
from tests.traces.clocks import Clocks
from tests.traces.instance_differences import differences
from tests.traces.instances import (
    PROBED,
    EventKind,
    Instance,
    is_of_probe,
    plain,
    split_instances,
    without_window,
)
from tests.traces.pod_states import (
    StatePeriod,
    first_instance_status,
    first_mismatch,
    periods_by_restarts,
    stated_back_offs,
)
from tests.traces.restarts import (
    MAX_DELAY,
    RETRY,
    active_until,
    broken_pull_rules,
    broken_rules,
    decisions,
    is_pull,
)
from tests.traces.trace import Trace

TOLERANCE = 1.5
"""How much times may differ, in seconds, if no probe has a longer period."""

PROBED_WITHIN = 0.5
"""The longest time for a probe and the status that follows from it, in seconds."""

RESYNC_JITTER = 30.0
"""How much resyncs vary, in seconds; older kubelets kill by a startup probe at a
resync."""

BACK_OFF_JITTER = 30.0
"""How much syncs of a container in back-off vary, in seconds: half a minute."""

STARTUP = "Startup"
STATED = {10: "10s", 20: "20s", 40: "40s", 80: "1m20s", 160: "2m40s", 300: "5m0s"}
"""Windows of back-off, as written in messages."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference from the kubelet."""

    where: str
    text: str
    is_chance: bool = False

    def __str__(self) -> str:
        chance = " (by chance)" if self.is_chance else ""
        return f"{self.where}: {self.text}{chance}"


def compare(
    trace: Trace,
    ours: Observation,
    slack: float = 0.0,
    lateness: float | None = None,
) -> list[Difference]:
    """Return how a run of a trace's pod differs from the trace.

    `slack` is how many seconds more times may differ because of the load of our
    machine; `lateness` is the same for the kubelet's machine, the trace's if None.
    """
    lateness = trace.lateness if lateness is None else lateness
    return list(_Comparison(trace, ours, slack + lateness).differences())


class _Comparison:
    """A trace and our run of its pod, both split into instances of containers."""

    def __init__(self, trace: Trace, ours: Observation, slack: float) -> None:
        self._slack = slack
        self._periods = trace.periods
        self._wakes = trace.config.rules.results_wake_pod
        is_random = trace.config.rules.sleeps_until_back_off_ends
        self._back_off_jitter = BACK_OFF_JITTER if is_random else 0.0
        self._names = tuple(self._periods)
        self._kubelet, self._ours = trace.observation, ours
        self._statuses_end = trace.statuses_end
        self._probes = trace.probes
        self._has_window = trace.config.rules.inherits_started
        self._theirs = {
            name: self._instances(trace.observation, name) for name in self._names
        }
        self._mine = {name: self._instances(ours, name) for name in self._names}

    def differences(self) -> Iterator[Difference]:
        """Yield the differences, those of events first."""
        yield from self._pod_events()
        yield from self._starts()
        for name in self._names:
            theirs, mine = self._theirs[name], self._mine[name]
            if bool(theirs) != bool(mine):
                text = "has no events" if theirs else "has events, the kubelet none"
                yield Difference(name, text)
                return
            if mine:
                yield from self._container(name)
                yield from self._restarts(name)
        yield from self._statuses()

    def _pod_events(self) -> Iterator[Difference]:
        """Compare the events of the pod itself; every sync may repeat some."""
        theirs = _first_times(self._kubelet, self._names)
        mine = _first_times(self._ours, self._names)
        clocks = Clocks(
            [(_first_time(self._kubelet), _first_time(self._ours))],
            TOLERANCE + self._slack,
            ends=(self._kubelet.end, self._ours.end),
        )
        for kind, t in theirs.items():
            if kind not in mine and not clocks.is_cut(t):
                yield Difference("pod", f"lacks {kind[1]} {kind[2]!r}")
        for kind, t in mine.items():
            if kind not in theirs and not clocks.is_cut_mine(t):
                yield Difference("pod", f"has {kind[1]} {kind[2]!r}")
            elif kind in theirs and not clocks.agree(theirs[kind], t):
                times = clocks.format_times(theirs[kind], t)
                yield Difference("pod", f"{kind[1]} {kind[2]!r} is {times}")

    def _instances(
        self, observation: Observation, name: str, probe: str | None = None
    ) -> Sequence[Instance]:
        """Return the instances of a container, with results of one probe or all."""
        deleted = next(
            (t for kind, t in observation.actions if kind == "delete"), math.inf
        )
        events = [
            event
            for event in observation.events
            if event.container == name
            and not (event.reason in PROBED and event.t > deleted)
            and (probe is None or is_of_probe(event, probe))
        ]
        period = self._periods[name] if probe is None else self._probes[name][probe]
        return split_instances(events, period)

    def _starts(self) -> Iterator[Difference]:
        """Compare the order of the first starts of containers, and their pauses."""
        theirs, mine = _first_starts(self._theirs), _first_starts(self._mine)
        if list(theirs) != list(mine):
            text = f"started {[*mine]}, the kubelet {[*theirs]}"
            yield Difference("pod", text)
            return
        for one, other in pairwise(theirs):
            pause, expected = mine[other] - mine[one], theirs[other] - theirs[one]
            if abs(pause - expected) > TOLERANCE + self._slack:
                text = f"started {pause:.1f} s after {one}, not {expected:.1f} s"
                yield Difference(other, text)

    def _clocks(
        self, name: str, model: Instance, instance: Instance, *, is_first: bool
    ) -> Clocks:
        """Return the clocks that compare the times of an instance.

        The kubelet of the traces began with so many pods at once that its first relist
        was seconds after it had started them. The times of a first instance may be
        relative to that relist instead.
        """
        zeros = [(model.begins_at, instance.begins_at)]
        if model.started_at is not None and instance.started_at is not None:
            zeros = [(model.started_at, instance.started_at)]
        first_statuses = [
            first_instance_status(observation.statuses)
            for observation in (self._kubelet, self._ours)
        ]
        if is_first and first_statuses[0] is not None and first_statuses[1] is not None:
            zeros.append((first_statuses[0], first_statuses[1]))
        deletes = [
            t
            for observation in (self._kubelet, self._ours)
            for kind, t in observation.actions
            if kind == "delete"
        ]
        tolerance = max(TOLERANCE, self._periods[name]) + self._slack
        if model.is_killed_by_startup and not self._wakes:
            tolerance += RESYNC_JITTER
        return Clocks(
            zeros,
            tolerance,
            ends=(self._kubelet.end, self._ours.end),
            deleted=(deletes[0], deletes[1]) if len(deletes) == 2 else None,
        )

    # -- events

    def _container(self, name: str) -> Iterator[Difference]:
        """Compare the instances of a container, separately for each of its probes.

        Each probe has its own worker; which of two workers runs first is chance.
        """
        probes = self._probes[name]
        if len(probes) <= 1:
            yield from self._compare_instances(
                name, self._theirs[name], self._mine[name]
            )
            return
        for probe in probes:
            theirs = self._instances(self._kubelet, name, probe)
            mine = self._instances(self._ours, name, probe)
            if self._has_window and probe != STARTUP and STARTUP in probes:
                theirs, mine = (
                    [without_window(instance, probes[STARTUP]) for instance in found]
                    for found in (theirs, mine)
                )
            yield from self._compare_instances(name, theirs, mine)

    def _compare_instances(
        self, name: str, theirs: Sequence[Instance], mine: Sequence[Instance]
    ) -> Iterator[Difference]:
        for number, instance in enumerate(mine):
            model = _model(theirs, number)
            clocks = self._clocks(name, model, instance, is_first=number == 0)
            where = f"{name}, instance {number}"
            for difference in differences(
                model, instance, clocks, TOLERANCE + self._slack
            ):
                yield Difference(where, difference)
            if instance.stray is not None and model.stray is None:
                yield Difference(
                    where, f"has {instance.stray} at its end", is_chance=True
                )

    def _restarts(self, name: str) -> Iterator[Difference]:
        """Check when containers were started again, and whether they waited."""
        theirs, mine = self._theirs[name], self._mine[name]
        is_started = any(instance.started_at is not None for instance in theirs)
        own_decisions, model = decisions(mine), decisions(theirs)
        judge = broken_pull_rules if is_pull(theirs) else broken_rules
        # If the kubelet of the trace has other rules, its own pauses are the reference.
        if not list(judge(theirs, active_until(self._kubelet))):
            for rule in judge(mine, active_until(self._ours)):
                yield Difference(name, rule)
        else:
            # After a wait that only one of them had, the back-off of both is different.
            alike = takewhile(
                lambda pair: pair[0].waits == pair[1].waits,
                zip(own_decisions, model, strict=False),
            )
            yield from self._pauses(name, sum(1 for _ in alike))
        for number, (one, other) in enumerate(zip(own_decisions, model, strict=False)):
            if is_started and one.waits != other.waits:
                yield Difference(
                    f"{name}, instance {number}",
                    f"{one}; the kubelet {other}",
                    is_chance=self._slack == math.inf
                    or (one.follows_back_off and other.follows_back_off),
                )
        for container, number, message in stated_back_offs(self._ours.statuses):
            if container == name and number < len(own_decisions):
                stated = STATED.get(round(own_decisions[number].window), "none")
                if not message.startswith(f"back-off {stated} restarting"):
                    text = f"says {message!r}, the window is {stated}"
                    yield Difference(f"{name}, instance {number}", text)

    def _pauses(self, name: str, comparable: int) -> Iterator[Difference]:
        """Compare the first pauses between instances with those of the kubelet."""
        mine, theirs = (
            [after.begins_at - before.begins_at for before, after in pairwise(found)]
            for found in (self._mine[name], self._theirs[name])
        )
        pauses = zip(mine[:comparable], theirs[:comparable], strict=False)
        for number, (pause, expected) in enumerate(pauses):
            if abs(pause - expected) > RETRY + MAX_DELAY + self._slack:
                text = f"begins {pause:.1f} s after the last, not {expected:.1f} s"
                yield Difference(f"{name}, instance {number + 1}", text)

    # -- statuses

    def _statuses(self) -> Iterator[Difference]:
        theirs, mine = (
            periods_by_restarts(_before_deletion(self._kubelet)),
            periods_by_restarts(_before_deletion(self._ours)),
        )
        ends = (self._statuses_end, self._ours.end)
        yield from self._first_status()
        for index, name in enumerate(self._names):
            shown, model_shown = (
                {key[index] for key in found if index < len(key)}
                for found in (mine, theirs)
            )
            for number, instance in enumerate(self._mine[name]):
                if instance.next_at is not None and instance.started_at is not None:
                    lasted = instance.next_at - instance.started_at
                    last_shown = max(model_shown, default=number)
                    is_due = number in model_shown or number > last_shown
                    if is_due and number not in shown and lasted > 2 * TOLERANCE:
                        yield Difference(name, f"no status shows instance {number}")
        for key, periods in mine.items():
            ran = [
                index
                for index, name in enumerate(self._names[: len(key)])
                if self._mine[name]
            ]
            if not ran or not theirs:
                return  # no container ran in both, or there are no statuses
            index = max(ran, key=key.__getitem__)
            name, number = self._names[index], key[index]
            whole = theirs.get(key) or list(theirs.values())[max(0, len(theirs) - 2)]
            model = _model(self._theirs[name], number)
            instance = self._mine[name][min(number, len(self._mine[name]) - 1)]
            clocks = self._clocks(name, model, instance, is_first=number == 0)
            clocks = replace(clocks, zeros=[*clocks.zeros, *self._other_starts(key)])
            longest = max(self._periods.values()) + PROBED_WITHIN
            tolerance = max(TOLERANCE, longest) + self._slack
            if model.started_at is None:
                tolerance = float("inf")  # each change is a retry, after a random pause
            mismatch = first_mismatch(
                _without_chance(whole, model, instance),
                _without_chance(periods, model, instance),
                replace(clocks, tolerance=tolerance, ends=ends),
                self._slack,
                self._back_off_jitter,
            )
            if mismatch:
                yield Difference(f"statuses, instance {number}", mismatch)

    def _other_starts(self, key: Sequence[int]) -> Iterator[tuple[float, float]]:
        """Yield the start times of the containers that statuses show."""
        for name, number in zip(self._names, key, strict=False):
            if number < min(len(self._theirs[name]), len(self._mine[name])):
                theirs = self._theirs[name][number].started_at
                mine = self._mine[name][number].started_at
                if theirs is not None and mine is not None:
                    yield theirs, mine

    def _first_status(self) -> Iterator[Difference]:
        """Compare how long it took until a status showed the first instance."""
        delays = [
            state - start
            for observation, found in (
                (self._kubelet, self._theirs),
                (self._ours, self._mine),
            )
            if (state := first_instance_status(observation.statuses)) is not None
            for start in list(_first_starts(found).values())[:1]
        ]
        if len(delays) == 2 and delays[1] > max(TOLERANCE, delays[0]) + self._slack:
            text = (
                f"seen {delays[1]:.1f} s after the first start, not {delays[0]:.1f} s"
            )
            yield Difference("pod", text)


def _first_times(
    observation: Observation, names: Sequence[str]
) -> dict[EventKind, float]:
    """Return the first time of each kind of event that is of no container."""
    found: dict[EventKind, float] = {}
    for event in observation.events:
        if event.container not in names:
            kind = (event.type, event.reason, plain(event.message))
            found.setdefault(kind, event.t)
    return found


def _first_time(observation: Observation) -> float:
    times = (event.t for event in observation.events if event.container is not None)
    return next(times, 0.0)


def _first_starts(found: dict[str, Sequence[Instance]]) -> dict[str, float]:
    """Return the first start of each container, the earliest first."""
    starts = {
        name: instances[0].started_at
        for name, instances in found.items()
        if instances and instances[0].started_at is not None
    }
    return dict(sorted(starts.items(), key=lambda start: start[1] or 0.0))


def _model(theirs: Sequence[Instance], number: int) -> Instance:
    """Return the kubelet's instance to compare with, at most the last complete one."""
    if number < len(theirs):
        return theirs[number]
    return theirs[max(0, len(theirs) - 2)]


def _before_deletion(observation: Observation) -> Iterator[Status]:
    """Yield the statuses before the pod was deleted; after that a kubelet drops it."""
    deleted = next(
        (t for kind, t in observation.actions if kind == "delete"), float("inf")
    )
    return (status for status in observation.statuses if status.t < deleted)


def _without_chance(
    periods: Sequence[StatePeriod], model: Instance, instance: Instance
) -> Sequence[StatePeriod]:
    """Drop the periods in back-off if only one of the instances waits."""
    if bool(model.waits) == bool(instance.waits):
        return periods
    return [period for period in periods if not period.state.is_in_back_off]
