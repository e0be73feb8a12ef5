"""Rules that hold for every pod, whatever its case expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import Observation, RunEnd, Span

RUNS = 30
"""How many runs of an init container are looked at, to find one that completed."""

FINAL_PHASES = frozenset({"Succeeded", "Failed"})

Json = Mapping[str, Any]


def broken_rules(pod: Json, seen: Observation) -> list[str]:
    """Return which rules an observation of a pod breaks, in words, sorted."""
    return sorted(
        {
            *_falling_restart_counts(seen),
            *_lives_after_the_end(seen),
            *_starts_out_of_turn(pod["spec"], seen),
        }
    )


def _falling_restart_counts(seen: Observation) -> Iterator[str]:
    highest: dict[tuple[int, str], int] = {}
    for status in seen.statuses:
        for container in status.containers:
            key = (status.gen, container.name)
            if container.restart_count < highest.get(key, 0):
                yield f"restart count of {container.name} fell at {status.t:.1f}"
            highest[key] = container.restart_count


def _lives_after_the_end(seen: Observation) -> Iterator[str]:
    """Yield changes of a phase that should stay; the next generation starts anew."""
    final: dict[int, str] = {}
    for status in seen.statuses:
        was = final.get(status.gen)
        if was is not None and status.phase != was:
            yield f"phase went from {was} to {status.phase} at {status.t:.1f}"
        if status.phase in FINAL_PHASES:
            final[status.gen] = status.phase


def _starts_out_of_turn(spec: Json, seen: Observation) -> Iterator[str]:
    """Yield containers that started before the init containers before them allow it.

    A sidecar must have started, any other init container must have ended with 0.
    """
    inits = spec.get("initContainers") or []
    containers = [*inits, *spec["containers"]]
    for index, init in enumerate(inits):
        name = init["name"]
        for later in containers[index + 1 :]:
            start = when(f"started({later['name']})", seen)
            if start is None:
                continue
            own_start = when(f"started({name})", seen)
            if own_start is None or own_start.earliest > start.latest:
                yield f"{later['name']} started before {name}"
            elif init.get("restartPolicy") != "Always" and not _had_completed(
                name, start, seen
            ):
                yield f"{later['name']} started before {name} had completed"


def _had_completed(name: str, start: Span, seen: Observation) -> bool:
    """Return whether some run of a container can have ended with 0 before a start."""
    ends = (seen.end_of_run(name, run) for run in range(RUNS))
    return any(
        end is not None
        and end.terminated.get("exitCode") == 0
        and _finish(end, seen).earliest <= start.latest
        for end in ends
    )


def _finish(end: RunEnd, seen: Observation) -> Span:
    """Return when a run ended; one that does not say so may have ended at any time."""
    return seen.when(end.terminated.get("finishedAt")) or Span.at(0)
