"""Changes of observations, for tests of the comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.observation import Event, Observation, Status

Change = Callable[[Observation], None]
Find = Callable[[Observation], int]


def event(reason: str, number: int = 0) -> Find:
    """Find the n-th event of a reason; a negative number counts from the end."""

    def find(observation: Observation) -> int:
        found = [
            i for i, event in enumerate(observation.events) if event.reason == reason
        ]
        return found[number]

    return find


def dropped(find: Find) -> Change:
    """Remove one event."""

    def change(observation: Observation) -> None:
        del observation.events[find(observation)]

    return change


def duplicated(find: Find, later: float) -> Change:
    """Repeat one event some seconds later."""

    def change(observation: Observation) -> None:
        original = observation.events[find(observation)]
        observation.events.append(replace(original, t=original.t + later))
        observation.events.sort(key=lambda event: event.t)

    return change


def with_fields(find: Find, **fields: Any) -> Change:
    """Change fields of one event."""

    def change(observation: Observation) -> None:
        index = find(observation)
        observation.events[index] = replace(observation.events[index], **fields)

    return change


def moved(since: float, by: float) -> Change:
    """Delay all events and statuses from a time on."""

    def later(original: Event | Status) -> Any:
        return replace(original, t=original.t + by) if original.t >= since else original

    def change(observation: Observation) -> None:
        observation.events[:] = map(later, observation.events)
        observation.statuses[:] = map(later, observation.statuses)

    return change


def stretched(factor: float) -> Change:
    """Stretch the pauses between all events."""

    def change(observation: Observation) -> None:
        observation.events[:] = [
            replace(event, t=event.t * factor) for event in observation.events
        ]

    return change


def probe_at_the_end(t: float, message: str) -> Change:
    """Add the event of a probe that runs while its container ends."""

    def change(observation: Observation) -> None:
        observation.events.append(Event(t, "Warning", "Unhealthy", message, "app"))
        observation.events.sort(key=lambda event: event.t)

    return change


def cut(end: float) -> Change:
    """Remove all events and statuses after a time."""

    def change(observation: Observation) -> None:
        observation.events[:] = [event for event in observation.events if event.t < end]
        observation.statuses[:] = [
            status for status in observation.statuses if status.t < end
        ]

    return change


def both(*changes: Change) -> Change:
    """Apply several changes."""

    def change(observation: Observation) -> None:
        for change in changes:
            change(observation)

    return change


def containers(number: int, **fields: Any) -> Change:
    """Change fields of the containers in the n-th status."""

    def change(observation: Observation) -> None:
        status = observation.statuses[number]
        views = [replace(container, **fields) for container in status.containers]
        observation.statuses[number] = replace(status, containers=views)

    return change


def status(number: int, **fields: Any) -> Change:
    """Change fields of the n-th status."""

    def change(observation: Observation) -> None:
        observation.statuses[number] = replace(observation.statuses[number], **fields)

    return change
