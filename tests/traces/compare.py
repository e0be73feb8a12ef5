"""A run of probetui beside the run of a real kubelet: what must be the same, and how.

Of each container the same: the order of types, reasons and messages of its events; how
often a probe fails before it kills; when all that was, from the start of the instance
on, within 1.5 s or one period of its probes, whichever is longer; the time from a kill
to what comes of it; whether it is started again at once. Of the pod the same: phase,
conditions, states, exit codes, `ready` and `started`, in the same order and at the same
time of each container's life.

After its manifest was removed a kubelet forgets the status of a static pod, and so does
not probe it any more, where ours is deleted as at an API server: probes are compared up
to there.

Not the same need be what hangs on chance: `BackOff` and the like come with every
attempt to sync, and when the attempts are depends on random pauses of 10 to 15 s.
Where they decide when a container is started again, `restarts` says what is allowed;
where that makes a later container wait or not wait, the difference is marked as chance.
So is the error of a probe that met the end of its container.
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
    Life,
    What,
    is_of_probe,
    lives,
    plain,
    without_window,
)
from tests.traces.pod_states import (
    Picture,
    albums,
    first_mismatch,
    first_sight,
    stated_windows,
)
from tests.traces.restarts import (
    LATE,
    RETRY,
    active_until,
    broken_pull_rules,
    broken_rules,
    decisions,
    is_pull,
)
from tests.traces.trace import Trace

TOLERANCE = 1.5
"""Seconds by which times may differ, if no probe has a longer period."""

PROBED_WITHIN = 0.5
"""Seconds that a probe may take, and the status that comes of it."""

RESYNC_JITTER = 30.0
"""Seconds by which resyncs vary, for which the kill by a startup probe once waited."""

BACK_OFF_JITTER = 30.0
"""Seconds by which the look at a container in back-off varies: half of a minute."""

STARTUP = "Startup"
STATED = {10: "10s", 20: "20s", 40: "40s", 80: "1m20s", 160: "2m40s", 300: "5m0s"}
"""How windows are written in messages."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the kubelet had it."""

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

    `slack` is how many seconds more times may differ, for a machine of its own load;
    that of the kubelet's machine counts, too: `lateness`, the trace's if None.
    """
    lateness = trace.lateness if lateness is None else lateness
    return list(_Comparison(trace, ours, slack + lateness).differences())


class _Comparison:
    """A trace and our run of its pod, both cut into the lives of containers."""

    def __init__(self, trace: Trace, ours: Observation, slack: float) -> None:
        self._slack = slack
        self._periods = trace.periods
        self._wakes = trace.config.rules.results_wake_pod
        is_random = trace.config.rules.sleeps_until_back_off_ends
        self._back_off_jitter = BACK_OFF_JITTER if is_random else 0.0
        self._names = tuple(self._periods)
        self._kubelet, self._ours = trace.seen, ours
        self._statuses_end = trace.statuses_end
        self._probes = trace.probes
        self._has_window = trace.config.rules.inherits_started
        self._theirs = {name: self._lives(trace.seen, name) for name in self._names}
        self._mine = {name: self._lives(ours, name) for name in self._names}

    def differences(self) -> Iterator[Difference]:
        """Yield them, those of events first."""
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
        """Compare the events of the pod itself, of which each sync may repeat some."""
        theirs = _first_times(self._kubelet, self._names)
        mine = _first_times(self._ours, self._names)
        clocks = Clocks(
            [(_first_time(self._kubelet), _first_time(self._ours))],
            TOLERANCE + self._slack,
            ends=(self._kubelet.end, self._ours.end),
        )
        for what, t in theirs.items():
            if what not in mine and not clocks.is_cut(t):
                yield Difference("pod", f"lacks {what[1]} {what[2]!r}")
        for what, t in mine.items():
            if what not in theirs and not clocks.is_cut_mine(t):
                yield Difference("pod", f"has {what[1]} {what[2]!r}")
            elif what in theirs and not clocks.agree(theirs[what], t):
                told = clocks.tell(theirs[what], t)
                yield Difference("pod", f"{what[1]} {what[2]!r} is {told}")

    def _lives(
        self, seen: Observation, name: str, probe: str | None = None
    ) -> Sequence[Life]:
        """Return the lives of a container, with the results of one probe or of all."""
        deleted = next((t for what, t in seen.actions if what == "delete"), math.inf)
        events = [
            event
            for event in seen.events
            if event.container == name
            and not (event.reason in PROBED and event.t > deleted)
            and (probe is None or is_of_probe(event, probe))
        ]
        period = self._periods[name] if probe is None else self._probes[name][probe]
        return lives(events, period)

    def _starts(self) -> Iterator[Difference]:
        """Compare the order in which containers were first started, and the pauses."""
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

    def _clocks(self, name: str, model: Life, life: Life, *, is_first: bool) -> Clocks:
        """Return by what the times of a life are compared.

        The kubelet of the traces began with so many pods at once that it first looked
        at its containers seconds after it had started them. What happens to a first
        instance may be as long after that look instead.
        """
        zeros = [(model.begins_at, life.begins_at)]
        if model.started_at is not None and life.started_at is not None:
            zeros = [(model.started_at, life.started_at)]
        looks = [
            first_sight(observation.statuses)
            for observation in (self._kubelet, self._ours)
        ]
        if is_first and looks[0] is not None and looks[1] is not None:
            zeros.append((looks[0], looks[1]))
        deletes = [
            t
            for observation in (self._kubelet, self._ours)
            for what, t in observation.actions
            if what == "delete"
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
        """Compare the lives of a container, the results of each of its probes apart.

        Each probe has a worker of its own, and which of two is first is chance.
        """
        probes = self._probes[name]
        if len(probes) <= 1:
            yield from self._compare_lives(name, self._theirs[name], self._mine[name])
            return
        for probe in probes:
            theirs = self._lives(self._kubelet, name, probe)
            mine = self._lives(self._ours, name, probe)
            if self._has_window and probe != STARTUP and STARTUP in probes:
                theirs, mine = (
                    [without_window(life, probes[STARTUP]) for life in found]
                    for found in (theirs, mine)
                )
            yield from self._compare_lives(name, theirs, mine)

    def _compare_lives(
        self, name: str, theirs: Sequence[Life], mine: Sequence[Life]
    ) -> Iterator[Difference]:
        for number, life in enumerate(mine):
            model = _model(theirs, number)
            clocks = self._clocks(name, model, life, is_first=number == 0)
            where = f"{name}, life {number}"
            for difference in differences(model, life, clocks, TOLERANCE + self._slack):
                yield Difference(where, difference)
            if life.stray is not None and model.stray is None:
                yield Difference(where, f"has {life.stray} at its end", is_chance=True)

    def _restarts(self, name: str) -> Iterator[Difference]:
        """Check when containers were started again, and if they were at once."""
        theirs, mine = self._theirs[name], self._mine[name]
        is_started = any(life.started_at is not None for life in theirs)
        made, model = decisions(mine), decisions(theirs)
        judge = broken_pull_rules if is_pull(theirs) else broken_rules
        # Where the kubelet of the trace keeps other rules, it is the measure itself.
        if not list(judge(theirs, active_until(self._kubelet))):
            for rule in judge(mine, active_until(self._ours)):
                yield Difference(name, rule)
        else:
            # From a wait on that the other did not have, back-off is another one.
            alike = takewhile(
                lambda pair: pair[0].waits == pair[1].waits,
                zip(made, model, strict=False),
            )
            yield from self._pauses(name, sum(1 for _ in alike))
        for number, (one, other) in enumerate(zip(made, model, strict=False)):
            if is_started and one.waits != other.waits:
                yield Difference(
                    f"{name}, life {number}",
                    f"{one}; the kubelet {other}",
                    is_chance=self._slack == math.inf
                    or (one.is_as_it_must_be and other.is_as_it_must_be),
                )
        for container, number, message in stated_windows(self._ours.statuses):
            if container == name and number < len(made):
                stated = STATED.get(round(made[number].window), "none")
                if not message.startswith(f"back-off {stated} restarting"):
                    text = f"says {message!r}, the window is {stated}"
                    yield Difference(f"{name}, life {number}", text)

    def _pauses(self, name: str, comparable: int) -> Iterator[Difference]:
        """Compare the first times from one life to the next with the kubelet's own."""
        mine, theirs = (
            [after.begins_at - before.begins_at for before, after in pairwise(found)]
            for found in (self._mine[name], self._theirs[name])
        )
        pauses = zip(mine[:comparable], theirs[:comparable], strict=False)
        for number, (pause, expected) in enumerate(pauses):
            if abs(pause - expected) > RETRY + LATE + self._slack:
                text = f"begins {pause:.1f} s after the last, not {expected:.1f} s"
                yield Difference(f"{name}, life {number + 1}", text)

    # -- statuses

    def _statuses(self) -> Iterator[Difference]:
        theirs, mine = albums(_alive(self._kubelet)), albums(_alive(self._ours))
        ends = (self._statuses_end, self._ours.end)
        yield from self._first_look()
        for index, name in enumerate(self._names):
            shown, model_shown = (
                {key[index] for key in found if index < len(key)}
                for found in (mine, theirs)
            )
            for number, life in enumerate(self._mine[name]):
                if life.next_at is not None and life.started_at is not None:
                    lasted = life.next_at - life.started_at
                    known_until = max(model_shown, default=number)
                    is_due = number in model_shown or number > known_until
                    if is_due and number not in shown and lasted > 2 * TOLERANCE:
                        yield Difference(name, f"no status shows life {number}")
        for key, pictures in mine.items():
            known = [
                index
                for index, name in enumerate(self._names[: len(key)])
                if self._mine[name]
            ]
            if not known or not theirs:
                return  # no container came to anything in both, or nobody looked
            index = max(known, key=key.__getitem__)
            name, number = self._names[index], key[index]
            whole = theirs.get(key) or list(theirs.values())[max(0, len(theirs) - 2)]
            model = _model(self._theirs[name], number)
            life = self._mine[name][min(number, len(self._mine[name]) - 1)]
            clocks = self._clocks(name, model, life, is_first=number == 0)
            clocks = replace(clocks, zeros=[*clocks.zeros, *self._other_starts(key)])
            longest = max(self._periods.values()) + PROBED_WITHIN
            tolerance = max(TOLERANCE, longest) + self._slack
            if model.started_at is None:
                tolerance = float("inf")  # each change is a retry, after a random pause
            mismatch = first_mismatch(
                _without_chance(whole, model, life),
                _without_chance(pictures, model, life),
                replace(clocks, tolerance=tolerance, ends=ends),
                self._slack,
                self._back_off_jitter,
            )
            if mismatch:
                yield Difference(f"statuses, life {number}", mismatch)

    def _other_starts(self, key: Sequence[int]) -> Iterator[tuple[float, float]]:
        """Yield when each container was started of which statuses tell."""
        for name, number in zip(self._names, key, strict=False):
            if number < min(len(self._theirs[name]), len(self._mine[name])):
                theirs = self._theirs[name][number].started_at
                mine = self._mine[name][number].started_at
                if theirs is not None and mine is not None:
                    yield theirs, mine

    def _first_look(self) -> Iterator[Difference]:
        """Compare how long it took until a status told of the first instance."""
        late = [
            look - start
            for seen, found in (
                (self._kubelet, self._theirs),
                (self._ours, self._mine),
            )
            if (look := first_sight(seen.statuses)) is not None
            for start in list(_first_starts(found).values())[:1]
        ]
        if len(late) == 2 and late[1] > max(TOLERANCE, late[0]) + self._slack:
            text = f"seen {late[1]:.1f} s after the first start, not {late[0]:.1f} s"
            yield Difference("pod", text)


def _first_times(seen: Observation, names: Sequence[str]) -> dict[What, float]:
    """Return when each kind of event that is of none of the containers came first."""
    found: dict[What, float] = {}
    for event in seen.events:
        if event.container not in names:
            what = (event.type, event.reason, plain(event.message))
            found.setdefault(what, event.t)
    return found


def _first_time(seen: Observation) -> float:
    times = (event.t for event in seen.events if event.container is not None)
    return next(times, 0.0)


def _first_starts(found: dict[str, Sequence[Life]]) -> dict[str, float]:
    """Return when each container was first started, the earliest first."""
    starts = {
        name: lives[0].started_at
        for name, lives in found.items()
        if lives and lives[0].started_at is not None
    }
    return dict(sorted(starts.items(), key=lambda start: start[1] or 0.0))


def _model(theirs: Sequence[Life], number: int) -> Life:
    """Return the life to compare one with; later ones are like the last whole one."""
    if number < len(theirs):
        return theirs[number]
    return theirs[max(0, len(theirs) - 2)]


def _alive(seen: Observation) -> Iterator[Status]:
    """Yield the statuses before the pod was deleted: then a kubelet drops it."""
    deleted = next((t for what, t in seen.actions if what == "delete"), float("inf"))
    return (status for status in seen.statuses if status.t < deleted)


def _without_chance(
    pictures: Sequence[Picture], model: Life, life: Life
) -> Sequence[Picture]:
    """Leave out back-off where one waits and the other does not."""
    if bool(model.waits) == bool(life.waits):
        return pictures
    return [picture for picture in pictures if not picture.look.is_in_back_off]
