"""The columns and rows of the list of containers, by its width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from probetui.analysis.lanes import LaneAxis
from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.k8s.probe import ProbeType
from probetui.presentation.container.exits import EXIT_CELLS
from probetui.presentation.container.health import container_health
from probetui.presentation.container.sorting import ContainerOrder
from probetui.presentation.container.table import (
    ROOM_FOR_STATES,
    container_cells,
    most_urgent_state,
)
from probetui.presentation.lanes import axis_line, past_run
from probetui.presentation.probe.cell import CELLS, probe_cell
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line, muted
from probetui.presentation.text.view import View
from probetui.tui.panes.lane_view import LaneView, styled_lane
from probetui.tui.styled_text import (
    CURSOR,
    TINTED_CURSORS,
    Column,
    StyledLine,
    fit,
    row,
    shortened,
    styled_line,
)

_MARKER, _SPACE = Column("", 2), Column("", 0)
_NAME, _RESTARTS = Column("NAME"), Column("RST", 3, is_right=True)
_STATE = Column("STATE", ROOM_FOR_STATES, keeps_end=True)
_LAST_EXIT, _NEXT = Column("LAST EXIT", EXIT_CELLS), Column("NEXT", 5, is_right=True)
_PROBES = (Column("LIVE", CELLS), Column("READY", CELLS), Column("START", CELLS))
_SHORT_STATE, _SHORT_READY, _SHORT_START = 13, 5, 6

_ROOM_FOR_START = 62
_ROOM_FOR_STATES = 72
_ROOM_FOR_PROBES = 84
_ROOM_FOR_LONG_STATES = 96
_ROOM_FOR_EXITS = 112

_BARE = (
    Column("", 1),
    Column(""),
    Column("", 17, keeps_end=True),
    Column("", 5, is_right=True),
)
_ORDERS = {
    "NAME": ContainerOrder.NAME,
    "RST": ContainerOrder.RESTARTS,
    "NEXT": ContainerOrder.NEXT,
}
"""The order for a click on a heading; other headings sort by `WORST`."""


_LEAST_LANE = 24
"""Cells that a lane has at least, whatever the names need."""


_LANE_AND_STATE = ROOM_FOR_STATES + 32
"""Cells behind the name from which on a state is whole beside a lane."""


class ListedNames(Struct, frozen=True):
    """The length of the longest name of a list, and the types of probe not in use."""

    longest: int = 0
    unused: frozenset[ProbeType] = frozenset()


@lru_cache(maxsize=8)
def columns_for(width: int, listed: ListedNames) -> tuple[Column, ...]:
    """Return the columns of a list with that width inside of its frame.

    A narrow list has short states and no column for startup probes, which the state of
    the container covers. Columns of unused probes are dropped if names need the room.
    """
    state, (live, ready, start) = _STATE, _PROBES
    if width < _ROOM_FOR_PROBES:
        ready = replace(ready, width=_SHORT_START)
        start = replace(start, width=_SHORT_START)
    if width < _ROOM_FOR_STATES:
        state = replace(state, width=_SHORT_STATE)
        ready = replace(ready, width=_SHORT_READY)
    exits = (_LAST_EXIT,) if width >= _ROOM_FOR_EXITS else ()
    probes = {ProbeType.LIVENESS: live, ProbeType.READINESS: ready}
    if width >= _ROOM_FOR_START:
        probes[ProbeType.STARTUP] = start
    while True:
        columns = (
            *(_MARKER, _NAME, state, _RESTARTS, _SPACE),
            *(*exits, *probes.values(), _NEXT, _SPACE),
        )
        unused = [kind for kind in probes if kind in listed.unused]
        if not unused or room_for_name(columns, width) >= listed.longest:
            return columns
        del probes[unused[-1]]


@lru_cache(maxsize=8)
def lane_columns_for(width: int, listed: ListedNames) -> tuple[Column, ...]:
    """Return the columns of a list with lanes, which take what is left."""
    state = _STATE
    fixed = (_MARKER.width or 0) + (_RESTARTS.width or 0)
    left = width - fixed - len((_MARKER, _NAME, state, _RESTARTS))
    if width < _ROOM_FOR_LONG_STATES and left - listed.longest < _LANE_AND_STATE:
        state = replace(state, width=_SHORT_STATE)
    room = left - (state.width or 0) - _LEAST_LANE
    name = Column(_NAME.heading, max(min(listed.longest, room), _SHORT_STATE))
    return (_MARKER, name, state, _RESTARTS, Column(""))


def lane_indent(width: int, listed: ListedNames) -> int:
    """Return the cells before the lanes of a list that is so wide."""
    columns = lane_columns_for(width, listed)[:-1]
    return sum(column.width or 0 for column in columns) + len(columns)


def room_for_name(columns: Sequence[Column], width: int) -> int:
    """Return the cells that the other columns leave to the name."""
    return width - sum(column.width or 0 for column in columns) - len(columns) + 1


class ContainerRows(Struct, frozen=True):
    """The rows of the list for a width; `names` has the pods' names by UID."""

    view: View
    names: Mapping[str, str]
    width: int
    is_bare: bool
    ellipsis: str
    listed: ListedNames
    lane_view: LaneView | None = None
    warned: frozenset[str] = frozenset()
    """The UIDs of pods with a warning, which their rows are marked with."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that fit."""
        if self.is_bare:
            return _BARE
        if self.lane_view is not None:
            return lane_columns_for(self.width, self.listed)
        return columns_for(self.width, self.listed)

    @property
    def state_room(self) -> int:
        """The width of the column with the state."""
        return next(
            column.width or 0
            for column in self.columns
            if column.heading in {_STATE.heading, ""} and column.keeps_end
        )

    def heading(self, order: ContainerOrder) -> StyledLine:
        """Return the headings, the one of the order highlighted."""
        if self.is_bare or self.lane_view is None:
            return _heading(self.columns, self.width, self.ellipsis, order)
        lanes = self.lane_view
        return _lane_heading(self.columns, self.width, order, lanes.indent, lanes.axis)

    def order_at(self, x: int) -> ContainerOrder | None:
        """Return the order for a click on a heading at `x`, None if there is none."""
        start = 0
        for column in self.columns:
            width = self._room_for_name if column.width is None else column.width
            end = start + width
            if column.heading and start <= x < end:
                return _ORDERS.get(column.heading, ContainerOrder.WORST)
            start = end + 1
        return None

    def of_container(
        self, pod: PodSnapshot, container: ContainerSnapshot, *, is_selected: bool
    ) -> StyledLine:
        """Return a container's row, tinted by its state if it is selected."""
        role = container_health(pod, container).role
        also = TINTED_CURSORS.get(role, CURSOR) if is_selected else ""
        mark = Span(
            self.view.marks.cursor, role if role in TINTED_CURSORS else Role.ACCENT
        )
        marker = line(mark) if is_selected else EMPTY
        if is_selected and role is Role.PLAIN:
            role = Role.STRONG
        if self.is_bare:
            state = most_urgent_state(pod, container, self.view)
            cells = container_cells(pod, container, self.view)
            name = line(Span(self._name(pod, cells.name), role))
            return self._row((marker, name, state, cells.next), also)
        widths = {column.heading: column.width or 0 for column in self.columns}
        cells = container_cells(
            pod,
            container,
            self.view,
            state_room=widths["STATE"],
            probe_rooms=tuple(widths.get(column.heading, 0) for column in _PROBES),
            has_probes=self.lane_view is None,
        )
        tag = f" {cells.kind}" if cells.kind else ""
        warning = f" {self.view.marks.warning}" if pod.pod.uid in self.warned else ""
        label = Span(self._name(pod, cells.name), role)
        if len(label.text + warning + tag) > self._room_for_name:
            tag = ""
        name = line(label, Span(warning, Role.WARNING), muted(tag))
        if self.lane_view is not None:
            lanes = self.lane_view
            cursor = lanes.cursor if is_selected else None
            cells_of = lanes.cells(pod, container).container
            lane = styled_lane(cells_of, lanes.marks, cursor, also)
            lead = line(" ", *marker)
            past = lanes.state(pod, container)
            state = cells.state if past is None else past
            return self._row((lead, name, state, cells.restarts), also, lane)
        texts: list[Line] = [line(" ", *marker), name, cells.state]
        texts += [cells.restarts, EMPTY]
        texts += [cells.last_exit] if _LAST_EXIT.heading in widths else []
        texts += [
            probe
            for column, probe in zip(_PROBES, cells.probes, strict=True)
            if column.heading in widths
        ]
        return self._row([*texts, cells.next, EMPTY], also)

    def of_probe(
        self,
        pod: PodSnapshot,
        container: ContainerSnapshot,
        index: int,
        *,
        is_selected: bool,
    ) -> StyledLine:
        """Return the row of a probe below that of its container, with its lane."""
        lanes = self.lane_view
        if lanes is None:
            raise LookupError("probes have rows beside lanes only")
        probe = container.probes[index]
        lane = lanes.cells(pod, container).probes[index]
        state = probe_cell(probe, self.view, room=CELLS)
        if (place := lanes.cursor) is not None:
            state = past_run(lane[place])
        mark = Span(self.view.marks.cursor, Role.ACCENT)
        lead = line(" ", mark) if is_selected else EMPTY
        role = Role.STRONG if is_selected else Role.MUTED
        name = line("  ", Span(probe.key.probe_type.lower(), role))
        also = CURSOR if is_selected else ""
        if self.is_bare:
            # The terminal has just shrunk, and the list is laid out anew after this.
            return self._row((lead, name, state, EMPTY), also)
        cursor = lanes.cursor if is_selected else None
        shown = styled_lane(lane, lanes.marks, cursor, also)
        return self._row((lead, name, state, EMPTY), also, shown)

    @property
    def _room_for_name(self) -> int:
        if self.lane_view is not None:
            return self.columns[1].width or 0
        return room_for_name(self.columns, self.width)

    def _name(self, pod: PodSnapshot, container_name: str) -> str:
        """Return a name, shortened in the middle if it does not fit its column."""
        name = f"{self.view.safe(self.names.get(pod.pod.uid, ''))}/{container_name}"
        return shortened(name, self._room_for_name, self.ellipsis)

    def _row(self, texts: Sequence[Line], also: str, *lane: StyledLine) -> StyledLine:
        return row(
            [*(styled_line(text, also) for text in texts), *lane],
            self.columns,
            self.width,
            also=also,
            ellipsis=self.ellipsis,
        )


@lru_cache(maxsize=8)
def _heading(
    columns: tuple[Column, ...], width: int, ellipsis: str, order: ContainerOrder
) -> StyledLine:
    texts = [
        styled_line(line(Span(column.heading, _role_of_heading(column, order))))
        for column in columns
    ]
    return row(texts, columns, width, ellipsis=ellipsis)


@lru_cache(maxsize=8)
def _lane_heading(
    columns: tuple[Column, ...],
    width: int,
    order: ContainerOrder,
    indent: int,
    axis: LaneAxis,
) -> StyledLine:
    names = fit(_heading(columns, width, "", order), indent, ellipsis="")
    return (*names, *styled_line(axis_line(axis)))


def _role_of_heading(column: Column, order: ContainerOrder) -> Role:
    return Role.PLAIN if _ORDERS.get(column.heading) is order else Role.MUTED
