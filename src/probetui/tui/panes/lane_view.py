"""Where lanes are on the screen, and what of them there is to see."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct, field

from probetui.analysis.lanes import (
    CELL_SECONDS,
    ContainerLanes,
    LaneAxis,
    LaneCell,
    Lanes,
    fitting_cell_seconds,
)
from probetui.durations import format_age
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, Snapshot
from probetui.presentation.lanes import LaneMarks, lane_marks, lane_span, past_state
from probetui.presentation.text.spans import EMPTY, Line
from probetui.presentation.text.view import View
from probetui.tui.styled_text import StyledLine, StyledSegment, styled_line

_CELLS_PER_PERIOD = 4
"""Cells from one tick to the next of the quickest probe, where there are such cells."""

_SECONDS_SHOWN = 1
"""Ages of states are in whole seconds."""

_MOST_CELLS = 5_000
_styled_cells: defaultdict[tuple[bool, str], dict[LaneCell, StyledSegment]] = (
    defaultdict(dict)
)
"""How each cell looks, by whether it is of ASCII, and by what else rows look like."""


def styled_lane(
    cells: Sequence[LaneCell],
    marks: LaneMarks,
    cursor: int | None = None,
    also: str = "",
) -> StyledLine:
    """Return a lane as `styled_line(lane_line(...), also)` does.

    It is the larger part of a row, and drawn anew with every tick: it is made of the
    looks of its cells, without a span for each part.
    """
    if cursor is None or not 0 <= cursor < len(cells):
        return tuple(_styled_runs(cells, marks, also))
    chosen = lane_span(cells[cursor], marks, is_chosen=True)
    return (
        *_styled_runs(cells[:cursor], marks, also),
        *styled_line((chosen,), also),
        *_styled_runs(cells[cursor + 1 :], marks, also),
    )


def _styled_runs(
    cells: Sequence[LaneCell], marks: LaneMarks, also: str
) -> list[StyledSegment]:
    """Return segments, each of the cells in a row that have one look."""
    known = _styled_cells[marks.is_ascii, also]
    if len(known) > _MOST_CELLS:
        known.clear()
    runs: list[StyledSegment] = []
    last: LaneCell | None = None
    text = look = look_of_run = ""
    texts: list[str] = []
    for cell in cells:
        if cell is not last:
            last = cell
            styled = known.get(cell)
            if styled is None:
                [styled] = styled_line((lane_span(cell, marks),), also)
                known[cell] = styled
            text, look = styled
            if look != look_of_run:
                if texts:
                    runs.append(("".join(texts), look_of_run))
                look_of_run, texts = look, []
        texts.append(text)
    if texts:
        runs.append(("".join(texts), look_of_run))
    return runs


def default_cell_seconds(shortest_period: int, session: float, width: int) -> float:
    """Return the time of a cell with which the quickest probe has room to be seen.

    It is shorter where all that there has been fits before now.

    Args:
        shortest_period: the period of that probe, in seconds.
        session: how long the session has lasted, in seconds.
        width: the cells of a lane.
    """
    wanted = shortest_period / _CELLS_PER_PERIOD
    most = max(
        (seconds for seconds in CELL_SECONDS if seconds <= wanted),
        default=CELL_SECONDS[0],
    )
    return min(most, fitting_cell_seconds(session, width))


def other_cell_seconds(cell_seconds: float, step: int) -> float:
    """Return the next longer time of a cell, or with a step of -1 the next shorter."""
    index = CELL_SECONDS.index(cell_seconds) + step
    return CELL_SECONDS[max(0, min(index, len(CELL_SECONDS) - 1))]


class LaneView(Struct, frozen=True):
    """The lanes of a snapshot, on an axis that all of them share."""

    lanes: Lanes
    snapshot: Snapshot
    axis: LaneAxis
    marks: LaneMarks
    indent: int
    """The cells of a row before its lane."""

    at: datetime | None = None
    """The instant of the tick that is looked at, None for the newest."""

    known: dict[tuple[str, str], ContainerLanes] = field(default_factory=dict)
    """What was drawn already, by pod UID and container name: rows and probes share."""

    def cells(self, pod: PodSnapshot, container: ContainerSnapshot) -> ContainerLanes:
        """Return the lane of a container and those of its probes."""
        key = pod.pod.uid, container.container.name
        if key not in self.known:
            self.known[key] = self.lanes.cells(self.axis, self.snapshot, pod, container)
        return self.known[key]

    def state(self, pod: PodSnapshot, container: ContainerSnapshot) -> Line | None:
        """Return the state of a container at the instant that is looked at.

        None if that is now; empty if it is not known.
        """
        if self.at is None:
            return None
        life = self.lanes.life_at(pod.pod.uid, container.container.name, self.at)
        if life is None:
            return EMPTY
        word, since = life
        age = format_age(timedelta(seconds=self.at.timestamp() - since))
        return past_state(word, age)

    @property
    def token(self) -> object:
        """A cache key for rows: equal where those of an unchanged pod are."""
        axis = self.axis
        return (
            axis.start,
            axis.cell_seconds,
            axis.width,
            axis.now_index,
            axis.now // _SECONDS_SHOWN,
            self.snapshot.is_paused,
            self.at,
        )

    @property
    def cursor(self) -> int | None:
        """The cell of the tick that is looked at."""
        return None if self.at is None else self.axis.index(self.at.timestamp())


class LaneSource(Struct, frozen=True):
    """What lanes are drawn of; `at` is the instant of the selected tick, if any."""

    lanes: Lanes
    snapshot: Snapshot
    view: View
    at: datetime | None = None

    def on_axis(self, cell_seconds: float, indent: int, width: int) -> LaneView:
        """Return the lanes in rows of `width` cells, whose first `indent` are taken."""
        room = max(width - indent, 1)
        last = self.lanes.last if self.snapshot.is_paused else None
        axis = LaneAxis.around(self.view.now, cell_seconds, room, self.at, last=last)
        marks = lane_marks(is_ascii=self.view.marks.is_ascii)
        return LaneView(self.lanes, self.snapshot, axis, marks, indent, at=self.at)
