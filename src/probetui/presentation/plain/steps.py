"""Plain lines of a stepped session: decision traces, and the queue of next events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import TickEntry
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.table import pod_names
from probetui.presentation.step_queue import queue_lines
from probetui.presentation.text.spans import Line, text_of
from probetui.presentation.text.view import TimeFormat, TimeFormatter, View
from probetui.presentation.tick.marks import ASCII
from probetui.presentation.tick.trace import trace_lines, trace_title
from probetui.record.masking import Mask

_WIDTH, _HEIGHT = 80, 100
_INDENT = "    "


def step_view(snapshot: Snapshot, mask: Mask) -> View:
    """Return the view for the lines, with times that count from the session's start."""
    times = TimeFormatter(
        snapshot.taken_at, snapshot.started_at, TimeFormat.SINCE_START
    )
    return View(times, ASCII, mask=mask, acts=snapshot.acts, rules=snapshot.rules)


def format_trace(tick: TickEntry, snapshot: Snapshot, view: View) -> Iterator[str]:
    """Yield the title and the indented decision trace of a probe's newest tick."""
    yield f"  {text_of(trace_title(tick, view))}".rstrip()
    subject = _subject(tick, snapshot)
    if subject is not None:
        lines = trace_lines(subject, view, _WIDTH, _HEIGHT)
        yield from _indented(line for line in lines if line)


def format_queue(snapshot: Snapshot, view: View) -> Iterator[str]:
    """Yield the next events, in order."""
    names = pod_names(pod.pod for pod in snapshot.pods)
    yield from _indented(queue_lines(snapshot, names, view))


def _indented(lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        yield f"{_INDENT}{text_of(line)}".rstrip()


def _subject(tick: TickEntry, snapshot: Snapshot) -> Subject | None:
    """Return the probe of a tick as the selected one, None if it is gone."""
    for pod in snapshot.pods:
        for container in pod.containers:
            for probe in container.probes:
                if probe.key == tick.key:
                    return Subject(pod, container, probe)
    return None
