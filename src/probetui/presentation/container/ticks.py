"""The ticks of a container's probe: one row per instance, what was printed, and why."""

from __future__ import annotations

from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.status import Waiting
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.container.detail import Subject
from probetui.presentation.container.instances import InstanceRow, instance_rows
from probetui.presentation.container.status_lines import unprobed_text
from probetui.presentation.probe.detail import last_run_line, output_text
from probetui.presentation.text.cells import all_lines
from probetui.presentation.text.spans import LABEL, Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.presentation.tick.report import TickVerdict, report_tick

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_TEENS = range(11, 14)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """Return `first` to `tenth`, then `11th`, `22nd`."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    ending = "th" if number % 100 in _TEENS else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def tick_sentence(tick: TickEntry) -> str:
    """Return what a tick found and why that led to what it did, as a sentence."""
    report = report_tick(tick)
    counted = f"{_which(tick)} in a row"
    threshold = tick.run.threshold
    match report.verdict:
        case TickVerdict.NOT_PROBED:
            return f"{report.summary}."
        case TickVerdict.NOT_COUNTED:
            return (
                f"error after {len(tick.attempts)} attempts; "
                "not counted, so nothing was done."
            )
        case TickVerdict.IGNORED:
            return f"{counted}; {threshold} are needed, so nothing was done."
        case TickVerdict.UNCHANGED:
            return f"{counted}; {tick.result} is stored already."
        case TickVerdict.MUTED:
            return f"{counted}, of {threshold}; muted, so nothing was done."
        case TickVerdict.WATCH_ONLY:
            return f"{counted}, of {threshold}; only watched, so nothing was done."
        case TickVerdict.ACTED:
            return f"{counted}, of {threshold}: {report.effect.text}."


def _which(tick: TickEntry) -> str:
    word = "failure" if tick.result is Result.FAILURE else "success"
    word = f"injected {word}" if tick.overridden.injected else word
    if tick.run.doubt:
        return f"{word}, at least {ordinal(tick.run.count)}"
    return f"{ordinal(tick.run.count)} {word}"


def stamped_sentence(tick: TickEntry, view: View) -> str:
    """Return the same behind the tick's time."""
    return f"{view.times.stamp(tick.timing.started_at)}  {tick_sentence(tick)}"


_LABEL = LABEL
_MORE = 2
"""Rows of what was printed that are always kept free, if there is more than one."""


def tick_rows(
    subject: Subject, view: View, width: int, height: int
) -> list[InstanceRow]:
    """Return the ticks of the last instances, one row for each."""
    period = None if subject.probe is None else subject.probe.probe.period_seconds
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
    at = (
        f"{view.times.clock(tick.timing.started_at)}  "
        if subject.cursor is not None
        else ""
    )
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
    """Return why there is no container, or why the selected tick did what it did."""
    if why_absent := _why_absent(subject, view):
        return line(why_absent)
    if subject.probe is None:
        about = unprobed_text(subject.pod, subject.container)
        return line(muted(f"No probe: {about}."))
    if subject.tick is None:
        return line(muted("No tick yet."))
    return line(stamped_sentence(subject.tick, view))


def _why_absent(subject: Subject, view: View) -> str:
    """Return why no instance was ever created, empty if one was or is on its way."""
    status = subject.container.status
    is_waiting = status is not None and isinstance(status.state, Waiting)
    if subject.past is None or subject.cursor is not None or not is_waiting:
        return ""
    if subject.history.instances or subject.container.container is next(
        subject.pod.pod.all_containers()
    ):
        return ""
    from probetui.presentation.cause.obstacle import obstacle_sentence

    pod, container = subject.pod.pod, subject.container.container
    return obstacle_sentence(pod, container, subject.past, view)


def other_title(subject: Subject) -> str:
    """Return the names of the container's other probes: `readiness and startup`."""
    return " and ".join(probe.key.probe_type.lower() for probe in other_probes(subject))


def other_probes(subject: Subject) -> list[ProbeSnapshot]:
    """Return the probes of the container besides the one that is shown."""
    return [probe for probe in subject.container.probes if probe is not subject.probe]
