"""Rules that hold for every pod, whatever its case expects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import Observation, RunEnd, Span

RUNS = 30
"""How many runs of an init container are searched for one that completed."""

FINAL_PHASES = frozenset({"Succeeded", "Failed"})

Json = Mapping[str, Any]


def broken_rules(pod: Json, observation: Observation) -> list[str]:
    """Return descriptions of the rules that an observation breaks, sorted."""
    return sorted(
        {
            *_falling_restart_counts(observation),
            *_phase_changes_after_the_end(observation),
            *_starts_before_init_containers(pod["spec"], observation),
        }
    )


def _falling_restart_counts(observation: Observation) -> Iterator[str]:
    highest: dict[tuple[int, str], int] = {}
    for status in observation.statuses:
        for container in status.containers:
            key = (status.gen, container.name)
            if container.restart_count < highest.get(key, 0):
                yield f"restart count of {container.name} fell at {status.t:.1f}"
            highest[key] = container.restart_count


def _phase_changes_after_the_end(observation: Observation) -> Iterator[str]:
    """Yield changes of a final phase within a generation."""
    final: dict[int, str] = {}
    for status in observation.statuses:
        final_phase = final.get(status.gen)
        if final_phase is not None and status.phase != final_phase:
            yield f"phase went from {final_phase} to {status.phase} at {status.t:.1f}"
        if status.phase in FINAL_PHASES:
            final[status.gen] = status.phase


def _starts_before_init_containers(
    spec: Json, observation: Observation
) -> Iterator[str]:
    """Yield containers that started too early for the init containers before them.

    A sidecar must have started, any other init container must have exited with 0.
    """
    inits = spec.get("initContainers") or []
    containers = [*inits, *spec["containers"]]
    for index, init in enumerate(inits):
        name = init["name"]
        for later in containers[index + 1 :]:
            start = when(f"started({later['name']})", observation)
            if start is None:
                continue
            own_start = when(f"started({name})", observation)
            if own_start is None or own_start.earliest > start.latest:
                yield f"{later['name']} started before {name}"
            elif init.get("restartPolicy") != "Always" and not _can_have_completed(
                name, start, observation
            ):
                yield f"{later['name']} started before {name} had completed"


def _can_have_completed(name: str, start: Span, observation: Observation) -> bool:
    """Return whether a run of a container can have exited with 0 before a start."""
    ends = (observation.end_of_run(name, run) for run in range(RUNS))
    return any(
        end is not None
        and end.terminated.get("exitCode") == 0
        and _finish(end, observation).earliest <= start.latest
        for end in ends
    )


def _finish(end: RunEnd, observation: Observation) -> Span:
    """Return when a run ended; without a timestamp it may have ended at any time."""
    return observation.when(end.terminated.get("finishedAt")) or Span.at(0)
