"""One pod under two versions of the kubelet, simulated side by side."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from probetui.cli.lessons import Lesson
from probetui.cli.printing import print_table, print_text
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

_TIME_WIDTH = 8
_SPACE_BETWEEN_COLUMNS = 3

_Seen = tuple[float, str]
"""Seconds from the start, and what was seen."""


def print_side_by_side(lesson: Lesson) -> int:
    """Print what each version of a lesson does with its pod; the exit status is 0.

    A terminal gets no wider lines than it has room for.
    """
    seen = {version: list(_events(lesson, version)) for version in lesson.versions}
    text, width = lesson.text, None
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        gaps = _SPACE_BETWEEN_COLUMNS * (len(seen) - 1)
        text = textwrap.fill(text, columns)
        width = max((columns - gaps) // len(seen), 2 * _TIME_WIDTH)
    print_text(f"{text}\n\n")
    print_table(list(_rows(seen, width)), headers=True)
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


def _rows(
    seen: Mapping[str, Sequence[_Seen]], width: int | None
) -> Iterator[dict[str, str]]:
    """Yield a row for each thing seen, in its version's column, in the order of time.

    What several versions do next, and within a second of each other, shares a row. A
    cell is at most `width` wide.
    """
    left = {version: list(events) for version, events in seen.items()}
    while any(left.values()):
        first = min(events[0][0] for events in left.values() if events)
        row = {}
        for version, events in left.items():
            is_due = bool(events) and events[0][0] < first + 1
            cell = _cell(events.pop(0), width) if is_due else ""
            row[f"KUBELET {version}"] = cell
        yield row


def _cell(seen: _Seen, width: int | None) -> str:
    seconds, text = seen
    cell = f"{f'+{seconds:.1f}s':{_TIME_WIDTH}}{text}"
    return cell if width is None or len(cell) <= width else f"{cell[: width - 1]}…"
