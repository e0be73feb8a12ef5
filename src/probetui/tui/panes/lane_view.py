"""Where lanes are on the screen, and what of them there is to see."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from probetui.analysis.lanes import CELL_SECONDS, ContainerLanes, LaneAxis, Lanes
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot, Snapshot
from probetui.presentation.lanes import LaneMarks, lane_marks
from probetui.presentation.text.view import View

_CELLS_PER_PERIOD = 4
"""Cells from one tick to the next of the quickest probe, where there are such cells."""


def default_cell_seconds(pods: Sequence[PodSnapshot]) -> float:
    """Return the time of a cell with which the quickest probe has room to be seen."""
    periods = [
        probe.probe.period_seconds
        for pod in pods
        for container in pod.containers
        for probe in container.probes
    ]
    wanted = min(periods, default=_CELLS_PER_PERIOD) / _CELLS_PER_PERIOD
    return max(
        (seconds for seconds in CELL_SECONDS if seconds <= wanted),
        default=CELL_SECONDS[0],
    )


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

    def cells(self, pod: PodSnapshot, container: ContainerSnapshot) -> ContainerLanes:
        """Return the lane of a container and those of its probes."""
        return self.lanes.cells(self.axis, self.snapshot, pod, container)

    @property
    def cursor(self) -> int | None:
        """The cell of the tick that is looked at."""
        return None if self.at is None else self.axis.index(self.at.timestamp())


def lane_view(
    lanes: Lanes,
    snapshot: Snapshot,
    view: View,
    cell_seconds: float,
    indent: int,
    width: int,
    at: datetime | None,
) -> LaneView:
    """Return lanes of so many cells in all, the rows' beginnings included."""
    axis = LaneAxis.around(view.now, cell_seconds, max(width - indent, 1), at)
    marks = lane_marks(is_ascii=view.marks.is_ascii)
    return LaneView(lanes, snapshot, axis, marks, indent, at)
