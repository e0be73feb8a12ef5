"""The events of a container, split into its instances, which are compared one by one.

Times are seconds, as in observations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tests.conformance.observation import Event

EventKind = tuple[str, str, str]
"""The type, reason and message of an event."""

SAME_RUN_PERIODS = 1.5
"""Equal results of probes are one run if they are at most this many periods apart."""

SAME_RUN_OF_ERRORS = 3.5
"""The same for errors, which take three attempts each, on a machine that may be
busy."""

AT_END = 2.0
"""The longest time from a noticed end of a container to the next event, in seconds."""

AT_START = 0.75
"""The longest time from a container's start until its server listens, and until probes
use the new instance, in seconds."""

AT_ONCE = 0.05
"""The longest time between events of one sync at one instant, in seconds."""

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
_EMPTY_FAILURE = re.compile(r"\w+ probe failed: ")
_FAILED_PROBE = re.compile(r"failed (?P<probe>\w+) probe")
_REPEATED = re.compile(
    r"Back-off .*|.*pull policy of Never|Error: \w+(?:Off|NeverPull)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """Equal events in a row, with the time of each."""

    kind: EventKind
    times: tuple[float, ...]

    @property
    def reason(self) -> str:
        """The reason of the events."""
        return self.kind[1]

    @property
    def is_repeated(self) -> bool:
        """Whether every sync repeats it."""
        return _REPEATED.fullmatch(self.kind[2]) is not None

    @property
    def is_kill(self) -> bool:
        """Whether it is a kill."""
        return self.reason == "Killing"

    def causes(self, kill: Step) -> bool:
        """Return whether these results of a probe cause a kill."""
        named = _FAILED_PROBE.search(kill.kind[2])
        is_of_this = named is None or self.kind[2].lower().startswith(named["probe"])
        return kill.is_kill and is_of_this

    @property
    def is_kill_by_probe(self) -> bool:
        """Whether it is a kill because a probe failed."""
        return self.is_kill and " probe" in self.kind[2]

    def __str__(self) -> str:
        return f"{self.reason} {self.kind[2]!r} x{len(self.times)}"


@dataclass(frozen=True, slots=True)
class Instance:
    """The events of one instance of a container, or of one attempt to pull its image.

    `steps` are its events, `waits` the repeated events until the next instance began,
    at `next_at`. `stray` is the result of a probe that ran while the container ended:
    if a container exits by itself, a probe may be running by chance. CRI runtimes
    report an error for it, Docker a failed command without output.
    """

    steps: tuple[Step, ...]
    waits: tuple[Step, ...]
    next_at: float | None = None
    stray: Step | None = None

    @property
    def begins_at(self) -> float:
        """The time of its first event."""
        return min(step.times[0] for step in (*self.steps, *self.waits))

    @property
    def started_at(self) -> float | None:
        """The time of its start, None without one."""
        times = (step.times[0] for step in self.steps if step.reason == "Started")
        return next(times, None)

    @property
    def noticed_at(self) -> float | None:
        """The time of the first event after its end: a wait, or the next instance."""
        if self.waits:
            return min(wait.times[0] for wait in self.waits)
        return self.next_at

    @property
    def is_killed_by_startup(self) -> bool:
        """Whether it was killed because its startup probe failed."""
        return any(
            step.is_kill and "startup probe" in step.kind[2] for step in self.steps
        )

    @property
    def killed_at(self) -> float | None:
        """The time at which a failed probe killed it, None if none did."""
        times = (step.times[-1] for step in self.steps if step.is_kill_by_probe)
        return next(times, None)

    @property
    def is_killed_by_probe(self) -> bool:
        """Whether it was killed because a probe failed."""
        return self.killed_at is not None


def is_of_probe(event: Event, probe: str) -> bool:
    """Return whether an event is of a probe (`Liveness`), or of none."""
    return event.reason not in PROBED or event.message.startswith(probe)


def split_instances(events: Iterable[Event], period: float) -> list[Instance]:
    """Split the events of a container, whose probes have a period, into instances."""
    cut: list[list[Step]] = []
    for step in steps(events, period):
        last = cut[-1][-1].reason if cut else ""
        if not cut or (step.reason in _BEGINS and last != "Pulling"):
            cut.append([])
        cut[-1].append(step)
    found = [_to_instance(_without_early_probes(instance)) for instance in cut]
    ended = [replace(one, next_at=next_.begins_at) for one, next_ in pairwise(found)]
    return [*map(_with_stray_apart, ended), *map(_with_stray_apart, found[-1:])]


def _without_early_probes(steps: Sequence[Step]) -> Sequence[Step]:
    """Drop the results of probes that ran before the container was up.

    Before its start they are of the end of the previous instance. A server takes a
    moment until it listens, a program until it has written the file that a command
    reads; whether a probe runs before that is chance.
    """
    starts = [index for index, step in enumerate(steps) if step.reason == "Started"]
    if not starts:
        return steps
    start = starts[0]
    begin = [step for step in steps[:start] if not _MET_THE_END.fullmatch(step.kind[2])]
    rest = list(steps[start:])
    for index, step in enumerate(rest[:3]):
        is_soon = step.times[-1] - rest[0].times[0] <= AT_START
        after = rest[index + 1 : index + 2]
        if is_soon and _met_the_start(step) and not any(map(step.causes, after)):
            del rest[index]
            break
    return [*begin, *rest]


def _met_the_start(step: Step) -> bool:
    """Return whether a step may be of a probe before its container was up."""
    message = step.kind[2]
    is_empty_failure = len(step.times) == 1 and _EMPTY_FAILURE.fullmatch(message)
    return bool(is_empty_failure or _MET_THE_START.fullmatch(message))


def _with_stray_apart(instance: Instance) -> Instance:
    """Move the result of a probe at the end of an instance to `stray`."""
    if instance.started_at is None:
        return instance
    last = instance.steps[-1]
    is_run = len(last.times) > 1 and not _follows_kill(instance.steps)
    if is_run or not _MET_THE_END.fullmatch(last.kind[2]):
        return instance
    is_late = instance.noticed_at and instance.noticed_at - last.times[0] > AT_END
    if is_late and not _follows_kill(instance.steps):
        return instance
    return replace(instance, steps=instance.steps[:-1], stray=last)


def _follows_kill(steps: Sequence[Step]) -> bool:
    """Return whether the last step comes right after a kill."""
    return any(
        before.is_kill and last.times[-1] - before.times[-1] <= AT_END
        for before, last in pairwise(steps[-2:])
    )


def without_window(instance: Instance, period: float) -> Instance:
    """Drop the result of a probe before a new instance was gated, if it had no effect.

    Which of two workers that are due at the same instant runs first is chance.
    """
    started = instance.started_at
    for index, step in enumerate(instance.steps):
        is_soon = started is not None and step.times[-1] - started <= period
        after = instance.steps[index + 1 : index + 2]
        if step.reason in PROBED and is_soon and not any(map(step.causes, after)):
            return replace(
                instance, steps=(*instance.steps[:index], *instance.steps[index + 1 :])
            )
    return instance


def _to_instance(steps: Sequence[Step]) -> Instance:
    return Instance(
        tuple(step for step in steps if not step.is_repeated),
        tuple(_joined_by_kind(step for step in steps if step.is_repeated)),
    )


def _joined_by_kind(steps: Iterable[Step]) -> Iterable[Step]:
    found: dict[EventKind, Step] = {}
    for step in steps:
        existing = found.get(step.kind)
        found[step.kind] = step if existing is None else _joined(existing, step)
    return found.values()


def in_canonical_order(events: Iterable[Event]) -> list[Event]:
    """Return the events, with events of one sync at one instant in a fixed order.

    Different goroutines write them, so their order is random.
    """
    ordered: list[Event] = []
    for event in events:
        index = len(ordered)
        while index and _may_swap(ordered[index - 1], event):
            index -= 1
        ordered.insert(index, event)
    return ordered


def _may_swap(before: Event, after: Event) -> bool:
    is_one_instant = after.t - before.t <= AT_ONCE
    is_of_sync = {before.reason, after.reason} <= _OF_ONE_SYNC
    return is_one_instant and is_of_sync and after.message < before.message


def steps(events: Iterable[Event], period: float) -> Iterator[Step]:
    """Yield the events with equal ones joined.

    Events that every sync repeats are joined over all consecutive syncs.
    """
    waits: dict[EventKind, Step] = {}
    before: Step | None = None
    for event in in_canonical_order(events):
        step = Step((event.type, event.reason, plain(event.message)), (event.t,))
        if step.is_repeated:
            if before is not None:
                yield before
            before = None
            existing = waits.get(step.kind)
            waits[step.kind] = _joined(existing, step) if existing else step
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
    """Return a message without what depends on the runtime: IDs, addresses, errors."""
    for pattern in (_PULL_ERROR, _START_ERROR, _EXEC_ERROR, _MISSING):
        message = pattern.sub(r"\1…", message)
    return _ADDRESS.sub("IP", _UID.sub("(UID)", message))


def _joined(before: Step, after: Step) -> Step:
    return Step(before.kind, (*before.times, *after.times))


def _is_one_run(before: Step, after: Step, period: float) -> bool:
    gap = after.times[0] - before.times[-1]
    is_errored = " errored" in after.kind[2]
    longest = (SAME_RUN_OF_ERRORS if is_errored else SAME_RUN_PERIODS) * period
    return before.kind == after.kind and gap <= longest
