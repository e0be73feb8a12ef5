"""When a container may be started again: the rule of back-off, read from events alone.

It judges runs of the kubelet and of probetui alike and shares no code with the engine.

The first window is 10 s; every start doubles it, up to 300 s. Who waits has to wait
for a window from the end of the last instance that was known to have ended: a container
that a probe had killed still counted as running, so that is the one before it. Nothing
wakes the kubelet at the end of a window but its own retry, every 10 to 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.conformance.observation import Observation, Span
from tests.traces.instances import Life

FIRST_WINDOW = 10.0
LONGEST_WINDOW = 300.0

RETRY = 15.0
"""Seconds at most from one attempt to sync to the next while something waits."""

LATE = 2.5
"""Seconds that an attempt may come late: the tick of the sync loop, the next relist."""

NOTICE = 1.5
"""Seconds at most until an end is noticed: the next relist."""

KILLED = 0.75
"""The same for a container that the same sync has stopped: the rest of that call."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided when a life had ended.

    `window` is the one in force, 0 for none; `elapsed` the time since the end that
    counted, None if none did.
    """

    at: float
    window: float
    elapsed: Span | None
    waits: bool

    @property
    def is_as_it_must_be(self) -> bool:
        """Whether back-off may have said so; in doubt it may."""
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


def is_pull(lives: Sequence[Life]) -> bool:
    """Return whether lives are attempts to get an image, of which none was got."""
    return not any(step.reason == "Created" for life in lives for step in life.steps)


def active_until(seen: Observation) -> float:
    """Return until when containers were restarted: the pod was deleted, or it ended."""
    ends = [t for what, t in seen.actions if what == "delete"]
    ends += [
        status.t for status in seen.statuses if status.phase in {"Succeeded", "Failed"}
    ]
    return min([seen.end, *ends])


def decisions(lives: Sequence[Life]) -> list[Decision]:
    """Return what was decided at the end of each life that had one."""
    found: list[Decision] = []
    window = 0.0
    end: Span | None = None
    for life in lives:
        at = life.noticed_at
        if at is None:
            break
        before, end = end, ended(life, at)
        since = before if life.is_killed_by_probe else end
        elapsed = (
            None if since is None else Span(at - since.latest, at - since.earliest)
        )
        found.append(Decision(at, window, elapsed, waits=bool(life.waits)))
        if life.waits or since is not None:
            window = min(2 * window, LONGEST_WINDOW) or FIRST_WINDOW
    return found


def ended(life: Life, noticed_at: float) -> Span:
    """Return when an instance ended, from what came of it."""
    latest = KILLED if life.is_killed_by_probe else NOTICE
    return Span(noticed_at - latest, noticed_at)


def broken_rules(lives: Sequence[Life], end: float) -> Iterator[str]:
    """Yield where lives were not begun as back-off says; observed until `end`."""
    made = decisions(lives)
    for number, (life, decision) in enumerate(zip(lives, made, strict=False)):
        if not decision.is_as_it_must_be:
            yield f"life {number} {decision}"
        if not life.waits:
            continue
        since = ended(life, decision.at)
        earliest = since.earliest + decision.window
        latest = since.latest + max(decision.window, RETRY) + RETRY + LATE
        begins = life.next_at
        if begins is None and end > latest:
            yield f"life {number} has no next one, due by {latest:.1f}"
        if begins is not None and not earliest <= begins <= latest:
            due = f"{earliest:.1f} to {latest:.1f}"
            yield f"life {number + 1} begins at {begins:.1f}, due {due}"
        yield from long_silences(life, number, end)


def broken_pull_rules(lives: Sequence[Life], end: float) -> Iterator[str]:
    """Yield where a missing image was not tried for as back-off says.

    Where no pull is allowed there is no back-off, and one life of waiting.
    """
    window = FIRST_WINDOW
    for number, life in enumerate(lives):
        yield from long_silences(life, number, end)
        if not life.steps:
            continue
        earliest, latest = life.begins_at + window, life.begins_at + window + RETRY
        latest += LATE
        begins = life.next_at
        if begins is None and end > latest:
            yield f"pull {number} has no next one, due by {latest:.1f}"
        if begins is not None and not earliest <= begins <= latest:
            due = f"{earliest:.1f} to {latest:.1f}"
            yield f"pull {number + 1} at {begins:.1f}, due {due}"
        window = min(2 * window, LONGEST_WINDOW)


def long_silences(life: Life, number: int, end: float) -> Iterator[str]:
    """Yield where nothing was tried for longer than the kubelet ever pauses."""
    for wait in life.waits:
        until = life.next_at if life.next_at is not None else end
        for one, other in pairwise([*wait.times, until]):
            if other - one > RETRY + LATE:
                yield f"life {number} is silent from {one:.1f} to {other:.1f}"
