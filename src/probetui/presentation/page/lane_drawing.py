"""Lanes in SVG: the picture that the screen has, from the same cells.

Equal cells in a row are one mark, so that a day of successes is one rectangle. Places
are percentages: a lane is as wide as its reader has room, and letters keep their form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from msgspec import Struct

from probetui.analysis.lanes import CELL_SECONDS, CellKind, LaneAxis, LaneCell, instant
from probetui.presentation.page.elements import SVG, add
from probetui.presentation.text.view import TimeFormatter

LANE_HEIGHT = 24
_FLOOR = 21
"""Where successes lie, in pixels from above."""

_CALM_HEIGHT = 3
_LETTER_WIDTH = 11
_MOST_CELLS = 2400
_MOST_MARKS = 4000
_MOST_TICKS = 240
_MOST_TOLD = 24
_MOST_SECONDS = 1 << 40
_NAMES = {
    CellKind.WAIT: "waiting",
    CellKind.RANGE: "restart expected",
    CellKind.UNPROBED: "not probed",
    CellKind.CALM: "success",
    CellKind.START: "started",
    CellKind.ERRORED: "probe error, does not count",
    CellKind.FAILING: "failure",
    CellKind.GRACE: "stopping, grace period",
    CellKind.EXIT: "ended",
    CellKind.KILL: "stopped: SIGTERM",
}
LEGEND = (
    ("success", LaneCell(CellKind.CALM)),
    ("failures, as high as their run", LaneCell(CellKind.FAILING, 2, 3)),
    ("threshold reached", LaneCell(CellKind.FAILING, 3, 3)),
    ("error, does not count", LaneCell(CellKind.ERRORED)),
    ("stopped", LaneCell(CellKind.KILL)),
    ("grace period", LaneCell(CellKind.GRACE)),
    ("ended", LaneCell(CellKind.EXIT)),
    ("waiting, back-off", LaneCell(CellKind.WAIT)),
    ("started", LaneCell(CellKind.START)),
    ("not probed", LaneCell(CellKind.UNPROBED)),
)
"""What the marks mean."""


class LaneMark(Struct, frozen=True):
    """Equal cells in a row, by their numbers; `ticks` are those with a tick."""

    first: int
    last: int
    cell: LaneCell
    ticks: Sequence[int]


class DrawnLane(Struct, frozen=True):
    """A lane with its name; that of a probe is `nested` below its container's."""

    name: str
    cells: Sequence[LaneCell]
    is_nested: bool = False

    def marks(self) -> Iterator[LaneMark]:
        """Yield what is drawn, from left to right."""
        for _, pairs in groupby(enumerate(self.cells), key=_look):
            run = list(pairs)
            first, cell = run[0]
            if cell.kind is not CellKind.EMPTY:
                ticks = [index for index, cell in run if cell.is_tick]
                yield LaneMark(first, run[-1][0], cell, ticks)


def _look(numbered: tuple[int, LaneCell]) -> tuple[object, ...]:
    _, cell = numbered
    return cell.kind, cell.level, cell.threshold, cell.is_by_user, cell.is_future


def finer_axes(first: float, last: float) -> Iterator[LaneAxis]:
    """Yield axes that show a span of time, the finest first.

    Args:
        first: the beginning, in seconds since the epoch.
        last: the end.
    """
    for seconds in (*CELL_SECONDS, *_longer_cells()):
        width = int((last - first) / seconds) + 1
        if width <= _MOST_CELLS:
            yield LaneAxis(first, seconds, width, last)


def _longer_cells() -> Iterator[float]:
    seconds = CELL_SECONDS[-1]
    while seconds < _MOST_SECONDS:
        seconds *= 2
        yield seconds


def are_drawable(lanes: Sequence[DrawnLane]) -> bool:
    """Return whether lanes have few enough marks for one picture."""
    return sum(1 for lane in lanes for _ in lane.marks()) <= _MOST_MARKS


def draw_lane(
    parent: Element, lane: DrawnLane, axis: LaneAxis, times: TimeFormatter, number: int
) -> Element:
    """Add the picture of a lane, with its name and what it shows in words."""
    marks = list(lane.marks())
    title, description = f"lane-{number}", f"lane-{number}-shows"
    picture = add(
        parent,
        "svg",
        class_="lane",
        width="100%",
        height=str(LANE_HEIGHT),
        role="img",
        aria_labelledby=title,
        aria_describedby=description,
        xmlns=SVG,
    )
    add(picture, "title", lane.name, id=title)
    add(picture, "desc", _describe(marks, axis, times), id=description)
    inner = add(picture, "svg", class_="time", width="100%", height=str(LANE_HEIGHT))
    for mark in marks:
        _draw_mark(inner, mark, axis, _words(mark, axis, times))
    return picture


def _draw_mark(parent: Element, mark: LaneMark, axis: LaneAxis, text: str) -> None:
    left = _percent(mark.first, axis)
    width = _percent(mark.last + 1 - mark.first, axis)
    kind = _class_of(mark.cell)
    if mark.cell.kind is CellKind.KILL:
        badge = add(
            parent,
            "rect",
            class_=kind,
            x=left,
            width=str(_LETTER_WIDTH),
            y="1",
            height=str(_FLOOR),
        )
        _add_tooltip(badge, text)
        add(parent, "text", "K", class_="letter", x=left, y="16", dx="2")
        return
    if mark.cell.kind in {CellKind.START, CellKind.EXIT}:
        upright = add(
            parent, "line", class_=kind, x1=left, x2=left, y1="1", y2=str(_FLOOR + 1)
        )
        _add_tooltip(upright, text)
        return
    top, height = _extent(mark.cell)
    rectangle = add(
        parent,
        "rect",
        class_=kind,
        x=left,
        width=width,
        y=f"{top:g}",
        height=f"{height:g}",
    )
    _add_tooltip(rectangle, text)
    has_room = len(mark.ticks) <= min(_MOST_TICKS, mark.last - mark.first)
    if mark.cell.kind in {CellKind.CALM, CellKind.FAILING} and has_room:
        for tick in mark.ticks:
            add(
                parent,
                "rect",
                class_=f"{kind} tick",
                x=_percent(tick, axis),
                width=_percent(1, axis),
                y=f"{top:g}",
                height=f"{height:g}",
            )


def _add_tooltip(mark: Element, text: str) -> None:
    if text:
        add(mark, "title", text)


def _extent(cell: LaneCell) -> tuple[float, float]:
    """Return from where down a mark reaches, and how high it is, in pixels."""
    match cell.kind:
        case CellKind.FAILING:
            height = max(_FLOOR * cell.level / max(cell.threshold, 1), 5.0)
        case CellKind.GRACE:
            height = float(_FLOOR)
        case CellKind.WAIT | CellKind.ERRORED:
            height = 9.0
        case CellKind.CALM:
            height = float(_CALM_HEIGHT)
        case _:
            height = 1.5
    return _FLOOR + 1 - height, height


def _class_of(cell: LaneCell) -> str:
    kind = cell.kind.value
    if cell.kind is CellKind.FAILING and cell.level >= cell.threshold:
        kind = "full"
    return f"{kind} user" if cell.is_by_user else kind


def _percent(cells: int, axis: LaneAxis) -> str:
    return f"{round(100 * cells / axis.width, 3):g}%"


def _words(mark: LaneMark, axis: LaneAxis, times: TimeFormatter) -> str:
    """Return a mark in words: `08:12:58-08:13:03 failure 2 of 3`."""
    begin = times.clock(instant(axis.begin(mark.first)))
    end = times.clock(instant(min(axis.begin(mark.last + 1), axis.now)))
    when = begin if begin == end else f"{begin}-{end}"
    run = ""
    if mark.cell.kind is CellKind.FAILING:
        run = f" {mark.cell.level} of {mark.cell.threshold}"
    user = ", by the user" if mark.cell.is_by_user else ""
    return f"{when} {_NAMES[mark.cell.kind]}{run}{user}"


def _describe(marks: Sequence[LaneMark], axis: LaneAxis, times: TimeFormatter) -> str:
    told = [_words(mark, axis, times) for mark in marks[:_MOST_TOLD]]
    rest = len(marks) - len(told)
    more = [f"and {rest} more"] if rest else []
    return "; ".join([*told, *more]) or "nothing happened"


def draw_sample(parent: Element, cell: LaneCell) -> None:
    """Add a mark to a legend, without a name: a text stands beside it."""
    picture = add(
        parent,
        "svg",
        class_="sample",
        width="18",
        height=str(LANE_HEIGHT),
        aria_hidden="true",
        xmlns=SVG,
    )
    _draw_mark(picture, LaneMark(0, 0, cell, ()), LaneAxis(0, 1, 1, 0), "")


def draw_axis(
    parent: Element, axis: LaneAxis, times: TimeFormatter, labels: int
) -> Element:
    """Add the labels of an axis, evenly apart; those of lanes name the instants."""
    picture = add(
        parent,
        "svg",
        class_="axis",
        width="100%",
        height="18",
        aria_hidden="true",
        xmlns=SVG,
    )
    for number in range(labels + 1):
        at = instant(axis.start + (axis.end - axis.start) * number / labels)
        anchor = {0: "start", labels: "end"}.get(number, "middle")
        place = f"{100 * number / labels:g}%"
        add(picture, "text", times.clock(at), x=place, y="13", text_anchor=anchor)
    return picture
