"""The ticks of a container's probe: one row per instance, what was printed, and why."""

from __future__ import annotations

from probetui.engine.snapshot import ProbeSnapshot
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.instances import InstanceRow, instance_rows
from probetui.presentation.probe.detail import last_run_line, output_text
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.spans import LABEL, Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.sentence import stamped_sentence

_LABEL = LABEL
_MORE = 2
"""Rows of what was printed that are always kept free, if there is more than one."""


def tick_rows(
    subject: Subject, view: View, width: int, height: int
) -> list[InstanceRow]:
    """Return the ticks of the last instances, one row for each."""
    period = 1 if subject.probe is None else subject.probe.probe.period_seconds
    rows = instance_rows(
        subject.ticks,
        subject.history,
        view,
        width,
        max(height, 1),
        cursor=subject.cursor,
        period_seconds=period,
    )
    return rows or [InstanceRow(line(muted("No tick yet.")))]


def tick_panel(
    subject: Subject, view: View, width: int, height: int
) -> list[InstanceRow]:
    """Return the ticks of the last instances, and below them what was printed."""
    output = last_output_lines(subject, view, height)
    rows = tick_rows(subject, view, width, height - min(len(output), _MORE) - 1)
    rows = rows[-max(height - min(len(output), _MORE), 1) :]
    return [*rows, *map(InstanceRow, output[: height - len(rows)])]


def last_output_lines(subject: Subject, view: View, most: int) -> list[Line]:
    """Return what the tick that is looked at printed, else what the last probe did."""
    tick = None if subject.probe is None else subject.probe.last_run
    label = "last output"
    if subject.cursor is not None:
        tick = subject.tick
        label = "" if tick is None else f"tick #{tick.n}"
    if tick is None:
        return []
    at = f"{view.times.clock(tick.started_at)}  " if subject.cursor is not None else ""
    rows = []
    if tick.attempts:
        rows = all_lines(view.mask.text(output_text(tick.attempts[-1])))
    shown = [
        line(muted(label.ljust(_LABEL)), at, *last_run_line(tick, view)),
        *(line(" " * _LABEL, Span(row, Role.STRONG)) for row in rows),
    ]
    if most < len(shown) or len(rows) == 1:
        shown[:2] = [line(*shown[0], "  ", *shown[1][1:])] if rows else shown[:1]
    return shown[:most]


def why_line(subject: Subject, view: View) -> Line:
    """Return why the tick that is looked at did what it did, in one sentence."""
    if subject.probe is None:
        return line(muted("No probe: only its own exit can restart this container."))
    if subject.tick is None:
        return line(muted("No tick yet."))
    return line(stamped_sentence(subject.tick, view))


def other_title(subject: Subject) -> str:
    """Return the names of the container's other probes: `readiness and startup`."""
    return " and ".join(probe.key.probe_type.lower() for probe in other_probes(subject))


def other_probes(subject: Subject) -> list[ProbeSnapshot]:
    """Return the probes of the container besides the one that is shown."""
    return [probe for probe in subject.container.probes if probe is not subject.probe]
