"""Courses: what `why` answers about the containers of a case, second by second.

Of each second a course has the parts of answers that are others than before, with all
that differs from the defaults; instants are seconds since the start. At the instants of
the questions it has the lanes of the containers and of their probes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import fields

from probetui.analysis.causes.answer import explain, is_well, last_endings
from probetui.analysis.causes.cause import Cause, CauseSubject, Ending, WhyAnswer
from probetui.analysis.causes.probe_failure import ProbeFailure
from probetui.analysis.container_history import ContainerInstance, SessionHistory
from probetui.analysis.lanes import LaneAxis
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import JournalEntry
from probetui.presentation.lanes import ASCII_LANES, lane_line
from probetui.presentation.text.spans import text_of
from tests.cases.case_files import Case, simulation_of

_CELLS = (1.0, 4.0)
"""How many seconds a cell of a lane stands for."""

_WIDTH = 60


def course(case: Case) -> Iterator[str]:
    """Yield what changes of the answers about a case, line by line."""
    simulation, start = simulation_of(case), case.scenario.start
    pods = {pod.uid: pod for pod in case.manifests.pods}
    past = SessionHistory(simulation.journal)
    known: dict[tuple[str, str, str], str] = {}
    asked = {int(question.at) for question in case.answers}
    for second in range(max(asked) + 1):
        read = len(simulation.journal)
        simulation.run_until(start + timedelta(seconds=second))
        past.add_entries(simulation.journal[read:], read)
        for pod in pods.values():
            for container in pod.all_containers():
                of = pod, container, past, simulation.now, case.rules
                parts = _parts(explain(*of, pods), last_endings(*of), start)
                told = {(pod.name, container.name, part): text for part, text in parts}
                changed = [key for key in told if known.get(key, "") != told[key]]
                if changed:
                    yield f"{second}s {pod.name}/{container.name}"
                    yield from (f"  {key[-1]}: {told[key] or '-'}" for key in changed)
                known |= told
        if second in asked:
            yield from _lanes(past, simulation.engine.snapshot(simulation.now))


def _lanes(past: SessionHistory, snapshot: Snapshot) -> Iterator[str]:
    for cell in _CELLS:
        axis = LaneAxis.around(snapshot.taken_at, cell, _WIDTH)
        for pod in snapshot.pods:
            for container in pod.containers:
                lanes = past.lanes.cells(axis, snapshot, pod, container)
                for cells in (lanes.container, *lanes.probes):
                    yield f"  lane: {text_of(lane_line(cells, ASCII_LANES)).rstrip()}"


def _parts(
    answer: WhyAnswer, ends: tuple[Ending, ...], start: datetime
) -> Iterator[tuple[str, str]]:
    """Yield the parts of an answer with their names, empty where there is none."""
    yield "now", _told(answer.now, start)
    yield "before", _told(answer.before, start)
    yield "last end", _told(answer.last_end, start)
    yield "next", _told(answer.outlook, start)
    yield "remedy", _told(answer.remedy, start)
    yield "well", _told(is_well(answer), start)
    for end, name in zip(ends, ("restart", "restart before"), strict=False):
        yield name, _told(end.restart, start)


def _told(value: object, start: datetime) -> str:
    """Return a value as text, without those of its fields that are the defaults."""
    match value:
        case None | False:
            return ""
        case datetime():
            return f"{(value - start).total_seconds():.4g}"
        case timedelta():
            return f"{value.total_seconds():.4g}s"
        case ContainerInstance(number=number):
            return f"#{number}"
        case Struct() if isinstance(value, JournalEntry):
            return f"{type(value).__name__} of {_told(value.at, start)}"
        case CauseSubject():
            return " ".join(
                filter(None, (getattr(value, own.name) for own in fields(value)))
            )
        case Cause() | ProbeFailure():
            because = f" < {_told(value.because, start)}" if value.because else ""
            return f"{_told_fields(value, start)}{because}"
        case Struct():
            return _told_fields(value, start)
        case _:
            return str(value)


_PASSED_OVER = {"because", "failed", "kind"}
"""The next link of a chain, and an attempt that the tick has."""


def _told_fields(value: Struct, start: datetime) -> str:
    kind = [value.kind] if hasattr(value, "kind") else []
    told = [
        f"{field.name} {_told(own, start)}"
        for field in fields(value)
        if (own := getattr(value, field.name)) != field.default
        and field.name not in _PASSED_OVER
    ]
    return ", ".join(kind + told)
