"""The marks that stand for ticks, in Unicode and in ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import Action, Skip, TickEntry, Trigger
from probetui.kubelet.outcome import ProbeResult, Result
from probetui.presentation.spans import Line, Role, Span, text_of


@dataclass(frozen=True, slots=True)
class Marks:
    """One character for each thing that a tick can come to, and for gauges.

    `out_of_schedule` follows a mark that nothing underlines.
    """

    success: str = "✓"
    failure: str = "✗"
    warning: str = "w"
    errored: str = "!"
    delay: str = "d"
    gate: str = "g"
    hold: str = "h"
    not_running: str = "n"
    last_tick: str = "e"
    kill: str = "K"
    new_container: str = "|"
    injected: str = "*"
    out_of_schedule: str = ""
    empty: str = "·"
    bar: str = "█"
    bar_empty: str = "░"
    ellipsis: str = "…"
    newline: str = "⏎"


UNICODE = Marks()
ASCII = Marks(
    success="+",
    failure="x",
    out_of_schedule="'",
    empty=".",
    bar="#",
    bar_empty="-",
    ellipsis="~",
    newline=" ",
)

_SKIPS = {
    Skip.NO_STATUS: "not_running",
    Skip.CONTAINER_MISSING: "not_running",
    Skip.NOT_RUNNING: "not_running",
    Skip.ON_HOLD: "hold",
    Skip.INITIAL_DELAY: "delay",
    Skip.NOT_STARTED: "gate",
    Skip.ALREADY_STARTED: "gate",
}


def result_mark(result: Result | None, marks: Marks) -> Span:
    """Return the mark of what is believed, or of the result that counts."""
    match result:
        case Result.SUCCESS:
            return Span(marks.success, Role.SUCCESS)
        case Result.FAILURE:
            return Span(marks.failure, Role.ERROR)
        case _:
            return Span(marks.empty, Role.MUTED)


def tick_mark(tick: TickEntry, marks: Marks) -> Span:
    """Return the one character for what a tick came to."""
    is_underlined = tick.trigger is not Trigger.PERIODIC and not marks.out_of_schedule
    if tick.skip is not None:
        role = Role.HOLD if tick.skip is Skip.ON_HOLD else Role.MUTED
        return Span(getattr(marks, _SKIPS[tick.skip]), role, is_underlined)
    if tick.exit is not None:
        return Span(marks.last_tick, Role.MUTED)
    if tick.result is None:
        return Span(marks.errored, Role.ACCENT, is_underlined)
    if is_warning(tick):
        return Span(marks.warning, Role.WARNING, is_underlined)
    mark = result_mark(tick.result, marks)
    return Span(mark.text, mark.role, is_underlined)


def is_warning(tick: TickEntry) -> bool:
    """Tell whether a tick succeeded with a warning (a redirect elsewhere)."""
    return bool(tick.attempts) and tick.attempts[-1].result is ProbeResult.WARNING


class Shown(NamedTuple):
    """A tick in a strip and the column of its first character."""

    column: int
    tick: TickEntry
    spans: Line


def shown_ticks(
    history: Sequence[TickEntry], marks: Marks, width: int
) -> tuple[Shown, ...]:
    """Return the newest ticks that fit into `width` cells, oldest first.

    A new container is marked where it begins, unless nothing is shown before it.
    """
    groups: list[tuple[TickEntry, Line]] = []
    room = width
    for index in range(len(history) - 1, -1, -1):
        group = tuple(_group(history[index], marks, is_first=index == 0))
        room -= len(text_of(group))
        if room < 0:
            break
        groups.append((history[index], group))
    shown, column = [], 0
    for tick, group in reversed(groups):
        shown.append(Shown(column, tick, group))
        column += len(text_of(group))
    return tuple(shown)


def strip(history: Sequence[TickEntry], marks: Marks, width: int) -> Line:
    """Return one mark per tick, newest on the right, as many as fit."""
    shown = shown_ticks(history, marks, width)
    return _merged(span for each in shown for span in each.spans)


def _group(tick: TickEntry, marks: Marks, *, is_first: bool) -> Iterable[Span]:
    if tick.new_container and not is_first:
        yield Span(marks.new_container)
    mark = tick_mark(tick, marks)
    yield mark
    if marks.out_of_schedule and tick.trigger is not Trigger.PERIODIC:
        yield Span(marks.out_of_schedule, mark.role)
    if tick.injected:
        yield Span(marks.injected, Role.ACCENT)
    if tick.action is Action.KILL:
        yield Span(marks.kill, Role.KILL)


def _merged(spans: Iterable[Span]) -> Line:
    """Join neighbours that look the same, so that a strip is a few spans only."""
    merged: list[Span] = []
    for span in spans:
        if merged and merged[-1][1:] == span[1:]:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + span.text)
        else:
            merged.append(span)
    return tuple(merged)


PROBE_LETTERS = {
    ProbeType.LIVENESS: "L",
    ProbeType.READINESS: "R",
    ProbeType.STARTUP: "S",
}


def legend(marks: Marks) -> tuple[tuple[str, str], ...]:
    """Return every mark and what it stands for."""
    out_of_schedule = marks.out_of_schedule or "underlined"
    return (
        (marks.success, "success"),
        (marks.failure, "failure"),
        (marks.errored, "errored, thrown away"),
        (marks.warning, "warning, counts as success"),
        (marks.delay, "skipped: initial delay"),
        (marks.gate, "skipped: startup gate"),
        (marks.hold, "skipped: on hold"),
        (marks.not_running, "skipped: no running container"),
        (marks.kill, "this tick caused a kill"),
        (marks.new_container, "new container from here on"),
        (marks.last_tick, "the worker's last tick"),
        (out_of_schedule, "probed out of schedule"),
    )
