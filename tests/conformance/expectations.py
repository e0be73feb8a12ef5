"""Expectations of a case about its observation: one function per kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import (
    POD,
    ContainerView,
    Event,
    Observation,
    Span,
    Status,
)
from tests.conformance.windows import (
    NO_TIME,
    UnmetError,
    Window,
    check_observed,
    reached,
)

Expectation = Mapping[str, Any]

NO_LIMIT = 1e9
"""Seconds; the end of an observation where an expectation has no period."""

RUNS = 20
"""How many runs of a container are checked for an overlap with another container's."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether an expectation holds, and what was found instead, or when."""

    holds: bool
    detail: str = ""


Judge = Callable[[Any, Observation, float], Finding]


def restarts(
    expectation: Expectation, observation: Observation, slack: float
) -> Finding:
    """Judge the restart counts: at least, exactly or at most a number."""
    statuses = observation.of_generation(expectation.get("gen", 0))
    name = expectation.get("container")
    if "at_least" in expectation:
        limit = expectation["within"] * slack
        for status in statuses:
            counts = _restart_counts(status, name).values()
            if status.t <= limit and max(counts, default=-1) >= expectation["at_least"]:
                return Finding(holds=True, detail=f"at {status.t:.1f}")
        return Finding(holds=False, detail="not reached in time")
    check_observed(observation, expectation.get("for"))
    # A late machine may start it after the period, without a restart in the period.
    started_statuses = _until(statuses, expectation["for"] + observation.late)
    statuses = _until(statuses, expectation["for"]) or started_statuses
    limit = (
        expectation["exactly"] if "exactly" in expectation else expectation["at_most"]
    )
    for status in statuses:
        counts = _restart_counts(status, name).values()
        if max(counts, default=0) > limit:
            return Finding(holds=False, detail=f"{max(counts)} at {status.t:.1f}")
    if not any(_has_run(view) for view in _views(started_statuses, name)):
        return Finding(holds=False, detail="no container was seen started")
    last = _restart_counts(statuses[-1], name)
    return Finding(
        holds="exactly" not in expectation
        or all(count == limit for count in last.values()),
        detail=f"last {last}",
    )


def ready(expectation: Expectation, observation: Observation, slack: float) -> Finding:
    """Judge whether and when the pod or a container was ready."""
    window = Window.of(expectation, observation, slack)
    who = expectation.get("container", POD)
    times = (t for t, status in window.statuses() if status.is_ready(who))
    t = next(times, None)
    if t is None:
        return Finding(holds=False, detail="never ready")
    if window.within is not None and window.elapsed(t) > window.within:
        return Finding(holds=False, detail=f"ready at {t:.1f}")
    if "not_before_started_plus" not in expectation:
        return Finding(holds=True, detail=f"at {t:.1f}")
    started = _start(observation, expectation["container"], window.gen)
    if started is None:
        return Finding(holds=False, detail="no start seen")
    after = t - started.earliest
    return Finding(
        holds=after >= expectation["not_before_started_plus"],
        detail=f"ready {after:.1f} after the start",
    )


def never_ready(
    expectation: Expectation, observation: Observation, _slack: float
) -> Finding:
    """Judge whether the pod or a container ran and was never ready."""
    check_observed(observation, expectation.get("for"))
    who = expectation.get("container", POD)
    statuses = _until(
        observation.of_generation(expectation.get("gen", 0)), expectation["for"]
    )
    for status in statuses:
        if status.is_ready(who):
            return Finding(holds=False, detail=f"ready at {status.t:.1f}")
    name = None if who == POD else who
    has_run = any(view.is_running for view in _views(statuses, name))
    return Finding(holds=has_run, detail="" if has_run else "was never seen running")


def unready(
    expectation: Expectation, observation: Observation, slack: float
) -> Finding:
    """Judge how soon the pod or a container was not ready."""
    window = Window.of(expectation, observation, slack)
    who = expectation.get("container", POD)
    for t, status in window.statuses():
        if not status.is_ready(who):
            after = window.elapsed(t)
            return Finding(after <= expectation["within"] * slack, f"{after:.1f} after")
    return Finding(holds=False, detail="stayed ready")


def event(expectation: Expectation, observation: Observation, slack: float) -> Finding:
    """Judge whether the window has at least a number of these events."""
    window = Window.of(expectation, observation, slack)
    found = sum(window.has(event.t) for event in _events(expectation, observation))
    return Finding(found >= expectation.get("count_at_least", 1), f"{found} seen")


def no_event(
    expectation: Expectation, observation: Observation, slack: float
) -> Finding:
    """Judge whether the window has none of these events."""
    window = Window.of(expectation, observation, slack)
    if window.closing == NO_TIME:
        raise UnmetError(f"never reached {expectation['before']}")
    check_observed(observation, expectation.get("for"), since=window.opening.latest)
    if not observation.events:
        return Finding(holds=False, detail="no events at all")
    for event in _events(expectation, observation):
        is_at_opening = window.is_after and event.t <= window.opening.latest
        is_at_closing = event.t >= window.closing.earliest
        if window.has(event.t) and not is_at_opening and not is_at_closing:
            return Finding(holds=False, detail=f"{event.message} at {event.t:.1f}")
    return Finding(holds=True)


def phase(expectation: Expectation, observation: Observation, slack: float) -> Finding:
    """Judge the phase: the last, a constant, a forbidden one, or one in the window."""
    statuses = observation.of_generation(expectation.get("gen", 0))
    if not statuses:
        return Finding(holds=False, detail="no status")
    detail = _format_changes([(status.t, status.phase) for status in statuses])
    if "last" in expectation:
        return Finding(statuses[-1].phase == expectation["last"], detail)
    check_observed(observation, expectation.get("for"))
    if "stays" in expectation:
        until = [status for status in statuses if status.t <= expectation["for"]]
        return Finding(
            all(status.phase == expectation["stays"] for status in until), detail
        )
    if "never" in expectation:
        until = [
            status
            for status in statuses
            if status.t <= expectation.get("for", NO_LIMIT)
        ]
        return Finding(
            all(status.phase != expectation["never"] for status in until), detail
        )
    window = Window.of(expectation, observation, slack)
    for t, status in window.statuses():
        is_reason = expectation.get("reason", status.reason) == status.reason
        if status.phase == expectation["is"] and is_reason and window.has(t):
            return Finding(holds=True, detail=f"at {t:.1f}")
    return Finding(holds=False, detail=detail)


def state(expectation: Expectation, observation: Observation, slack: float) -> Finding:
    """Judge whether a container has a state in the window."""
    window = Window.of(expectation, observation, slack)
    history: list[tuple[float, object]] = []
    for t, status in window.statuses():
        container = status.container(expectation["container"])
        if container is None:
            continue
        if _is_in_state(container, expectation) and window.has(t):
            return Finding(holds=True, detail=f"at {t:.1f}")
        history.append((t, next(iter(container.state), None)))
    return Finding(holds=False, detail=_format_changes(history))


def never_state(
    expectation: Expectation, observation: Observation, _slack: float
) -> Finding:
    """Judge whether a container never has a state."""
    check_observed(observation, expectation.get("for"))
    for status in observation.of_generation(expectation.get("gen", 0)):
        container = status.container(expectation["container"])
        is_early = status.t <= expectation.get("for", NO_LIMIT)
        if container is not None and is_early and _is_in_state(container, expectation):
            return Finding(holds=False, detail=f"at {status.t:.1f}")
    return Finding(holds=True)


def terminated(
    expectation: Expectation, observation: Observation, slack: float
) -> Finding:
    """Judge how a run of a container ended."""
    run = expectation.get("run", 0)
    end = observation.end_of_run(
        expectation["container"], run, expectation.get("gen", 0)
    )
    if end is None:
        return Finding(holds=False, detail=f"no end of run {run} seen")
    if "within" in expectation and end.t > expectation["within"] * slack:
        return Finding(holds=False, detail=f"seen at {end.t:.1f}")
    was = {
        "exit_code": end.terminated.get("exitCode"),
        "reason": end.terminated.get("reason"),
        "message": end.terminated.get("message") or "",
    }
    wrong = [key for key, value in was.items() if expectation.get(key, value) != value]
    if (
        "exit_code_not" in expectation
        and expectation["exit_code_not"] == was["exit_code"]
    ):
        wrong.append("exit_code")
    detail = ", ".join(f"{key} is {was[key]!r}" for key in wrong)
    return Finding(not wrong, detail or f"seen at {end.t:.1f}")


def never_started(
    expectation: Expectation, observation: Observation, _slack: float
) -> Finding:
    """Judge whether a container never ran."""
    check_observed(observation, expectation.get("for"))
    name, until = expectation["container"], expectation.get("for", NO_LIMIT)
    for event in observation.events:
        if event.reason == "Started" and event.container == name and event.t <= until:
            return Finding(holds=False, detail=f"Started at {event.t:.1f}")
    for status in observation.of_generation(expectation.get("gen", 0)):
        found = status.container(name)
        if found is None or status.t > until:
            continue
        if found.restart_count or found.is_running:
            return Finding(holds=False, detail=f"running at {status.t:.1f}")
    return Finding(holds=True)


def order(
    expectation: Sequence[str], observation: Observation, _slack: float
) -> Finding:
    """Judge whether all moments are reached, none after the next."""
    found = [(moment, reached(moment, observation)) for moment in expectation]
    for (name, at), (next_name, next_at) in pairwise(found):
        if at.earliest > next_at.latest:
            detail = f"{name} ({at.earliest:.2f}) after {next_name}"
            return Finding(holds=False, detail=f"{detail} ({next_at.latest:.2f})")
    return Finding(holds=True, detail=", ".join(f"{at.latest:.1f}" for _, at in found))


def gap(expectation: Expectation, observation: Observation, slack: float) -> Finding:
    """Judge the time between two moments."""
    begin, end = (
        reached(expectation["from"], observation),
        reached(expectation["to"], observation),
    )
    shortest, longest = end.earliest - begin.latest, end.latest - begin.earliest
    is_long_enough = longest >= expectation.get("at_least", longest)
    is_short_enough = (
        "at_most" not in expectation or shortest <= expectation["at_most"] * slack
    )
    detail = f"{shortest:.2f} to {longest:.2f}"
    return Finding(is_long_enough and is_short_enough, detail)


def condition(
    expectation: Expectation, observation: Observation, slack: float
) -> Finding:
    """Judge whether the pod has a condition in the window."""
    window = Window.of(expectation, observation, slack)
    history: list[tuple[float, object]] = []
    for t, status in window.statuses():
        found = status.condition(expectation["type"])
        if found is None:
            continue
        if (
            found.status == expectation["status"]
            and expectation.get("reason", found.reason) == found.reason
            and expectation.get("message_contains", "") in (found.message or "")
            and window.has(t)
        ):
            return Finding(holds=True, detail=f"at {t:.1f}")
        history.append((t, (found.status, found.reason, found.message)))
    return Finding(holds=False, detail=_format_changes(history))


def together(
    expectation: Sequence[str], observation: Observation, _slack: float
) -> Finding:
    """Judge whether two containers ever ran at the same time."""
    one, other = expectation
    for status in observation.of_generation(0):
        views = [status.container(one), status.container(other)]
        if all(view is not None and view.is_running for view in views):
            return Finding(holds=True, detail=f"at {status.t:.1f}")
    for begin, end in _runs(one, observation):
        for other_begin, other_end in _runs(other, observation):
            if begin < other_end and other_begin < end:
                return Finding(holds=True, detail="by the times of their runs")
    return Finding(holds=False, detail="never both running")


JUDGES: Mapping[str, Judge] = {
    "restarts": restarts,
    "ready": ready,
    "never_ready": never_ready,
    "unready": unready,
    "event": event,
    "no_event": no_event,
    "phase": phase,
    "state": state,
    "never_state": never_state,
    "terminated": terminated,
    "never_started": never_started,
    "condition": condition,
    "order": order,
    "gap": gap,
    "together": together,
}
"""All kinds of expectations, by their key in a case."""


def _until(statuses: Iterable[Status], t: float) -> list[Status]:
    return list(takewhile(lambda status: status.t <= t, statuses))


def _views(statuses: Iterable[Status], name: str | None) -> Iterator[ContainerView]:
    """Yield a container, or all if none is named, from the statuses."""
    for status in statuses:
        for container in status.containers:
            if name in {None, container.name}:
                yield container


def _restart_counts(status: Status, name: str | None) -> dict[str, int]:
    return {view.name: view.restart_count for view in _views([status], name)}


def _has_run(container: ContainerView) -> bool:
    return not container.is_waiting or container.restart_count > 0


def _start(observation: Observation, name: str, gen: int) -> Span | None:
    """Return when a container started, from its first running state."""
    running = (
        view for view in _views(observation.of_generation(gen), name) if view.is_running
    )
    first = next(running, None)
    stated = first and observation.when((first.state["running"] or {}).get("startedAt"))
    return stated or when(f"started({name})", observation)


def _runs(name: str, observation: Observation) -> Iterator[tuple[float, float]]:
    """Yield the begin and the earliest end of each run of a container."""
    for run in range(RUNS):
        begin = when(f"started({name},{run})", observation)
        if begin is None:
            return
        end = when(f"terminated({name},{run})", observation)
        yield begin.latest, NO_LIMIT if end is None else end.earliest


def _events(expectation: Expectation, observation: Observation) -> Iterator[Event]:
    """Yield the events that match an expectation, in and out of its window."""
    parts = expectation.get("message_contains", [])
    parts = [parts] if isinstance(parts, str) else parts
    for event in observation.events:
        if (
            expectation.get("reason", event.reason) == event.reason
            and expectation.get("type", event.type) == event.type
            and expectation.get("container", event.container) == event.container
            and all(part in event.message for part in parts)
        ):
            yield event


def _is_in_state(container: ContainerView, expectation: Expectation) -> bool:
    if expectation["is"] not in container.state:
        return False
    details = container.state[expectation["is"]] or {}
    flags = {"started": bool(container.started), "ready": container.ready}
    return (
        expectation.get("reason", details.get("reason")) == details.get("reason")
        and expectation.get("exit_code", details.get("exitCode"))
        == details.get("exitCode")
        and expectation.get("message_contains", "") in (details.get("message") or "")
        and all(expectation.get(key, value) == value for key, value in flags.items())
    )


def _format_changes(history: Sequence[tuple[float, object]]) -> str:
    """Format how a value changed, without repetitions."""
    changes = [
        f"{t:.1f} {value}"
        for index, (t, value) in enumerate(history)
        if index == 0 or value != history[index - 1][1]
    ]
    return "; ".join(changes) or "never seen"
