"""How a container, its probes and its pod stand in the list, as the room allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.container.table import (
    ContainerCells,
    container_cells,
    format_backoff_window,
    most_urgent_state,
    pod_cells,
)
from probetui.presentation.text.spans import Line, line, muted, strong
from probetui.presentation.text.view import View
from probetui.presentation.tick.marks import PROBE_LETTERS
from probetui.tui.styled_text import (
    CURSOR,
    Column,
    StyledLine,
    headings,
    row,
    shortened,
    styled_line,
)

_WIDE_ENOUGH_FOR_ONE_LINE = 74
_WIDE_ENOUGH_FOR_EXITS = 60
_WIDE_ENOUGH_FOR_EXITS_IN_ONE_LINE = 90
_LAST_EXIT = Column("LAST EXIT", 9)
_COMMON = (
    Column("", 1),
    Column("POD/CONTAINER"),
    Column("RDY", 3),
    Column("STATE", 16, keeps_end=True),
    Column("RST", 3, is_right=True),
)
_PROBES = (Column("LIVE", 8), Column("READY", 8), Column("START", 8))
_NEXT = Column("NEXT", 5)
_BARE = (
    Column("", 1),
    Column(""),
    Column("", 17, keeps_end=True),
    Column("", 5, is_right=True),
)


def is_in_one_line(width: int, *, is_bare: bool) -> bool:
    """Tell whether a container takes one line, not two under a heading for its pod."""
    return is_bare or width >= _WIDE_ENOUGH_FOR_ONE_LINE


def has_exits(width: int) -> bool:
    """Tell whether there is room for how the instance before ended."""
    if width >= _WIDE_ENOUGH_FOR_ONE_LINE:
        return width >= _WIDE_ENOUGH_FOR_EXITS_IN_ONE_LINE
    return width >= _WIDE_ENOUGH_FOR_EXITS


class ContainerRows(Struct, frozen=True):
    """Lines of the list, for a pane that is so wide; `names` are of pods, by UID."""

    view: View
    names: Mapping[str, str]
    width: int
    is_bare: bool
    ellipsis: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of containers and pods."""
        if self.is_bare:
            return _BARE
        probes = _PROBES if is_in_one_line(self.width, is_bare=False) else ()
        exits = (_LAST_EXIT,) if has_exits(self.width) else ()
        return (*_COMMON, *exits, *probes, _NEXT)

    def heading(self) -> StyledLine:
        """Return the names of the columns."""
        return row(headings(self.columns), self.columns, self.width)

    def of_pod(self, pod: PodSnapshot) -> StyledLine:
        """Return the line above the containers of a pod."""
        cells = pod_cells(pod, self.view)
        if self.is_bare:
            return self._row((line(), cells.name, cells.state, line()), "")
        texts = [line(), cells.name, cells.ready, cells.state, cells.restarts]
        texts += [line()] * (len(self.columns) - len(texts))
        return self._row(texts, "")

    def of_container(
        self, pod: PodSnapshot, container: ContainerSnapshot, *, is_chosen: bool
    ) -> StyledLine:
        """Return the line of a container."""
        cells = container_cells(pod, container, self.view)
        also = CURSOR if is_chosen else ""
        if self.is_bare:
            return self._bare_row(pod, container, cells, also)
        tag = f" {cells.kind}" if cells.kind else ""
        is_in_line = is_in_one_line(self.width, is_bare=False)
        indent = "" if is_in_line else "  "
        name = f"{self._name(pod)}/{cells.name}" if is_in_line else cells.name
        name = self._in_room(name, len(indent + tag))
        texts = [_marker(also), line(indent, name, muted(tag)), cells.ready]
        texts.append(cells.state)
        texts.append(cells.restarts)
        texts += [cells.last_exit] if has_exits(self.width) else []
        texts += cells.probes if is_in_line else ()
        return self._row([*texts, cells.next], also)

    def of_probes(
        self, pod: PodSnapshot, container: ContainerSnapshot, *, is_chosen: bool
    ) -> StyledLine:
        """Return the line below it: its probes, and the back-off it waits in."""
        cells = container_cells(pod, container, self.view)
        also = CURSOR if is_chosen else ""
        parts: list[StyledLine] = [()]
        columns = [Column("", 4)]
        for letter, probe in zip(PROBE_LETTERS.values(), cells.probes, strict=True):
            parts += [styled_line(line(muted(letter)), also), styled_line(probe, also)]
            columns += [Column("", 1), Column("", 9)]
        parts.append(styled_line(line(muted(format_backoff_window(container))), also))
        return row(parts, [*columns, Column("")], self.width, also=also)

    def _bare_row(
        self,
        pod: PodSnapshot,
        container: ContainerSnapshot,
        cells: ContainerCells,
        also: str,
    ) -> StyledLine:
        """Return name and the one probe or state that matters most."""
        what = most_urgent_state(pod, container, self.view)
        name = self._in_room(f"{self._name(pod)}/{cells.name}", 0)
        return self._row((_marker(also), line(name), what, cells.next), also)

    def _in_room(self, name: str, taken: int) -> str:
        """Return a name as its column has room for it: both ends say which it is."""
        columns = self.columns
        others = sum(column.width or 0 for column in columns) + len(columns) - 1
        return shortened(name, self.width - others - taken, self.ellipsis)

    def _name(self, pod: PodSnapshot) -> str:
        return self.view.safe(self.names.get(pod.pod.uid, ""))

    def _row(self, texts: Sequence[Line], also: str) -> StyledLine:
        return row(
            [styled_line(text, also) for text in texts],
            self.columns,
            self.width,
            also=also,
            ellipsis=self.ellipsis,
        )


def _marker(also: str) -> Line:
    return line(strong(">")) if also else line()
