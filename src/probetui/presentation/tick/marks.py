"""The marks of ticks in a strip, in Unicode and in ASCII."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from probetui.analysis.timeline import TickMark, classify_tick
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import TickEntry
from probetui.kubelet.outcome import Result
from probetui.presentation.text.spans import Line, Role, Span, text_of


class MarkSet(Struct, frozen=True):
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
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧"
    cursor: str = "▌"

    @property
    def is_ascii(self) -> bool:
        """Whether every mark is an ASCII character."""
        return self.bar.isascii()


UNICODE = MarkSet()
ASCII = MarkSet(
    success="+",
    failure="x",
    out_of_schedule="'",
    empty=".",
    bar="#",
    bar_empty=".",
    ellipsis="~",
    newline=" ",
    spinner="|/-\\",
    cursor=">",
)


def result_mark(result: Result | None, marks: MarkSet) -> Span:
    """Return the mark of what is believed, or of the result that counts."""
    match result:
        case Result.SUCCESS:
            return Span(marks.success, Role.SUCCESS)
        case Result.FAILURE:
            return Span(marks.failure, Role.ERROR)
        case _:
            return Span(marks.empty, Role.MUTED)


_ROLES = {
    "success": Role.SUCCESS,
    "failure": Role.ERROR,
    "warning": Role.WARNING,
    "errored": Role.ACCENT,
    "delay": Role.MUTED,
    "gate": Role.MUTED,
    "hold": Role.HOLD,
    "not_running": Role.MUTED,
    "last_tick": Role.MUTED,
}


def mark_span(tick: TickEntry, marks: MarkSet) -> Span:
    """Return the one character for what a tick came to."""
    return _mark(classify_tick(tick), marks)


def _mark(looks: TickMark, marks: MarkSet) -> Span:
    is_underlined = looks.is_out_of_schedule and not marks.out_of_schedule
    return Span(getattr(marks, looks.code), _ROLES[looks.code], is_underlined)


class PlacedMark(NamedTuple):
    """The marks of one tick in a strip: which tick, and where they begin.

    `mark_column` is that of the tick's own mark, behind that of a new container.
    """

    tick: int
    column: int
    mark_column: int
    spans: Line


def place_marks(
    mark_at: Callable[[int], TickMark],
    indexes: range,
    marks: MarkSet,
    width: int,
    *,
    first: int = 0,
) -> tuple[PlacedMark, ...]:
    """Return the newest ticks of a range that fit into `width` cells, oldest first.

    `mark_at` is asked for no more of them than fit. A new container is marked where
    it begins, but for the tick `first`, before which there was nothing.
    """
    groups: list[tuple[int, Line, int]] = []
    room = width
    for index in reversed(indexes):
        looks = mark_at(index)
        is_after_another = looks.is_new_container and index != first
        group = tuple(_group(looks, marks, is_after_another=is_after_another))
        room -= len(text_of(group))
        if room < 0:
            break
        before = len(marks.new_container) if is_after_another else 0
        groups.append((index, group, before))
    placed, column = [], 0
    for index, group, before in reversed(groups):
        placed.append(PlacedMark(index, column, column + before, group))
        column += len(text_of(group))
    return tuple(placed)


def strip(history: Sequence[TickEntry], marks: MarkSet, width: int) -> Line:
    """Return one mark per tick, newest on the right, as many as fit."""
    looks = [classify_tick(entry) for entry in history]
    placed = place_marks(looks.__getitem__, range(len(looks)), marks, width)
    return join_marks(placed)


def join_marks(placed: Iterable[PlacedMark]) -> Line:
    """Return marks as one line; neighbours that look the same are one span."""
    return _merged(span for mark in placed for span in mark.spans)


def _group(
    looks: TickMark, marks: MarkSet, *, is_after_another: bool
) -> Iterable[Span]:
    if is_after_another:
        yield Span(marks.new_container)
    mark = _mark(looks, marks)
    yield mark
    if marks.out_of_schedule and looks.is_out_of_schedule:
        yield Span(marks.out_of_schedule, mark.role)
    if looks.is_injected:
        yield Span(marks.injected, Role.ACCENT)
    if looks.is_kill:
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


def mark_legend(marks: MarkSet) -> tuple[tuple[str, str], ...]:
    """Return every mark and what it stands for."""
    out_of_schedule = marks.out_of_schedule or "underlined"
    return (
        (marks.success, "success"),
        (marks.failure, "failure"),
        (marks.errored, "error, not counted"),
        (marks.warning, "warning, counts as success"),
        (marks.delay, "skipped: initial delay"),
        (marks.gate, "skipped: startup gate"),
        (marks.hold, "skipped: on hold"),
        (marks.not_running, "skipped: no running container"),
        (marks.kill, "this tick caused a kill"),
        (marks.injected, "after a mark: injected or delayed"),
        (marks.new_container, "new container from here on"),
        (marks.last_tick, "the worker's last tick"),
        (out_of_schedule, "probed out of schedule"),
    )
