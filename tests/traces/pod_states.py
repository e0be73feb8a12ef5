"""The statuses of a pod as a series of states, each with its period."""

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
_CREATING = frozenset({"waiting ContainerCreating", "waiting PodInitializing"})

BRIEF_SECONDS = 2.5
"""The longest period of a state that a status may have missed, in seconds.

A container that runs for one second is shown for up to one second more, until the next
relist, and for the duration of that.
"""

SANDBOX_STOPS = 5.0
"""The longest time to stop a sandbox, in seconds."""


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container in a status; a state is its kind, reason and exit code."""

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
class PodState:
    """The parts of a pod's status that must be the same in both runs."""

    phase: str | None
    conditions: frozenset[str]
    containers: tuple[ContainerState, ...]

    @property
    def is_in_back_off(self) -> bool:
        """Whether a container waits for back-off."""
        return any(container.state == CRASH_LOOP for container in self.containers)

    def is_without_sandbox_of(self, before: PodState) -> bool:
        """Whether it equals the state before, except that the sandbox was stopped."""
        met = self.conditions | {"PodReadyToStartContainers"}
        return self != before and replace(self, conditions=met) == before

    @property
    def shows_instances(self) -> bool:
        """Whether it shows an instance of a container."""
        return any(
            container.last_state or not container.state.startswith("waiting")
            for container in self.containers
        )

    @property
    def is_creating(self) -> bool:
        """Whether the runtime still creates the first containers."""
        return not self.shows_instances and all(
            container.state in _CREATING for container in self.containers
        )

    def __str__(self) -> str:
        met = ", ".join(sorted(self.conditions)) or "no condition"
        return f"{self.phase} ({met}): {'; '.join(map(str, self.containers))}"


@dataclass(frozen=True, slots=True)
class StatePeriod:
    """A state from one time until another; `until` is infinite for the last one."""

    state: PodState
    at: float
    until: float

    def is_brief(self, slack: float) -> bool:
        """Whether a status may have missed it.

        The creation of containers takes longer on a machine that was `slack` seconds
        late.
        """
        more = slack if self.state.is_creating else 0.0
        return self.until - self.at < BRIEF_SECONDS + more


def periods_by_restarts(
    statuses: Iterable[Status],
) -> Mapping[Restarts, Sequence[StatePeriod]]:
    """Return the periods of a pod's states by the restart counts in them.

    Statuses without containers, which a kubelet has for a moment, are left out.
    """
    shown = [status for status in statuses if status.containers]
    changes = [next(same) for _, same in groupby(shown, _state_key)]
    ends = [*(later.t for later in changes[1:]), math.inf]
    found: dict[Restarts, list[StatePeriod]] = {}
    for status, until in zip(changes, ends, strict=False):
        period = StatePeriod(_pod_state(status), status.t, until)
        found.setdefault(_restarts(status), []).append(period)
    return found


def first_instance_status(statuses: Iterable[Status]) -> float | None:
    """Return the time of the first status that shows an instance, None if none does."""
    return next(
        (status.t for status in statuses if _pod_state(status).shows_instances), None
    )


def stated_back_offs(statuses: Iterable[Status]) -> Iterator[tuple[str, int, str]]:
    """Yield the back-off messages of statuses: container, restart count, message.

    Statuses of the traces have none: their messages were left out.
    """
    for status in statuses:
        for container in status.containers:
            message = (container.state.get("waiting") or {}).get("message", "")
            if message.startswith("back-off "):
                yield container.name, container.restart_count, message


def first_mismatch(
    theirs: Sequence[StatePeriod],
    mine: Sequence[StatePeriod],
    clocks: Clocks,
    slack: float = 0.0,
    back_off_jitter: float = 0.0,
) -> str:
    """Return the first mismatch of two series; empty if they are equal.

    Brief periods, and periods near the end of the observation, may be missing from
    either. `slack` is how many seconds the machine was late, `back_off_jitter` how many
    seconds a sync during back-off may be late.
    """
    in_back_off = replace(clocks, tolerance=clocks.tolerance + back_off_jitter)

    at_the_end = replace(clocks, tolerance=clocks.tolerance + SANDBOX_STOPS)

    def agree(one: StatePeriod, other: StatePeriod) -> bool:
        tolerances = in_back_off if one.state.is_in_back_off else clocks
        if any(one.state.is_without_sandbox_of(before.state) for before in theirs):
            tolerances = at_the_end
        return tolerances.agree(one.at, other.at)

    furthest = (0, 0)
    pending = [(0, 0)]
    details: set[tuple[int, int]] = set()
    while pending:
        here = pending.pop()
        if here == (len(theirs), len(mine)):
            return ""
        if here not in details:
            details.add(here)
            furthest = max(furthest, here, key=sum)
            pending += _next_places(theirs, mine, here, clocks, slack, agree)
    expected, found = (
        _format_period(series, index, zero)
        for series, index, zero in zip(
            (theirs, mine), furthest, clocks.zeros[0], strict=True
        )
    )
    return f"has {found}\n    where the kubelet has {expected}"


def _next_places(
    theirs: Sequence[StatePeriod],
    mine: Sequence[StatePeriod],
    here: tuple[int, int],
    clocks: Clocks,
    slack: float,
    agree: Callable[[StatePeriod, StatePeriod], bool],
) -> Iterator[tuple[int, int]]:
    """Yield the positions in both series that are reachable from here by one period."""
    i, j = here
    one = theirs[i] if i < len(theirs) else None
    other = mine[j] if j < len(mine) else None
    if other and (
        other.is_brief(slack)
        or clocks.is_cut_mine(other.at)
        or _continues(theirs, i, other)
    ):
        yield i, j + 1
    if one and (
        one.is_brief(slack) or clocks.is_cut(one.at) or _continues(mine, j, one)
    ):
        yield i + 1, j
    # The beginning of the very first period is unknown.
    is_first = here == (0, 0)
    if one and other and one.state == other.state and (is_first or agree(one, other)):
        yield i + 1, j + 1


def _continues(series: Sequence[StatePeriod], index: int, period: StatePeriod) -> bool:
    """Return whether a period continues the previous one, after a brief period."""
    return index > 0 and series[index - 1].state == period.state


def _format_period(series: Sequence[StatePeriod], index: int, zero: float) -> str:
    if index >= len(series):
        return "nothing more"
    return f"{series[index].state} at {series[index].at - zero:+.1f}"


def _state_key(status: Status) -> tuple[Restarts, PodState]:
    return _restarts(status), _pod_state(status)


def _restarts(status: Status) -> Restarts:
    return tuple(container.restart_count for container in status.containers)


def _pod_state(status: Status) -> PodState:
    return PodState(
        status.phase,
        frozenset(
            condition.type
            for condition in status.conditions
            if condition.status == "True"
        ),
        tuple(map(_container, status.containers)),
    )


def _container(view: ContainerView) -> ContainerState:
    return ContainerState(
        view.name,
        _state(view.state),
        _state(view.last_state),
        ready=view.ready,
        started=view.started,
    )


def _state(state: Mapping[str, object]) -> str:
    """Return a container state in words; empty for none."""
    for word, value in state.items():
        details = value if isinstance(value, Mapping) else {}
        parts = (details.get("reason"), details.get("exitCode"))
        words = [word, *(str(part) for part in parts if part is not None)]
        return plain(" ".join(words))
    return ""
