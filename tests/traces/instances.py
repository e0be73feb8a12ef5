"""The events of a container, cut into its lives: what can be compared one by one.

Times are seconds, as in observations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.conformance.observation import Event

What = tuple[str, str, str]
"""Type, reason and message of an event."""

SAME_RUN = 1.5
"""Equal results of probes are one run if no more periods than this lie between them."""

SAME_RUN_OF_ERRORS = 3.5
"""The same for errors, which take three tries each, on a machine that may be busy."""

AT_END = 2.0
"""Seconds at most from a container's end, if it is noticed, to what comes of it."""

AT_START = 0.75
"""Seconds at most from a container's start until its server listens, and until probes
know that it has taken the place of the one before."""

AT_ONCE = 0.05
"""Seconds at most between events that one sync made at one instant."""

_OF_ONE_SYNC = frozenset({"BackOff", "Failed", "FailedPostStartHook", "Killing"})
PROBED = frozenset({"Unhealthy", "ProbeWarning"})
_BEGINS = frozenset({"Pulling", "Pulled"})

_UID = re.compile(r"\((?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\)")
_PULL_ERROR = re.compile(r'^(Failed to pull image "[^"]+": ).*', re.DOTALL)
_START_ERROR = re.compile(
    r"^(Error: )(?:failed to (?:create|start) |.*OCI ).*", re.DOTALL
)
_ERRORED = r"errored(?: and resulted in \w+ state)?: "
_EXEC_ERROR = re.compile(rf"^(\w+ probe {_ERRORED}).*", re.DOTALL)
_MISSING = re.compile(r"^(\w+ probe failed: OCI runtime exec failed: ).*", re.DOTALL)
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?=:\d)")
_REFUSED = r"failed: .*connect: connection refused"
_NOT_CONNECTED = r"failed: timeout: failed to connect service .*"
_BROKEN_OFF = r"failed: .*(?:EOF|connection reset by peer)"
_MET_THE_END = re.compile(
    rf"\w+ probe (?:{_ERRORED}.*|{_REFUSED}|{_BROKEN_OFF}|{_NOT_CONNECTED}|failed: "
    r"(?:(?:OCI|cannot exec|ttrpc).*)?)",
    re.DOTALL,
)
_MET_THE_START = re.compile(rf"\w+ probe (?:{_ERRORED}.*|{_REFUSED})", re.DOTALL)
_FAILED_WITHOUT_A_WORD = re.compile(r"\w+ probe failed: ")
_FAILED_PROBE = re.compile(r"failed (?P<probe>\w+) probe")
_REPEATED = re.compile(
    r"Back-off .*|.*pull policy of Never|Error: \w+(?:Off|NeverPull)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """Equal events in a row, with the time of each."""

    what: What
    times: tuple[float, ...]

    @property
    def reason(self) -> str:
        """The reason of each of them."""
        return self.what[1]

    @property
    def is_repeated(self) -> bool:
        """Whether it comes with every attempt to sync, however many there are."""
        return _REPEATED.fullmatch(self.what[2]) is not None

    @property
    def is_kill(self) -> bool:
        """Whether it tells of a kill."""
        return self.reason == "Killing"

    def leads_to(self, kill: Step) -> bool:
        """Return whether a kill comes of these results of a probe."""
        named = _FAILED_PROBE.search(kill.what[2])
        is_of_this = named is None or self.what[2].lower().startswith(named["probe"])
        return kill.is_kill and is_of_this

    @property
    def is_kill_by_probe(self) -> bool:
        """Whether it tells of a kill because a probe had failed."""
        return self.is_kill and " probe" in self.what[2]

    def __str__(self) -> str:
        return f"{self.reason} {self.what[2]!r} x{len(self.times)}"


@dataclass(frozen=True, slots=True)
class Life:
    """One instance of a container, or one attempt to get its image.

    `steps` is what happened to it, `waits` what was repeated until the next one began,
    at `next_at`. `stray` is what came of a probe that met the end of its container: of
    one that ends by itself nobody knows whether a probe is just running. CRI runtimes
    have an error for it, Docker a command that failed without a word.
    """

    steps: tuple[Step, ...]
    waits: tuple[Step, ...]
    next_at: float | None = None
    stray: Step | None = None

    @property
    def begins_at(self) -> float:
        """When its first event was."""
        return min(step.times[0] for step in (*self.steps, *self.waits))

    @property
    def started_at(self) -> float | None:
        """When it was started, None if it was not."""
        times = (step.times[0] for step in self.steps if step.reason == "Started")
        return next(times, None)

    @property
    def noticed_at(self) -> float | None:
        """When something came of its end: a wait, or the next one."""
        if self.waits:
            return min(wait.times[0] for wait in self.waits)
        return self.next_at

    @property
    def is_killed_by_startup(self) -> bool:
        """Whether it ended because its startup probe had failed."""
        return any(
            step.is_kill and "startup probe" in step.what[2] for step in self.steps
        )

    @property
    def killed_at(self) -> float | None:
        """When it was killed because a probe had failed, None if it was not."""
        times = (step.times[-1] for step in self.steps if step.is_kill_by_probe)
        return next(times, None)

    @property
    def is_killed_by_probe(self) -> bool:
        """Whether it ended because a probe had failed."""
        return self.killed_at is not None


def is_of_probe(event: Event, probe: str) -> bool:
    """Return whether an event is of a probe (`Liveness`), or of none."""
    return event.reason not in PROBED or event.message.startswith(probe)


def lives(events: Iterable[Event], period: float) -> list[Life]:
    """Return the lives of the container of some events; its probes have a period."""
    cut: list[list[Step]] = []
    for step in steps(events, period):
        last = cut[-1][-1].reason if cut else ""
        if not cut or (step.reason in _BEGINS and last != "Pulling"):
            cut.append([])
        cut[-1].append(step)
    found = [_life(_without_early(instance)) for instance in cut]
    ended = [replace(one, next_at=next_.begins_at) for one, next_ in pairwise(found)]
    return [*map(_without_stray, ended), *map(_without_stray, found[-1:])]


def _without_early(steps: Sequence[Step]) -> Sequence[Step]:
    """Leave out what came of probes that met a container before it was there.

    Up to its start they met the end of the one before it. A server takes a moment
    until it listens, a program until it has made the file that a command looks for,
    and whether a probe is as quick is chance.
    """
    starts = [index for index, step in enumerate(steps) if step.reason == "Started"]
    if not starts:
        return steps
    start = starts[0]
    begin = [step for step in steps[:start] if not _MET_THE_END.fullmatch(step.what[2])]
    rest = list(steps[start:])
    for index, step in enumerate(rest[:3]):
        is_soon = step.times[-1] - rest[0].times[0] <= AT_START
        after = rest[index + 1 : index + 2]
        if is_soon and _met_the_start(step) and not any(map(step.leads_to, after)):
            del rest[index]
            break
    return [*begin, *rest]


def _met_the_start(step: Step) -> bool:
    """Return whether a step may be of a probe that was quicker than its container."""
    message = step.what[2]
    is_one = len(step.times) == 1 and _FAILED_WITHOUT_A_WORD.fullmatch(message)
    return bool(is_one or _MET_THE_START.fullmatch(message))


def _without_stray(life: Life) -> Life:
    """Set apart what came of a probe at the end of a life, if there is one."""
    if life.started_at is None:
        return life
    last = life.steps[-1]
    is_run = len(last.times) > 1 and not _follows_kill(life.steps)
    if is_run or not _MET_THE_END.fullmatch(last.what[2]):
        return life
    is_late = life.noticed_at and life.noticed_at - last.times[0] > AT_END
    if is_late and not _follows_kill(life.steps):
        return life
    return replace(life, steps=life.steps[:-1], stray=last)


def _follows_kill(steps: Sequence[Step]) -> bool:
    """Return whether the last step comes right after a kill."""
    return any(
        before.is_kill and last.times[-1] - before.times[-1] <= AT_END
        for before, last in pairwise(steps[-2:])
    )


def without_window(life: Life, period: float) -> Life:
    """Leave out what a probe found before a new instance was gated, if nothing came.

    Which of two workers that are due at the same instant is first is chance.
    """
    started = life.started_at
    for index, step in enumerate(life.steps):
        is_soon = started is not None and step.times[-1] - started <= period
        after = life.steps[index + 1 : index + 2]
        if step.reason in PROBED and is_soon and not any(map(step.leads_to, after)):
            return replace(life, steps=(*life.steps[:index], *life.steps[index + 1 :]))
    return life


def _life(steps: Sequence[Step]) -> Life:
    return Life(
        tuple(step for step in steps if not step.is_repeated),
        tuple(_joined_by_what(step for step in steps if step.is_repeated)),
    )


def _joined_by_what(steps: Iterable[Step]) -> Iterable[Step]:
    found: dict[What, Step] = {}
    for step in steps:
        known = found.get(step.what)
        found[step.what] = step if known is None else _joined(known, step)
    return found.values()


def in_one_order(events: Iterable[Event]) -> list[Event]:
    """Return events with those that one sync made at one instant in one order.

    Each is written by a goroutine of its own, so that their order is chance.
    """
    ordered: list[Event] = []
    for event in events:
        place = len(ordered)
        while place and _may_swap(ordered[place - 1], event):
            place -= 1
        ordered.insert(place, event)
    return ordered


def _may_swap(before: Event, after: Event) -> bool:
    is_one_instant = after.t - before.t <= AT_ONCE
    is_of_sync = {before.reason, after.reason} <= _OF_ONE_SYNC
    return is_one_instant and is_of_sync and after.message < before.message


def steps(events: Iterable[Event], period: float) -> Iterator[Step]:
    """Yield the events with equal ones joined.

    What comes with every attempt to sync is joined over all the attempts in a row.
    """
    waits: dict[What, Step] = {}
    before: Step | None = None
    for event in in_one_order(events):
        step = Step((event.type, event.reason, plain(event.message)), (event.t,))
        if step.is_repeated:
            if before is not None:
                yield before
            before = None
            known = waits.get(step.what)
            waits[step.what] = _joined(known, step) if known else step
            continue
        yield from waits.values()
        waits.clear()
        if before is not None and _is_one_run(before, step, period):
            before = _joined(before, step)
            continue
        if before is not None:
            yield before
        before = step
    if before is not None:
        yield before
    yield from waits.values()


def plain(message: str) -> str:
    """Return a message without what is a runtime's own: IDs, addresses and errors."""
    for pattern in (_PULL_ERROR, _START_ERROR, _EXEC_ERROR, _MISSING):
        message = pattern.sub(r"\1…", message)
    return _ADDRESS.sub("IP", _UID.sub("(UID)", message))


def _joined(before: Step, after: Step) -> Step:
    return Step(before.what, (*before.times, *after.times))


def _is_one_run(before: Step, after: Step, period: float) -> bool:
    gap = after.times[0] - before.times[-1]
    is_errored = " errored" in after.what[2]
    longest = (SAME_RUN_OF_ERRORS if is_errored else SAME_RUN) * period
    return before.what == after.what and gap <= longest
