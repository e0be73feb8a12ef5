"""Lanes in characters: the height of a cell is the run of failures in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.lanes import CellKind, LaneAxis, LaneCell, TimedRun
from probetui.durations import format_age
from probetui.engine.snapshot import ProbeSnapshot
from probetui.k8s.probe import ProbeType
from probetui.presentation.text.spans import Line, Role, Span, muted

_HIGHEST_DIGIT = 9
_ROWS_PER_LEVEL = 2
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
    kill_ahead: str = "k"
    user: str = "*"
    threshold: str = "─"
    level: str = "┄"

    @property
    def is_ascii(self) -> bool:
        """Whether runs are digits."""
        return self.heights is None


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
    threshold="-",
    level=" ",
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


def lane_legend(marks: LaneMarks) -> tuple[tuple[str, str], ...]:
    """Return every character of a lane with its meaning."""
    rise = marks.heights or "123"
    run = f"{rise[len(rise) // 4]} {rise[len(rise) // 2]} {rise[-1]}"
    return (
        (marks.calm, "success"),
        (run, "failures in a row, full at the threshold"),
        (marks.errored, "error, not counted"),
        (marks.unprobed, "not probed"),
        (marks.kill, "kill"),
        (marks.grace, "grace"),
        (marks.exit, "exit"),
        (marks.start, "start"),
        (marks.wait, "back-off, or waiting"),
        (marks.range, "restart in this range"),
        (marks.user, "yours"),
        (marks.kill_ahead, "kill to come, as all that is faint"),
    )


def lane_line(
    cells: Sequence[LaneCell], marks: LaneMarks, cursor: int | None = None
) -> Line:
    """Return a lane as a line, one character a cell; that of the cursor reversed."""
    spans = (
        lane_span(cell, marks, is_chosen=index == cursor)
        for index, cell in enumerate(cells)
    )
    return tuple(_joined(spans))


def _repeated(span: Span, times: int) -> Span:
    return span if times == 1 else span._replace(text=span.text * times)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans of one look in a row as one."""
    for look, alike in groupby(spans, key=lambda span: span[1:]):
        yield Span("".join(span.text for span in alike), *look)


def lane_span(cell: LaneCell, marks: LaneMarks, *, is_chosen: bool = False) -> Span:
    """Return one cell."""
    kind = cell.kind
    if kind is CellKind.EMPTY:
        return Span(" ", is_reversed=is_chosen)
    is_faint = cell.is_future or not _is_bright(cell)
    if cell.is_by_user and kind in {CellKind.CALM, CellKind.ERRORED}:
        return Span(marks.user, Role.ACCENT, is_reversed=is_chosen)
    if kind is CellKind.FAILING:
        is_full = cell.level >= cell.threshold
        role = Role.ERROR if is_full else Role.WARNING
        if cell.is_by_user:
            role = Role.ACCENT
        text = _height(cell, marks)
        return Span(text, role, is_reversed=is_chosen, is_faint=is_faint)
    if kind is CellKind.KILL and cell.is_future:
        # Not faint either: then it is not legible in every theme.
        return Span(marks.kill_ahead, Role.ERROR, is_reversed=is_chosen)
    text = getattr(marks, kind.value)
    if kind is CellKind.CALM and cell.is_tick:
        text = marks.calm_tick
    return Span(
        text,
        _ROLES[kind],
        is_reversed=is_chosen != (kind is CellKind.KILL),
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


def plot_lines(
    cells: Sequence[LaneCell], marks: LaneMarks, rows: int, levels: int = 0
) -> list[Line]:
    """Return a lane so many rows high, the highest first; a full row is the threshold.

    What has no height is drawn in the lowest row. With `levels` runs up to the
    threshold there is a line at it, and one at each lower level if they have room.
    """
    lines = dict.fromkeys(level_rows(rows, levels), marks.level)
    lines |= {0: marks.threshold} if levels else {}
    full = max(levels, 1)
    runs = [(cell, sum(1 for _ in alike)) for cell, alike in groupby(cells)]
    return [
        tuple(
            _joined(
                _repeated(
                    _plot_span(
                        cell, marks, rows - 1 - row, rows, lines.get(row, " "), full
                    ),
                    times,
                )
                for cell, times in runs
            )
        )
        for row in range(rows)
    ]


def threshold_label(probe: ProbeSnapshot) -> str:
    """Return what failures lead to, beside the threshold of the plot."""
    is_readiness = probe.key.probe_type is ProbeType.READINESS
    effect = "not ready" if is_readiness else "kill"
    return f"{probe.probe.failure_threshold} = {effect} "


def level_rows(rows: int, levels: int) -> dict[int, int]:
    """Return the levels below the threshold by their rows in a plot, from the top.

    Empty if the plot is too low to tell them apart.
    """
    if levels < 1 or rows < _ROWS_PER_LEVEL * levels:
        return {}
    return {rows - round(rows * level / levels): level for level in range(1, levels)}


def _plot_span(
    cell: LaneCell, marks: LaneMarks, row: int, rows: int, blank: str, full: int
) -> Span:
    """Return a cell of a plot in a row counted from the lowest one.

    `full` failures are the threshold.
    """
    empty = Span(blank, Role.MUTED, is_faint=True) if blank.strip() else Span(blank)
    if cell.kind is CellKind.KILL and row < rows - 1:
        # A kill is a failure at the threshold.
        cell = replace(cell, kind=CellKind.FAILING, level=full, threshold=full)
    if cell.kind is CellKind.KILL:
        return lane_span(cell, marks)
    if cell.kind is not CellKind.FAILING:
        return lane_span(cell, marks) if row == 0 else empty
    steps = 1 if marks.heights is None else len(marks.heights)
    filled = cell.level * rows * steps / max(cell.threshold, 1) - row * steps
    if filled <= 0:
        return empty
    shown = lane_span(cell, marks)
    if marks.heights is None:
        return shown
    step = min(int(filled + 0.5), steps)
    return shown._replace(text=marks.heights[step - 1]) if step else empty


class LatencyCell(Struct, frozen=True):
    """How long the slowest probe of a cell took, in parts of its time-out."""

    part: float
    is_failure: bool


def slowest_probes(
    latencies: Iterable[TimedRun], axis: LaneAxis, timeout_seconds: int
) -> list[LatencyCell | None]:
    """Return the longest latency in each cell of an axis, None where nothing probed."""
    slowest: list[LatencyCell | None] = [None] * axis.width
    for at, seconds, is_failure in latencies:
        index = axis.index(at)
        if not 0 <= index < axis.width:
            continue
        part = seconds / max(timeout_seconds, 1)
        known = slowest[index]
        if known is None or part > known.part:
            slowest[index] = LatencyCell(part, is_failure)
    return slowest


def latency_lines(
    cells: Sequence[LatencyCell | None], marks: LaneMarks, rows: int
) -> list[Line]:
    """Return latencies as columns, the highest row first, whose top is the time-out."""
    return [
        tuple(
            _joined(
                _latency_span(cell, marks, rows - 1 - row, rows, is_top=row == 0)
                for cell in cells
            )
        )
        for row in range(rows)
    ]


def _latency_span(
    cell: LatencyCell | None, marks: LaneMarks, row: int, rows: int, *, is_top: bool
) -> Span:
    blank = Span(marks.threshold, Role.MUTED, is_faint=True) if is_top else Span(" ")
    if cell is None:
        return blank
    role = Role.WARNING if cell.is_failure else Role.ACCENT
    filled = min(cell.part, 1.0) * rows - row
    if marks.heights is None:
        return Span("#", role) if filled > 0 else blank
    if filled <= 0:
        return blank
    step = min(max(round(filled * len(marks.heights)), 1), len(marks.heights))
    return Span(marks.heights[step - 1], role)


_PAST_STATES = {
    "waiting": ("Waiting", Role.ERROR),
    "running": ("Running", Role.PLAIN),
    "stopping": ("Stopping", Role.ERROR),
    "ended": ("Exited", Role.MUTED),
}


def past_state(life: str, age: str) -> Line:
    """Return the state of a container that is past: `Running 12s`."""
    word, role = _PAST_STATES[life]
    return (Span(f"{word} {age}", role),)


def past_run(cell: LaneCell) -> Line:
    """Return what a probe had found at an instant: its run, or nothing."""
    match cell.kind:
        case CellKind.FAILING:
            is_full = cell.level >= cell.threshold
            role = Role.ERROR if is_full else Role.WARNING
            return (Span(f"failing {cell.level}/{cell.threshold}", role),)
        case CellKind.CALM:
            return (Span("ok", Role.SUCCESS),)
        case CellKind.ERRORED:
            return (Span("error", Role.WARNING),)
        case _:
            return (muted("not probed"),)


def axis_line(axis: LaneAxis) -> Line:
    """Return the labels of an axis: `-20s`, `now`, `+10s`."""
    labels: dict[int, str] = {}
    # Labels move with the axis, which does so once a second at most.
    at_now = axis.index(axis.now // 1)
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
