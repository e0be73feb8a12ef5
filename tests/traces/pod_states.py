"""The statuses of a pod as a series of pictures, each of which lasts for some time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tests.conformance.observation import ContainerView, Status
from tests.traces.clocks import Clocks
from tests.traces.instances import plain

Restarts = tuple[int, ...]
"""The restart count of each container."""

CRASH_LOOP = "waiting CrashLoopBackOff"
_BEING_MADE = frozenset({"waiting ContainerCreating", "waiting PodInitializing"})

BRIEF = 2.5
"""Seconds that a look lasts at most if it may have been missed.

A container that lives for one second shows for up to one more, until it is looked at
again, and for as long as that takes.
"""

SANDBOX_STOPS = 5.0
"""Seconds that it takes to stop a sandbox, at most."""


@dataclass(frozen=True, slots=True)
class ContainerPicture:
    """What a status says of one container; states are a word, a reason, a code."""

    name: str
    state: str
    last_state: str
    ready: bool
    started: bool | None

    def __str__(self) -> str:
        words = [f"{self.name} {self.state}"]
        words += ["ready"] if self.ready else []
        words += ["started"] if self.started else []
        words += [f"(before: {self.last_state})"] if self.last_state else []
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Look:
    """What a pod looks like, as far as it has to look the same everywhere."""

    phase: str | None
    conditions: frozenset[str]
    containers: tuple[ContainerPicture, ...]

    @property
    def is_in_back_off(self) -> bool:
        """Whether a container waits for back-off."""
        return any(container.state == CRASH_LOOP for container in self.containers)

    def is_without_sandbox_of(self, before: Look) -> bool:
        """Whether it is what came before, but for the sandbox, which was stopped."""
        met = self.conditions | {"PodReadyToStartContainers"}
        return self != before and replace(self, conditions=met) == before

    @property
    def shows_instances(self) -> bool:
        """Whether there is something in it of which the runtime has told."""
        return any(
            container.last_state or not container.state.startswith("waiting")
            for container in self.containers
        )

    @property
    def is_being_made(self) -> bool:
        """Whether the runtime is still at work on the first containers."""
        return not self.shows_instances and all(
            container.state in _BEING_MADE for container in self.containers
        )

    def __str__(self) -> str:
        met = ", ".join(sorted(self.conditions)) or "no condition"
        return f"{self.phase} ({met}): {'; '.join(map(str, self.containers))}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A look from one time until another; `until` is infinite for the last one."""

    look: Look
    at: float
    until: float

    def is_brief(self, slack: float) -> bool:
        """Whether it could as well not have been seen.

        How long containers are being made is up to the machine, which was `slack`
        seconds late.
        """
        more = slack if self.look.is_being_made else 0.0
        return self.until - self.at < BRIEF + more


def albums(statuses: Iterable[Status]) -> Mapping[Restarts, Sequence[Picture]]:
    """Return the pictures of a pod by the restart counts in them.

    Statuses without containers, which a kubelet has for a moment, are left out.
    """
    shown = [status for status in statuses if status.containers]
    changes = [next(same) for _, same in groupby(shown, _key)]
    ends = [*(later.t for later in changes[1:]), math.inf]
    found: dict[Restarts, list[Picture]] = {}
    for status, until in zip(changes, ends, strict=False):
        picture = Picture(_look(status), status.t, until)
        found.setdefault(_restarts(status), []).append(picture)
    return found


def first_sight(statuses: Iterable[Status]) -> float | None:
    """Return when a status first told of an instance, None if none did."""
    return next(
        (status.t for status in statuses if _look(status).shows_instances), None
    )


def stated_windows(statuses: Iterable[Status]) -> Iterator[tuple[str, int, str]]:
    """Yield what statuses say of back-off: container, restart count, message.

    Those of the traces say nothing: their messages were left out.
    """
    for status in statuses:
        for container in status.containers:
            message = (container.state.get("waiting") or {}).get("message", "")
            if message.startswith("back-off "):
                yield container.name, container.restart_count, message


def first_mismatch(
    theirs: Sequence[Picture],
    mine: Sequence[Picture],
    clocks: Clocks,
    slack: float = 0.0,
    back_off_jitter: float = 0.0,
) -> str:
    """Return where two series part for good; empty if they are the same.

    Brief pictures may be missing from either, and those near the end of what was
    observed. `slack` is how many seconds a machine was late, `back_off_jitter` how many
    a sync may be that looks at a container in back-off.
    """
    in_back_off = replace(clocks, tolerance=clocks.tolerance + back_off_jitter)

    at_the_end = replace(clocks, tolerance=clocks.tolerance + SANDBOX_STOPS)

    def agree(one: Picture, other: Picture) -> bool:
        measure = in_back_off if one.look.is_in_back_off else clocks
        if any(one.look.is_without_sandbox_of(before.look) for before in theirs):
            measure = at_the_end
        return measure.agree(one.at, other.at)

    furthest = (0, 0)
    left = [(0, 0)]
    known: set[tuple[int, int]] = set()
    while left:
        here = left.pop()
        if here == (len(theirs), len(mine)):
            return ""
        if here not in known:
            known.add(here)
            furthest = max(furthest, here, key=sum)
            left += _next_places(theirs, mine, here, clocks, slack, agree)
    expected, found = (
        _told(series, index, zero)
        for series, index, zero in zip(
            (theirs, mine), furthest, clocks.zeros[0], strict=True
        )
    )
    return f"has {found}\n    where the kubelet has {expected}"


def _next_places(
    theirs: Sequence[Picture],
    mine: Sequence[Picture],
    here: tuple[int, int],
    clocks: Clocks,
    slack: float,
    agree: Callable[[Picture, Picture], bool],
) -> Iterator[tuple[int, int]]:
    """Yield how far two series go together from here, one picture further."""
    i, j = here
    one = theirs[i] if i < len(theirs) else None
    other = mine[j] if j < len(mine) else None
    if other and (
        other.is_brief(slack)
        or clocks.is_cut_mine(other.at)
        or _goes_on(theirs, i, other)
    ):
        yield i, j + 1
    if one and (one.is_brief(slack) or clocks.is_cut(one.at) or _goes_on(mine, j, one)):
        yield i + 1, j
    # Nobody knows when the first one of all began: there was nothing before it.
    is_first = here == (0, 0)
    if one and other and one.look == other.look and (is_first or agree(one, other)):
        yield i + 1, j + 1


def _goes_on(series: Sequence[Picture], index: int, picture: Picture) -> bool:
    """Return whether a picture is the one before again, after something brief."""
    return index > 0 and series[index - 1].look == picture.look


def _told(series: Sequence[Picture], index: int, zero: float) -> str:
    if index >= len(series):
        return "nothing more"
    return f"{series[index].look} at {series[index].at - zero:+.1f}"


def _key(status: Status) -> tuple[Restarts, Look]:
    return _restarts(status), _look(status)


def _restarts(status: Status) -> Restarts:
    return tuple(container.restart_count for container in status.containers)


def _look(status: Status) -> Look:
    return Look(
        status.phase,
        frozenset(
            condition.type
            for condition in status.conditions
            if condition.status == "True"
        ),
        tuple(map(_container, status.containers)),
    )


def _container(view: ContainerView) -> ContainerPicture:
    return ContainerPicture(
        view.name,
        _state(view.state),
        _state(view.last_state),
        ready=view.ready,
        started=view.started,
    )


def _state(state: Mapping[str, object]) -> str:
    """Return a container state in words; empty for none."""
    for word, details in state.items():
        known = details if isinstance(details, Mapping) else {}
        parts = (known.get("reason"), known.get("exitCode"))
        words = [word, *(str(part) for part in parts if part is not None)]
        return plain(" ".join(words))
    return ""
