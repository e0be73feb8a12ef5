"""One pod under two versions of the kubelet, simulated side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from probetui.cli.lessons import Lesson
from probetui.cli.printing import print_line, print_table
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.simulation import Simulation
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetPods
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.journal import ContainerEntry, EventEntry
from probetui.kubelet_rules import rules_of
from probetui.manifest.load import load_manifests

LENGTH = timedelta(seconds=80)
"""Simulated time of each kubelet."""

_START = datetime(2000, 1, 1, tzinfo=UTC)

_Seen = tuple[float, str]
"""Seconds from the start, and what was seen."""


def print_side_by_side(lesson: Lesson) -> int:
    """Print what each version of a lesson does with its pod; the exit status is 0."""
    print_line(lesson.text)
    print_line()
    seen = {version: list(_events(lesson, version)) for version in lesson.versions}
    print_table(list(_rows(seen)), headers=True)
    return 0


def _events(lesson: Lesson, version: str) -> Iterator[_Seen]:
    """Simulate the pod of a lesson and yield its events and the ends of containers."""
    manifests = load_manifests([lesson.source], rules=rules_of(version))
    manifests.raise_for_errors()
    scenario = read_scenario(lesson.script, manifests.pods)
    config = KubeletConfig(version=version, queues_while_waiting=True)
    simulation = Simulation(Engine(config, _START), scenario.world(), _START)
    simulation.submit(SetPods(manifests.pods))
    simulation.run_for(LENGTH)
    for entry in simulation.journal:
        match entry:
            case EventEntry(event=event):
                text = f"{event.reason} {event.message}"
            case ContainerEntry(what="exited", exit_code=exit_code):
                text = f"{entry.container_name} exited with {exit_code}"
            case _:
                continue
        yield (entry.at - _START).total_seconds(), text


def _rows(seen: Mapping[str, Sequence[_Seen]]) -> Iterator[dict[str, str]]:
    """Yield a row for each thing seen, in its version's column, in the order of time.

    What several versions do next, and within a second of each other, shares a row.
    """
    left = {version: list(events) for version, events in seen.items()}
    while any(left.values()):
        first = min(events[0][0] for events in left.values() if events)
        row = {"AT": f"+{first:.1f}s"}
        for version, events in left.items():
            is_due = bool(events) and events[0][0] < first + 1
            row[f"KUBELET {version}"] = events.pop(0)[1] if is_due else ""
        yield row
