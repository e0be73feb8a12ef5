"""Changes of what was seen of a pod, for tests of what compares it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.observation import Event, Observation, Status

Change = Callable[[Observation], None]
Find = Callable[[Observation], int]


def event(reason: str, number: int = 0) -> Find:
    """Find the n-th event of a reason; a negative number counts from the end."""

    def find(seen: Observation) -> int:
        found = [i for i, event in enumerate(seen.events) if event.reason == reason]
        return found[number]

    return find


def dropped(find: Find) -> Change:
    """Leave one event out."""

    def change(seen: Observation) -> None:
        del seen.events[find(seen)]

    return change


def doubled(find: Find, later: float) -> Change:
    """Have one event again, some seconds later."""

    def change(seen: Observation) -> None:
        one = seen.events[find(seen)]
        seen.events.append(replace(one, t=one.t + later))
        seen.events.sort(key=lambda event: event.t)

    return change


def put(find: Find, **fields: Any) -> Change:
    """Change fields of one event."""

    def change(seen: Observation) -> None:
        index = find(seen)
        seen.events[index] = replace(seen.events[index], **fields)

    return change


def moved(since: float, by: float) -> Change:
    """Have all events and statuses from a time on come later."""

    def later(one: Event | Status) -> Any:
        return replace(one, t=one.t + by) if one.t >= since else one

    def change(seen: Observation) -> None:
        seen.events[:] = map(later, seen.events)
        seen.statuses[:] = map(later, seen.statuses)

    return change


def stretched(factor: float) -> Change:
    """Have all events take longer from one to the next."""

    def change(seen: Observation) -> None:
        seen.events[:] = [replace(event, t=event.t * factor) for event in seen.events]

    return change


def probe_at_the_end(t: float, message: str) -> Change:
    """Have a probe run while its container ends."""

    def change(seen: Observation) -> None:
        seen.events.append(Event(t, "Warning", "Unhealthy", message, "app"))
        seen.events.sort(key=lambda event: event.t)

    return change


def cut(end: float) -> Change:
    """Have nothing after a time, as if nothing more had happened."""

    def change(seen: Observation) -> None:
        seen.events[:] = [event for event in seen.events if event.t < end]
        seen.statuses[:] = [status for status in seen.statuses if status.t < end]

    return change


def both(*changes: Change) -> Change:
    """Make several changes."""

    def change(seen: Observation) -> None:
        for change in changes:
            change(seen)

    return change


def containers(number: int, **fields: Any) -> Change:
    """Change fields of the containers in the n-th status."""

    def change(seen: Observation) -> None:
        status = seen.statuses[number]
        views = [replace(container, **fields) for container in status.containers]
        seen.statuses[number] = replace(status, containers=views)

    return change


def status(number: int, **fields: Any) -> Change:
    """Change fields of the n-th status."""

    def change(seen: Observation) -> None:
        seen.statuses[number] = replace(seen.statuses[number], **fields)

    return change
