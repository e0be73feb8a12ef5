"""Moments: named points in time that an observation may reach."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from tests.conformance.observation import Observation, Span, Status

_MOMENT = re.compile(r"(?P<name>[a-z_]+)(?:\((?P<arguments>.*)\))?")

_ACTIONS = {"deleted": "delete", "replaced": "replace"}
_EVENTS = {"started": "Started", "killing": "Killing"}

StatusTest = Callable[[Status], bool]


class UnknownMomentError(ValueError):
    """A case names an unknown moment."""


def when(moment: str, observation: Observation, gen: int = 0) -> Span | None:
    """Return when a moment was, None if it was not reached.

    Statuses are those of generation `gen`. Raises `UnknownMomentError`.
    """
    name, arguments = _parse(moment)
    if name == "submitted":
        return Span.at(0)
    if name in _ACTIONS:
        times = [t for what, t in observation.actions if what == _ACTIONS[name]]
        return _at(_nth(times, _number(arguments, 0)))
    if name == "gone":
        return _at(_nth(_pod_ends(observation), _number(arguments, 0)))
    if name in _EVENTS:
        return _event(observation, _EVENTS[name], arguments)
    if name == "event" and arguments:
        return _event(observation, arguments[0], arguments[1:])
    if not arguments:
        raise UnknownMomentError(moment)
    if name == "terminated":
        return _terminated(observation, arguments[0], _number(arguments, 1), gen)
    statuses = observation.of_generation(gen)
    if name == "unready":
        return _unready(statuses, arguments[0])
    return _first(statuses, _test(name, arguments))


def _parse(moment: str) -> tuple[str, Sequence[str]]:
    match = _MOMENT.fullmatch(moment.strip())
    if match is None:
        raise UnknownMomentError(moment)
    arguments = (match["arguments"] or "").split(",")
    return match["name"], [
        argument.strip() for argument in arguments if argument.strip()
    ]


def _number(arguments: Sequence[str], index: int) -> int:
    """Return an index among the arguments, 0 if it is left out."""
    return int(arguments[index]) if len(arguments) > index else 0


def _nth(times: Iterable[float], index: int) -> float | None:
    return next(islice(times, index, None), None)


def _at(t: float | None) -> Span | None:
    return None if t is None else Span.at(t)


def _pod_ends(observation: Observation) -> Sequence[float]:
    """Return the ends of the pod since the first action.

    A pod that ended before the first action counts as gone at that action.
    """
    pod_ends = observation.gone
    if not pod_ends or not observation.actions:
        return pod_ends
    _, first_action = observation.actions[0]
    if pod_ends[0] >= first_action:
        return pod_ends
    return [t for t in pod_ends if t >= first_action] or [first_action]


def _event(
    observation: Observation, reason: str, arguments: Sequence[str]
) -> Span | None:
    """Return when the N-th event was, of a container if one is named."""
    times = (
        event.t
        for event in observation.events
        if event.reason == reason and (not arguments or event.container == arguments[0])
    )
    return _at(_nth(times, _number(arguments, 1)))


def _terminated(
    observation: Observation, container: str, run: int, gen: int
) -> Span | None:
    end = observation.end_of_run(container, run, gen)
    if end is None:
        return None
    exact = observation.when(end.terminated.get("finishedAt"))
    return exact or Span.before(end.t)


def _first(statuses: Iterable[Status], test: StatusTest) -> Span | None:
    return next((Span.before(status.t) for status in statuses if test(status)), None)


def _unready(statuses: Iterable[Status], who: str) -> Span | None:
    remaining = iter(statuses)
    if _first(remaining, lambda status: status.is_ready(who)) is None:
        return None
    return _first(remaining, lambda status: not status.is_ready(who))


def _test(name: str, arguments: Sequence[str]) -> StatusTest:
    """Return the test that the first status at a moment passes."""
    who = arguments[0]
    match name:
        case "phase":
            return lambda status: status.phase == who
        case "ready":
            return lambda status: status.is_ready(who)
        case "running":
            return lambda status: (
                (found := status.container(who)) is not None and found.is_running
            )
        case "startup_done":
            return lambda status: (
                (found := status.container(who)) is not None and found.started is True
            )
        case "restarted":
            least = max(1, _number(arguments, 1))
            return lambda status: (
                (found := status.container(who)) is not None
                and found.restart_count >= least
            )
        case _:
            raise UnknownMomentError(name)
