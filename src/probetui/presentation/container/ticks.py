"""The ticks of a container's probe: one row per instance, what was printed, and why."""

from __future__ import annotations

from collections.abc import Iterator

from probetui.engine.snapshot import ProbeSnapshot
from probetui.presentation.container.detail import Subject, short_detail
from probetui.presentation.container.instances import instance_lines
from probetui.presentation.probe.detail import (
    last_run_line,
    output_text,
    stamped_tick_reason,
)
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.spans import Line, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.strips import strip_lines

_OUTPUT = 2
"""Rows of the pane that the last output gets, if it has as many."""


def tick_lines(subject: Subject, view: View, width: int, height: int) -> list[Line]:
    """Return the ticks of the last instances, and below them the last output."""
    probe = subject.probe
    if probe is None:
        return list(instance_lines(subject.ticks, subject.history, view, width, height))
    if subject.cursor is not None:
        period = probe.probe.period_seconds
        strips = list(strip_lines(subject.ticks, subject.cursor, period, view, width))
    else:
        most = max(height - _OUTPUT, 1)
        strips = list(instance_lines(subject.ticks, subject.history, view, width, most))
    return [*strips, *_last_output(subject, view)]


def _last_output(subject: Subject, view: View) -> Iterator[Line]:
    tick = None if subject.probe is None else subject.probe.last_run
    if subject.cursor is not None:
        tick = subject.tick
    if tick is None or not tick.attempts:
        return
    yield line(muted("last  "), *last_run_line(tick, view))
    for row in all_lines(view.mask.text(output_text(tick.attempts[-1]))):
        yield line(f"      {row}")


def why_line(subject: Subject, view: View) -> Line:
    """Return why the tick that is looked at did what it did, in one sentence."""
    if subject.probe is None:
        return line(muted("no probe is defined"))
    return line(stamped_tick_reason(subject.tick, view))


def other_title(subject: Subject) -> str:
    """Return the names of the container's other probes: `readiness and startup`."""
    return " and ".join(probe.key.probe_type.lower() for probe in _others(subject))


def other_lines(subject: Subject, view: View, width: int) -> list[Line]:
    """Return how the container's other probes stand."""
    rows: list[Line] = []
    for probe in _others(subject):
        other = Subject(subject.pod, subject.container, probe, history=subject.history)
        rows += [line(probe.key.probe_type.lower()), *short_detail(other, view, width)]
    return rows


def _others(subject: Subject) -> list[ProbeSnapshot]:
    return [probe for probe in subject.container.probes if probe is not subject.probe]
