"""Expectations: what a case wants to be true of an observation, one function each."""

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

Wanted = Mapping[str, Any]

LONGEST = 1e9
"""Seconds; stands for the end where no period is named."""

RUNS = 20
"""How many runs of a container are looked at, to see whether two ran together."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether an expectation holds, and what was found instead or where."""

    holds: bool
    detail: str = ""


Judge = Callable[[Any, Observation, float], Finding]


def restarts(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge restart counts: at least, exactly or at most so many."""
    statuses = seen.of_generation(wanted.get("gen", 0))
    name = wanted.get("container")
    if "at_least" in wanted:
        limit = wanted["within"] * slack
        for status in statuses:
            counts = _restart_counts(status, name).values()
            if status.t <= limit and max(counts, default=-1) >= wanted["at_least"]:
                return Finding(holds=True, detail=f"at {status.t:.1f}")
        return Finding(holds=False, detail="not reached in time")
    check_observed(seen, wanted.get("for"))
    # A late machine may start it after the period, in which it is not restarted then.
    begun = _until(statuses, wanted["for"] + seen.late)
    statuses = _until(statuses, wanted["for"]) or begun
    limit = wanted["exactly"] if "exactly" in wanted else wanted["at_most"]
    for status in statuses:
        counts = _restart_counts(status, name).values()
        if max(counts, default=0) > limit:
            return Finding(holds=False, detail=f"{max(counts)} at {status.t:.1f}")
    if not any(_has_run(view) for view in _views(begun, name)):
        return Finding(holds=False, detail="no container was seen started")
    last = _restart_counts(statuses[-1], name)
    return Finding(
        holds="exactly" not in wanted or all(count == limit for count in last.values()),
        detail=f"last {last}",
    )


def ready(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge whether, and how soon or how late, something was ready."""
    window = Window.of(wanted, seen, slack)
    who = wanted.get("container", POD)
    times = (t for t, status in window.statuses() if status.is_ready(who))
    t = next(times, None)
    if t is None:
        return Finding(holds=False, detail="never ready")
    if window.within is not None and window.elapsed(t) > window.within:
        return Finding(holds=False, detail=f"ready at {t:.1f}")
    if "not_before_started_plus" not in wanted:
        return Finding(holds=True, detail=f"at {t:.1f}")
    started = _start(seen, wanted["container"], window.gen)
    if started is None:
        return Finding(holds=False, detail="no start seen")
    after = t - started.earliest
    return Finding(
        holds=after >= wanted["not_before_started_plus"],
        detail=f"ready {after:.1f} after the start",
    )


def never_ready(wanted: Wanted, seen: Observation, _slack: float) -> Finding:
    """Judge whether something ran without ever being ready."""
    check_observed(seen, wanted.get("for"))
    who = wanted.get("container", POD)
    statuses = _until(seen.of_generation(wanted.get("gen", 0)), wanted["for"])
    for status in statuses:
        if status.is_ready(who):
            return Finding(holds=False, detail=f"ready at {status.t:.1f}")
    name = None if who == POD else who
    has_run = any(view.is_running for view in _views(statuses, name))
    return Finding(holds=has_run, detail="" if has_run else "was never seen running")


def unready(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge how soon something was not ready."""
    window = Window.of(wanted, seen, slack)
    who = wanted.get("container", POD)
    for t, status in window.statuses():
        if not status.is_ready(who):
            after = window.elapsed(t)
            return Finding(after <= wanted["within"] * slack, f"{after:.1f} after")
    return Finding(holds=False, detail="stayed ready")


def event(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge whether there were so many of these events in the window."""
    window = Window.of(wanted, seen, slack)
    found = sum(window.has(event.t) for event in _events(wanted, seen))
    return Finding(found >= wanted.get("count_at_least", 1), f"{found} seen")


def no_event(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge whether there was none of these events, not even one, in the window."""
    window = Window.of(wanted, seen, slack)
    if window.closing == NO_TIME:
        raise UnmetError(f"never reached {wanted['before']}")
    check_observed(seen, wanted.get("for"), since=window.opening.latest)
    if not seen.events:
        return Finding(holds=False, detail="no events at all")
    for event in _events(wanted, seen):
        is_at_opening = window.is_after and event.t <= window.opening.latest
        is_at_closing = event.t >= window.closing.earliest
        if window.has(event.t) and not is_at_opening and not is_at_closing:
            return Finding(holds=False, detail=f"{event.message} at {event.t:.1f}")
    return Finding(holds=True)


def phase(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge the phase: the last one, one that stays, never is, or is in the window."""
    statuses = seen.of_generation(wanted.get("gen", 0))
    if not statuses:
        return Finding(holds=False, detail="no status")
    detail = _course([(status.t, status.phase) for status in statuses])
    if "last" in wanted:
        return Finding(statuses[-1].phase == wanted["last"], detail)
    check_observed(seen, wanted.get("for"))
    if "stays" in wanted:
        until = [status for status in statuses if status.t <= wanted["for"]]
        return Finding(all(status.phase == wanted["stays"] for status in until), detail)
    if "never" in wanted:
        until = [
            status for status in statuses if status.t <= wanted.get("for", LONGEST)
        ]
        return Finding(all(status.phase != wanted["never"] for status in until), detail)
    window = Window.of(wanted, seen, slack)
    for t, status in window.statuses():
        is_reason = wanted.get("reason", status.reason) == status.reason
        if status.phase == wanted["is"] and is_reason and window.has(t):
            return Finding(holds=True, detail=f"at {t:.1f}")
    return Finding(holds=False, detail=detail)


def state(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge whether a container is seen in a state in the window."""
    window = Window.of(wanted, seen, slack)
    course: list[tuple[float, object]] = []
    for t, status in window.statuses():
        container = status.container(wanted["container"])
        if container is None:
            continue
        if _is_in_state(container, wanted) and window.has(t):
            return Finding(holds=True, detail=f"at {t:.1f}")
        course.append((t, next(iter(container.state), None)))
    return Finding(holds=False, detail=_course(course))


def never_state(wanted: Wanted, seen: Observation, _slack: float) -> Finding:
    """Judge whether a container is never seen in a state."""
    check_observed(seen, wanted.get("for"))
    for status in seen.of_generation(wanted.get("gen", 0)):
        container = status.container(wanted["container"])
        is_early = status.t <= wanted.get("for", LONGEST)
        if container is not None and is_early and _is_in_state(container, wanted):
            return Finding(holds=False, detail=f"at {status.t:.1f}")
    return Finding(holds=True)


def terminated(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge how a run of a container ended."""
    run = wanted.get("run", 0)
    end = seen.end_of_run(wanted["container"], run, wanted.get("gen", 0))
    if end is None:
        return Finding(holds=False, detail=f"no end of run {run} seen")
    if "within" in wanted and end.t > wanted["within"] * slack:
        return Finding(holds=False, detail=f"seen at {end.t:.1f}")
    was = {
        "exit_code": end.terminated.get("exitCode"),
        "reason": end.terminated.get("reason"),
        "message": end.terminated.get("message") or "",
    }
    wrong = [key for key, value in was.items() if wanted.get(key, value) != value]
    if "exit_code_not" in wanted and wanted["exit_code_not"] == was["exit_code"]:
        wrong.append("exit_code")
    detail = ", ".join(f"{key} is {was[key]!r}" for key in wrong)
    return Finding(not wrong, detail or f"seen at {end.t:.1f}")


def never_started(wanted: Wanted, seen: Observation, _slack: float) -> Finding:
    """Judge whether a container never ran."""
    check_observed(seen, wanted.get("for"))
    name, until = wanted["container"], wanted.get("for", LONGEST)
    for event in seen.events:
        if event.reason == "Started" and event.container == name and event.t <= until:
            return Finding(holds=False, detail=f"Started at {event.t:.1f}")
    for status in seen.of_generation(wanted.get("gen", 0)):
        found = status.container(name)
        if found is None or status.t > until:
            continue
        if found.restart_count or found.is_running:
            return Finding(holds=False, detail=f"running at {status.t:.1f}")
    return Finding(holds=True)


def order(wanted: Sequence[str], seen: Observation, _slack: float) -> Finding:
    """Judge whether all moments are reached, none after the next."""
    found = [(moment, reached(moment, seen)) for moment in wanted]
    for (name, at), (next_name, next_at) in pairwise(found):
        if at.earliest > next_at.latest:
            detail = f"{name} ({at.earliest:.2f}) after {next_name}"
            return Finding(holds=False, detail=f"{detail} ({next_at.latest:.2f})")
    return Finding(holds=True, detail=", ".join(f"{at.latest:.1f}" for _, at in found))


def gap(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge the time between two moments."""
    begin, end = reached(wanted["from"], seen), reached(wanted["to"], seen)
    shortest, longest = end.earliest - begin.latest, end.latest - begin.earliest
    is_long_enough = longest >= wanted.get("at_least", longest)
    is_short_enough = "at_most" not in wanted or shortest <= wanted["at_most"] * slack
    detail = f"{shortest:.2f} to {longest:.2f}"
    return Finding(is_long_enough and is_short_enough, detail)


def condition(wanted: Wanted, seen: Observation, slack: float) -> Finding:
    """Judge whether the pod is seen with a condition in the window."""
    window = Window.of(wanted, seen, slack)
    course: list[tuple[float, object]] = []
    for t, status in window.statuses():
        found = status.condition(wanted["type"])
        if found is None:
            continue
        if (
            found.status == wanted["status"]
            and wanted.get("reason", found.reason) == found.reason
            and wanted.get("message_contains", "") in (found.message or "")
            and window.has(t)
        ):
            return Finding(holds=True, detail=f"at {t:.1f}")
        course.append((t, (found.status, found.reason, found.message)))
    return Finding(holds=False, detail=_course(course))


def together(wanted: Sequence[str], seen: Observation, _slack: float) -> Finding:
    """Judge whether two containers ever ran at the same time."""
    one, other = wanted
    for status in seen.of_generation(0):
        views = [status.container(one), status.container(other)]
        if all(view is not None and view.is_running for view in views):
            return Finding(holds=True, detail=f"at {status.t:.1f}")
    for begin, end in _runs(one, seen):
        for other_begin, other_end in _runs(other, seen):
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
"""Every kind of expectation, by the key that a case gives it."""


def _until(statuses: Iterable[Status], t: float) -> list[Status]:
    return list(takewhile(lambda status: status.t <= t, statuses))


def _views(statuses: Iterable[Status], name: str | None) -> Iterator[ContainerView]:
    """Yield what statuses say of a container, or of all if none is named."""
    for status in statuses:
        for container in status.containers:
            if name in {None, container.name}:
                yield container


def _restart_counts(status: Status, name: str | None) -> dict[str, int]:
    return {view.name: view.restart_count for view in _views([status], name)}


def _has_run(container: ContainerView) -> bool:
    return not container.is_waiting or container.restart_count > 0


def _start(seen: Observation, name: str, gen: int) -> Span | None:
    """Return when a container started: what its first running state says."""
    running = (
        view for view in _views(seen.of_generation(gen), name) if view.is_running
    )
    first = next(running, None)
    stated = first and seen.when((first.state["running"] or {}).get("startedAt"))
    return stated or when(f"started({name})", seen)


def _runs(name: str, seen: Observation) -> Iterator[tuple[float, float]]:
    """Yield the begin and the earliest end of each run of a container."""
    for run in range(RUNS):
        begin = when(f"started({name},{run})", seen)
        if begin is None:
            return
        end = when(f"terminated({name},{run})", seen)
        yield begin.latest, LONGEST if end is None else end.earliest


def _events(wanted: Wanted, seen: Observation) -> Iterator[Event]:
    """Yield the events that a filter is about, in or out of its window."""
    parts = wanted.get("message_contains", [])
    parts = [parts] if isinstance(parts, str) else parts
    for event in seen.events:
        if (
            wanted.get("reason", event.reason) == event.reason
            and wanted.get("type", event.type) == event.type
            and wanted.get("container", event.container) == event.container
            and all(part in event.message for part in parts)
        ):
            yield event


def _is_in_state(container: ContainerView, wanted: Wanted) -> bool:
    if wanted["is"] not in container.state:
        return False
    details = container.state[wanted["is"]] or {}
    flags = {"started": bool(container.started), "ready": container.ready}
    return (
        wanted.get("reason", details.get("reason")) == details.get("reason")
        and wanted.get("exit_code", details.get("exitCode")) == details.get("exitCode")
        and wanted.get("message_contains", "") in (details.get("message") or "")
        and all(wanted.get(key, value) == value for key, value in flags.items())
    )


def _course(course: Sequence[tuple[float, object]]) -> str:
    """Say how something changed, each change once."""
    changes = [
        f"{t:.1f} {value}"
        for index, (t, value) in enumerate(course)
        if index == 0 or value != course[index - 1][1]
    ]
    return "; ".join(changes) or "never seen"
