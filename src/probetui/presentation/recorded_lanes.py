"""The lanes of a record that is over, for a glance at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from probetui.analysis.lanes import CELL_SECONDS, LaneAxis, Lanes
from probetui.kubelet.journal import ContainerEntry, JournalEntry, TickEntry
from probetui.presentation.lanes import LaneMarks, axis_line, lane_line
from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Span, line, muted, strong

_MOST_OF_WIDTH = 3
"""A name takes no more than one part of so many of the width."""


class RecordedLanes:
    """The lanes of a record.

    Args:
        entries: its journal.
        pods: namespace and name of each pod by UID.
        started_at: its first instant.
        ended_at: its last instant.
    """

    def __init__(
        self,
        entries: Iterable[JournalEntry],
        pods: Mapping[str, tuple[str, str]],
        started_at: datetime,
        ended_at: datetime,
    ) -> None:
        self._lanes = Lanes()
        self._names: dict[tuple[str, str], str] = {}
        for entry in entries:
            self._lanes.add_entries((entry,))
            if isinstance(entry, ContainerEntry):
                place = entry.pod_uid, entry.container_name
            elif isinstance(entry, TickEntry):
                place = entry.key.pod_uid, entry.key.container_name
            else:
                continue
            _, pod = pods.get(place[0], ("", place[0]))
            self._names.setdefault(place, one_line(f"{pod}/{place[1]}"))
        self._span = (started_at.timestamp(), ended_at.timestamp())

    def lines(self, width: int, marks: LaneMarks) -> Iterator[Line]:
        """Yield the axis and a lane for each container, in rows of so many cells."""
        if not self._names:
            yield line(muted("Nothing was started."))
            return
        longest = max(map(len, self._names.values()))
        indent = min(longest, width // _MOST_OF_WIDTH) + 1
        axis = self._axis(max(width - indent, 1))
        labels = (
            span._replace(text="end") if span.text == "now" else span
            for span in axis_line(axis)
        )
        yield line(Span(" " * indent), *labels)
        for place, name in self._names.items():
            cells = self._lanes.past(axis, *place).container
            shown = name[: indent - 1].ljust(indent)
            yield line(strong(shown), *lane_line(cells, marks))

    def _axis(self, width: int) -> LaneAxis:
        """Return the axis on which all of it fits, and that ends with it."""
        first, last = self._span
        seconds = max((last - first) / max(width - 2, 1), CELL_SECONDS[0])
        begin = (last // seconds - width + 1) * seconds
        return LaneAxis(begin, seconds, width, last)
