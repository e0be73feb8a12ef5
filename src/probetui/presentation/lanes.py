"""Lanes in characters: the height of a cell is the run of failures in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.lanes import CellKind, LaneAxis, LaneCell
from probetui.durations import format_age
from probetui.presentation.text.spans import Line, Role, Span, muted

_HIGHEST_DIGIT = 9
_LABEL_ROOM = 10
"""The cells from one label of the axis to the next."""


class LaneMarks(Struct, frozen=True):
    """The characters of the kinds of cells.

    `heights` are those of failures from low to high; None draws the run as a digit.
    `calm_tick` is a success, `calm` the time until the next one.
    """

    heights: str | None = "▁▂▃▄▅▆▇█"
    calm: str = "▁"
    calm_tick: str = "▁"
    wait: str = "░"
    range: str = "╌"
    unprobed: str = "┈"
    start: str = "▏"
    errored: str = "!"
    grace: str = "▒"
    exit: str = "╳"  # noqa: RUF001  # a crossing, as high as a line
    kill: str = "K"
    user: str = "*"


UNICODE_LANES = LaneMarks()
ASCII_LANES = LaneMarks(
    heights=None,
    calm="_",
    calm_tick="-",
    wait="~",
    range="=",
    unprobed=".",
    start="|",
    grace="%",
    exit="X",
)

_ROLES = {
    CellKind.WAIT: Role.MUTED,
    CellKind.RANGE: Role.ACCENT,
    CellKind.UNPROBED: Role.MUTED,
    CellKind.CALM: Role.SUCCESS,
    CellKind.START: Role.STRONG,
    CellKind.ERRORED: Role.WARNING,
    CellKind.GRACE: Role.ERROR,
    CellKind.EXIT: Role.ERROR,
    CellKind.KILL: Role.KILL,
}


def lane_marks(*, is_ascii: bool) -> LaneMarks:
    """Return the characters of lanes."""
    return ASCII_LANES if is_ascii else UNICODE_LANES


def lane_line(
    cells: Sequence[LaneCell], marks: LaneMarks, cursor: int | None = None
) -> Line:
    """Return a lane as a line, one character a cell; that of the cursor reversed."""
    spans = [
        lane_span(cell, marks, is_chosen=index == cursor)
        for index, cell in enumerate(cells)
    ]
    return tuple(_joined(spans))


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans of one look in a row as one."""
    for look, alike in groupby(spans, key=lambda span: span[1:]):
        yield Span("".join(span.text for span in alike), *look)


def lane_span(cell: LaneCell, marks: LaneMarks, *, is_chosen: bool = False) -> Span:
    """Return one cell."""
    kind = cell.kind
    if kind is CellKind.EMPTY:
        return Span(" ", is_reversed=is_chosen)
    # The kill to come is what matters most: faint, it is not legible in every theme.
    is_faint = kind is not CellKind.KILL and (cell.is_future or not _is_bright(cell))
    if cell.is_by_user and kind in {CellKind.CALM, CellKind.ERRORED}:
        return Span(marks.user, Role.ACCENT, is_reversed=is_chosen)
    if kind is CellKind.FAILING:
        is_full = cell.level >= cell.threshold
        role = Role.ERROR if is_full else Role.WARNING
        if cell.is_by_user:
            role = Role.ACCENT
        text = _height(cell, marks)
        return Span(text, role, is_reversed=is_chosen, is_faint=is_faint)
    text = getattr(marks, kind.value)
    if kind is CellKind.CALM and cell.is_tick:
        text = marks.calm_tick
    is_kill = kind is CellKind.KILL and not cell.is_future
    return Span(
        text,
        _ROLES[kind],
        is_reversed=is_chosen != is_kill,
        is_faint=is_faint,
    )


def _is_bright(cell: LaneCell) -> bool:
    """Return whether something happened in a cell, and nothing only goes on."""
    if cell.kind in {CellKind.CALM, CellKind.FAILING}:
        return cell.is_tick
    return cell.kind is not CellKind.UNPROBED


def _height(cell: LaneCell, marks: LaneMarks) -> str:
    if marks.heights is None:
        return str(min(cell.level, _HIGHEST_DIGIT))
    steps = len(marks.heights)
    # Half a cell at least, so that a first failure is not read as a success.
    least = steps // 4
    step = max(-(-cell.level * steps // max(cell.threshold, 1)), least)
    return marks.heights[min(step, steps) - 1]


def plot_lines(cells: Sequence[LaneCell], marks: LaneMarks, rows: int) -> list[Line]:
    """Return a lane so many rows high, the highest first; a full row is the threshold.

    What has no height is drawn in the lowest row.
    """
    return [
        tuple(_joined(_plot_span(cell, marks, row, rows) for cell in cells))
        for row in reversed(range(rows))
    ]


def _plot_span(cell: LaneCell, marks: LaneMarks, row: int, rows: int) -> Span:
    if cell.kind is CellKind.KILL and row < rows - 1:
        # A kill is a failure at the threshold.
        cell = replace(cell, kind=CellKind.FAILING, level=1, threshold=1)
    if cell.kind is CellKind.KILL:
        return lane_span(cell, marks)
    if cell.kind is not CellKind.FAILING:
        return lane_span(cell, marks) if row == 0 else Span(" ")
    steps = 1 if marks.heights is None else len(marks.heights)
    filled = cell.level * rows * steps / max(cell.threshold, 1) - row * steps
    if filled <= 0:
        return Span(" ")
    shown = lane_span(cell, marks)
    if marks.heights is None:
        return shown
    step = min(int(filled + 0.5), steps)
    return shown._replace(text=marks.heights[step - 1] if step else " ")


def axis_line(axis: LaneAxis) -> Line:
    """Return the labels of an axis: `-20s`, `now`, `+10s`."""
    labels: dict[int, str] = {}
    at_now = axis.now_index
    for distance in range(-(at_now // _LABEL_ROOM), axis.width // _LABEL_ROOM + 1):
        index = at_now + distance * _LABEL_ROOM
        away = timedelta(seconds=abs(distance) * _LABEL_ROOM * axis.cell_seconds)
        sign = "-" if distance < 0 else "+"
        labels[index] = f"{sign}{format_age(away)}" if distance else "now"
    spans: list[Span] = []
    column = 0
    for index, text in labels.items():
        start = index - len(text) + 1
        if start < column or index >= axis.width:
            continue
        spans.append(Span(" " * (start - column)))
        role = Role.STRONG if index == at_now else Role.MUTED
        spans.append(Span(text, role))
        column = index + 1
    spans.append(muted(" " * (axis.width - column)))
    return tuple(spans)
