"""The rule of back-off, checked on events alone: when a container may be started again.

It judges runs of the kubelet and of probetui alike and shares no code with the engine.

The first window is 10 s; every start doubles it, up to 300 s. The window counts from
the end of the last instance that the kubelet knew to have ended: a container that a
probe killed still counts as running, so the end is that of the instance before. At the
end of a window the kubelet is only woken by its own retry, every 10 to 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.conformance.observation import Observation, Span
from tests.traces.instances import Instance

FIRST_WINDOW = 10.0
LONGEST_WINDOW = 300.0

RETRY = 15.0
"""The longest time between syncs while a container waits, in seconds."""

MAX_DELAY = 2.5
"""How late a sync may be, in seconds: the tick of the sync loop, the next relist."""

NOTICE = 1.5
"""The longest time until an end is noticed, in seconds: the next relist."""

NOTICE_OF_KILL = 0.75
"""The same for a container that the sync itself stopped: the rest of that call."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision to wait or to start after the end of an instance.

    `window` is the window in force, 0 for none; `elapsed` the time since the end that
    counts, None if none does.
    """

    at: float
    window: float
    elapsed: Span | None
    waits: bool

    @property
    def follows_back_off(self) -> bool:
        """Whether the rule of back-off allows the decision; in doubt it does."""
        if self.elapsed is None or not self.window:
            return not self.waits
        if self.waits:
            return self.elapsed.earliest < self.window
        return self.elapsed.latest >= self.window

    def __str__(self) -> str:
        word = "waits" if self.waits else "starts at once"
        if self.elapsed is None:
            return f"{word}, though nothing had ended before"
        return (
            f"{word} {self.elapsed.earliest:.1f} to {self.elapsed.latest:.1f} s after"
            f" an end, in a window of {self.window:.0f} s"
        )


def is_pull(instances: Sequence[Instance]) -> bool:
    """Return whether all instances are attempts to pull an image that failed."""
    return not any(
        step.reason == "Created" for instance in instances for step in instance.steps
    )


def active_until(observation: Observation) -> float:
    """Return until when containers were restarted: the pod's deletion or its end."""
    ends = [t for what, t in observation.actions if what == "delete"]
    ends += [
        status.t
        for status in observation.statuses
        if status.phase in {"Succeeded", "Failed"}
    ]
    return min([observation.end, *ends])


def decisions(instances: Sequence[Instance]) -> list[Decision]:
    """Return the decision at the end of each instance that ended."""
    found: list[Decision] = []
    window = 0.0
    end: Span | None = None
    for instance in instances:
        at = instance.noticed_at
        if at is None:
            break
        before, end = end, ended(instance, at)
        since = before if instance.is_killed_by_probe else end
        elapsed = (
            None if since is None else Span(at - since.latest, at - since.earliest)
        )
        found.append(Decision(at, window, elapsed, waits=bool(instance.waits)))
        if instance.waits or since is not None:
            window = min(2 * window, LONGEST_WINDOW) or FIRST_WINDOW
    return found


def ended(instance: Instance, noticed_at: float) -> Span:
    """Return when an instance ended, from the time at which its end was noticed."""
    latest = NOTICE_OF_KILL if instance.is_killed_by_probe else NOTICE
    return Span(noticed_at - latest, noticed_at)


def broken_rules(instances: Sequence[Instance], end: float) -> Iterator[str]:
    """Yield violations of the rule of back-off; observed until `end`."""
    found_decisions = decisions(instances)
    for number, (instance, decision) in enumerate(
        zip(instances, found_decisions, strict=False)
    ):
        if not decision.follows_back_off:
            yield f"instance {number} {decision}"
        if not instance.waits:
            continue
        since = ended(instance, decision.at)
        earliest = since.earliest + decision.window
        latest = since.latest + max(decision.window, RETRY) + RETRY + MAX_DELAY
        begins = instance.next_at
        if begins is None and end > latest:
            yield f"instance {number} has no next one, due by {latest:.1f}"
        if begins is not None and not earliest <= begins <= latest:
            due = f"{earliest:.1f} to {latest:.1f}"
            yield f"instance {number + 1} begins at {begins:.1f}, due {due}"
        yield from long_silences(instance, number, end)


def broken_pull_rules(instances: Sequence[Instance], end: float) -> Iterator[str]:
    """Yield violations of the rule of back-off by pulls of a missing image.

    Without permission to pull there is no back-off, and one instance that waits.
    """
    window = FIRST_WINDOW
    for number, instance in enumerate(instances):
        yield from long_silences(instance, number, end)
        if not instance.steps:
            continue
        earliest, latest = (
            instance.begins_at + window,
            instance.begins_at + window + RETRY,
        )
        latest += MAX_DELAY
        begins = instance.next_at
        if begins is None and end > latest:
            yield f"pull {number} has no next one, due by {latest:.1f}"
        if begins is not None and not earliest <= begins <= latest:
            due = f"{earliest:.1f} to {latest:.1f}"
            yield f"pull {number + 1} at {begins:.1f}, due {due}"
        window = min(2 * window, LONGEST_WINDOW)


def long_silences(instance: Instance, number: int, end: float) -> Iterator[str]:
    """Yield pauses between syncs that are longer than any of the kubelet."""
    for wait in instance.waits:
        until = instance.next_at if instance.next_at is not None else end
        for one, other in pairwise([*wait.times, until]):
            if other - one > RETRY + MAX_DELAY:
                yield f"instance {number} is silent from {one:.1f} to {other:.1f}"
