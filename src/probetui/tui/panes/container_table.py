"""The list of containers, one row each, worst first by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from operator import is_
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace
from textual.binding import BindingType
from textual.events import Click
from textual.geometry import Size
from textual.timer import Timer

from probetui.engine.snapshot import ContainerSnapshot, PodSnapshot
from probetui.k8s.pod import Pod
from probetui.k8s.probe import ProbeType
from probetui.presentation.container.health import Urgency, container_health, urgency
from probetui.presentation.container.sorting import (
    ContainerOrder,
    ContainerPlaces,
    ContainerSorter,
)
from probetui.presentation.container.table import (
    container_cells,
    kind,
    object_name,
    pod_names,
    state,
)
from probetui.presentation.per_pod import PerPod
from probetui.presentation.pod import condition_lines
from probetui.presentation.text.filters import Filter, no_match_text
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.container_names import ContainerKey
from probetui.tui.actions.table import bindings
from probetui.tui.messages import (
    CopyRequested,
    InstantRequested,
    StripEndRequested,
    TurnRequested,
)
from probetui.tui.panes.container_rows import ContainerRows, ListedNames, lane_indent
from probetui.tui.panes.lane_view import (
    LaneSource,
    LaneView,
    default_cell_seconds,
    other_cell_seconds,
)
from probetui.tui.panes.pane import LEAST_EDGE, Pane
from probetui.tui.panes.viewport import ListViewport
from probetui.tui.styled_text import PLAIN, StyledLine, cells, fit, styled_line

_USUAL_PERIOD = 10
"""The kubelet's default, in seconds, where there is no probe."""

LINES_AROUND = 3
"""The lines of the list that are not rows: two edges and the headings."""
_MOST_CONDITIONS_SIDE_BY_SIDE = 2
_LEAST_ROOM_FOR_CONDITIONS = 3


_HANDS_ON_SECONDS = 3.0
"""How long the order is frozen after the user moved the cursor."""


class ListLine(Struct, frozen=True):
    """One row of the list: its container, with the indexes in the snapshot.

    `probe_index` is that of the probe that the row is about, None for the container.
    """

    key: ContainerKey
    pod_index: int
    container_index: int
    probe_index: int | None = None


class _Unfolding(Struct):
    """Which containers have rows of their probes.

    Attributes:
        by_name: what the user wants of containers, by their full names.
        of_all: what the user wants of all others; None is left to `has_room`.
        has_room: whether those of several probes have room.
    """

    by_name: dict[tuple[str, str], bool] = field(default_factory=dict)
    of_all: bool | None = None
    has_room: bool = False

    def holds(self, pod: PodSnapshot, container: ContainerSnapshot) -> bool:
        """Return whether a container is unfolded."""
        name = (pod.pod.full_name, container.container.name)
        wanted = self.by_name.get(name, self.of_all)
        # The lane of a container with one probe is that of the probe.
        return self.has_room and _has_several(container) if wanted is None else wanted


class _KnownRows(Struct):
    """The rows as drawn last, each with the snapshot of its pod.

    `rows` draws them, made of `parts`; `token` is equal where they need not be drawn
    again.
    """

    shown: dict[tuple[ListLine, bool], tuple[object, StyledLine]] = field(
        default_factory=dict
    )
    rows: ContainerRows | None = None
    parts: Sequence[object] = ()
    token: object = None

    def forget(self) -> None:
        """Clear the cache if the view, the width or the names have changed."""
        rows = self.rows
        if rows is None:
            return
        token: object = (rows, rows.view.token)
        if (lanes := rows.lane_view) is not None:
            # Times beside lanes are in whole seconds, those of the view in parts.
            times = replace(rows.view.times, now=rows.view.times.started_at)
            view = replace(rows.view, times=times)
            other = replace(rows, view=view, lane_view=None)
            token = (lanes.token, other, view.token)
        if token != self.token:
            self.token = token
            self.shown.clear()


class _ContainerViewport(ListViewport):
    """The rows of the list; the cursor is on the selected one, if that is listed."""

    def __init__(self, pane: ContainerTable, on_chosen: Callable[[], None]) -> None:
        super().__init__(pane, on_chosen=on_chosen)
        self._table = pane

    def move(self, step: int) -> None:
        if self._table.is_selection_listed:
            super().move(step)
        else:  # the row that took the place of the selected one is the next
            self.choose_nearest(self.cursor, step)


class ContainerTable(Pane):
    """The sorted containers of all pods, one of which is selected.

    A key or a click selects, and nothing else does: the first snapshot with containers
    selects the first one in trouble, or else the first one with probes, and no later
    one selects another. A container that its filter no longer keeps stays selected. If
    it is gone, none is selected until its pod is created again. `follows_trouble` is
    the exception that the user asks for.

    With lanes a container can be unfolded into a row for each of its probes. The cursor
    goes through these as well; each selects its probe.

    `on_choice` is called when the user selects. It is not a message, so that the
    details are painted in the same frame as the cursor.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.CONTAINERS,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)
    HAS_LABELS = True

    def __init__(
        self, view: View, on_choice: Callable[[], None], *, is_ascii: bool = False
    ) -> None:
        super().__init__(id="containers", is_ascii=is_ascii)
        self.viewport: ListViewport = _ContainerViewport(self, self._cursor_moved)
        self._on_choice = on_choice
        self._view = view
        self._pods: tuple[PodSnapshot, ...] = ()
        self._names: dict[str, str] = {}
        self._listed = ListedNames()
        self._lines: list[ListLine] = []
        self._index: dict[ContainerKey, int] = {}
        self._known_lines: dict[tuple[int, int], ListLine] = {}
        """Rows by the indexes in the snapshot."""
        self._layout: tuple[Filter, ContainerPlaces, object] | None = None
        self._sorter = ContainerSorter()
        self._hands_on: Timer | None = None
        self._known_rows = _KnownRows()
        self._laid_out: list[Pod] = []
        self._selected: ContainerKey | None = None
        self._selected_name: tuple[str, str] | None = None
        """The full name of the selected container's pod, and the container's name."""
        self._before_filter: ContainerKey | None = None
        """The container to select again when the filter keeps it."""
        self.follows_trouble = False
        self.warned: frozenset[str] = frozenset()
        """The UIDs of the pods of whose manifests the program warned."""
        self._total = self._unfolded_rows = 0
        self._searchable: dict[ContainerKey, tuple[PodSnapshot, bool]] = {}
        self.sought = Filter()
        """The last filter, for `n` and `N` after the list is unfiltered."""
        self.order = ContainerOrder.WORST
        self.is_reversed = False
        self.lane_source: LaneSource | None = None
        """What lanes are drawn of, in place of the probes' states; None for these."""
        self._known_lane_view: (
            tuple[LaneSource, tuple[float, int, int], LaneView] | None
        ) = None
        self._shortest_period = _USUAL_PERIOD
        self._wanted_cell_seconds: float | None = None
        self.chosen_probe: ProbeType | None = None
        """The probe whose row has the cursor, None if a container's has it."""
        self._unfolding = _Unfolding()
        self._more_rows = PerPod(_probe_rows_of)

    @property
    def chosen_key(self) -> ContainerKey | None:
        """The selected container, None if there is none."""
        return self._selected

    @property
    def is_selection_listed(self) -> bool:
        """Whether the selected container is in the list, and has the cursor."""
        return self._selected in self._index

    @property
    def chosen_container(self) -> tuple[PodSnapshot, ContainerSnapshot] | None:
        """The snapshots of the selected container and its pod."""
        key = self._selected
        if key is None:
            return None
        if (row := self._index.get(key)) is not None:
            return self._snapshots(self._lines[row])
        return next(
            (
                (pod, container)
                for pod in self._pods
                if pod.pod.uid == key.pod_uid
                for container in pod.containers
                if container.container.name == key.container_name
            ),
            None,
        )

    @property
    def total(self) -> int:
        """The number of containers, including those that a filter hides."""
        return self._total

    @property
    def hits(self) -> str:
        """The number of containers that the filter keeps: `3 of 12`."""
        return f"{len(self._index)} of {self._total}"

    @property
    def kept(self) -> frozenset[ContainerKey] | None:
        """The containers that the filter keeps, None without one."""
        return frozenset(self._index) if self.filter.is_active else None

    def show(self, pods: tuple[PodSnapshot, ...], view: View) -> None:
        """Show other snapshots; cursor and scroll position stay."""
        self._pods, self._view = pods, view
        self._arrange()
        self.repaint()

    @property
    def lane_view(self) -> LaneView | None:
        """The lanes on their axis, None if there are none."""
        source = self.lane_source
        if source is None:
            return None
        width, seconds = self.inner_width, self._cell_seconds
        indent = lane_indent(width, self._listed)
        # Asked for each row, and more often than that for the rows that are visible.
        about = seconds, indent, width
        known = self._known_lane_view
        if known is None or known[0] is not source or known[1] != about:
            known = source, about, source.on_axis(*about)
            self._known_lane_view = known
        return known[2]

    def change_cell_time(self, step: int) -> None:
        """Show more time in each cell of the lanes, or with a step of -1 less."""
        self._wanted_cell_seconds = other_cell_seconds(self._cell_seconds, step)

    @property
    def _cell_seconds(self) -> float:
        if self._wanted_cell_seconds is not None:
            return self._wanted_cell_seconds
        times = self._view.times
        return default_cell_seconds(
            self._shortest_period,
            (times.now - times.started_at).total_seconds(),
            self.inner_width - lane_indent(self.inner_width, self._listed),
        )

    def is_unfolded(self, pod: PodSnapshot, container: ContainerSnapshot) -> bool:
        """Return whether a container has a row for each of its probes."""
        if self.lane_source is None or self.is_bare or not container.probes:
            return False
        return self._unfolding.holds(pod, container)

    @property
    def unfolds_all(self) -> bool:
        """Whether all containers are unfolded that the user has not folded."""
        of_all = self._unfolding.of_all
        return self._unfolding.has_room if of_all is None else of_all

    def make_room(self, *, has_room: bool) -> None:
        """Unfold all containers of several probes by itself, or fold them again."""
        if has_room != self._unfolding.has_room:
            self._unfolding.has_room = has_room
            if self._unfolding.of_all is None:
                self._layout = None
                self._arrange()
                self.repaint()

    def action_unfold(self) -> None:
        """Show a row for each probe of the selected container, or fold these again."""
        if (selected := self.chosen_container) is None:
            return
        pod, container = selected
        name = (pod.pod.full_name, container.container.name)
        self._unfolding.by_name[name] = not self.is_unfolded(pod, container)
        self._folded()

    def action_unfold_all(self) -> None:
        """Show a row for each probe of all containers, or fold these again."""
        rows = [self._snapshots(row) for row in self._lines]
        wanted = [
            of
            for of in rows
            if of[1].probes and (_has_several(of[1]) or not self.unfolds_all)
        ]
        self._unfolding.of_all = not all(self.is_unfolded(*of) for of in wanted)
        self._unfolding.by_name.clear()
        self._folded()

    def _folded(self) -> None:
        self._layout = None
        self._arrange()
        self._show_cursor()
        self.repaint()
        self._on_choice()

    def show_probe(self, kind: ProbeType | None) -> None:
        """Move the cursor to the probe that a key selected, if another has it."""
        if self.chosen_probe not in {None, kind}:
            self.chosen_probe = kind
            self._show_cursor()
            self.repaint()

    @property
    def has_probes(self) -> bool:
        """Whether any container has a probe, whatever the filter keeps."""
        return any(
            container.probes for pod in self._pods for container in pod.containers
        )

    @property
    def rows_unfolded(self) -> int:
        """The number of rows if all containers of several probes are unfolded."""
        return self._total + sum(self._more_rows.of(self._pods))

    @property
    def listed_rows(self) -> int:
        """The number of rows without a filter: containers, and unfolded probes."""
        return self._total + self._unfolded_rows

    def visible_rows_of(self) -> Iterator[tuple[ContainerKey, int]]:
        """Yield the containers in sight, each with the line of the pane it is on."""
        first = len(self.above()) + (0 if self.is_bare else 1)
        seen = self._lines[self.viewport.top :][: self.visible_rows]
        for place, shown in enumerate(seen):
            if shown.probe_index is None:
                yield shown.key, first + place

    def choose_container(self, key: ContainerKey) -> None:
        """Select a container; clear a filter that hides it."""
        if key not in self._index:
            self.show_filter(Filter())
        if key in self._index:
            self._select(key)
            self.chosen_probe = None
            self._before_filter = None
            self.viewport.choose(self._index[key])
            self.repaint()

    def choose_next_trouble(self) -> None:
        """Select the next container in trouble, wrapping around at the end."""
        self.viewport.find_hit(1, lambda row: self._is_in_trouble(self._lines[row]))

    def show_filter(self, wanted: Filter) -> None:
        """Filter the containers; select the first one if it hides the selected one."""
        self.filter = wanted
        if wanted.is_active:
            self.sought = wanted
        self._searchable.clear()
        self._before_filter = self._before_filter or self._selected
        self._arrange()
        if self._before_filter in self._index:
            self._select(self._before_filter)
            self._before_filter = None
        else:
            self._select(self._lines[0].key if self._lines else None)
        self._show_cursor()
        self.repaint()
        self._on_choice()

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,  # noqa: ARG002  # the framework's
    ) -> int:
        """Return the height for all rows, for layouts that ask."""
        return max(len(self._lines), 1) + LINES_AROUND

    def on_resize(self) -> None:
        self._arrange()

    def title(self) -> Line:
        follows = muted("  follow trouble") if self.follows_trouble else muted("")
        return line("1 ", strong("Containers"), follows)

    def badge(self) -> Line:
        if self.filter.error:
            error = self._view.safe(self.filter.error.partition(":")[0])
            return line(Span(f"filter: {error}", Role.ERROR))
        is_reversed = ", reversed" if self.is_reversed else ""
        order = f", {self.order.words}{is_reversed}"
        if not self.filter.is_active:
            # A single container has no order, and the header has the count.
            return line(muted(f"{self._total}{order}")) if self._total > 1 else EMPTY
        text = self._view.safe(self.filter.text)
        kept = Span(f"filter: {text} ({self.hits})", Role.ACCENT)
        whole = line(kept, muted(order))
        is_short = (
            cells(styled_line((*self.title(), *whole))) + LEAST_EDGE > self.size.width
        )
        return line(kept) if is_short else whole

    def count(self) -> int:
        return len(self._lines)

    def above(self) -> Sequence[StyledLine]:
        if self.is_bare:
            return ()
        return [self._rows.heading(self.order)]

    def below(self) -> Sequence[StyledLine]:
        """Return the conditions of pods if they fit, or why the list is empty."""
        if self._lines:
            return self._conditions()
        reason = "No pods."
        if self._total:
            reason = no_match_text("container", self._view.safe(self.filter.text))
        return [styled_line(line(muted(f"  {reason}")))]

    def row(self, index: int) -> StyledLine:
        """Return one row of the list, from the cache if its pod is unchanged."""
        entry = self._lines[index]
        pod, container = self._snapshots(entry)
        rows = self._rows
        is_selected = (
            entry.key == self._selected and self._probe_of(entry) is self.chosen_probe
        )
        known = self._known_rows.shown.get((entry, is_selected))
        if known is not None and known[0] is pod:
            return known[1]
        if entry.probe_index is None:
            shown = rows.of_container(pod, container, is_selected=is_selected)
        else:
            shown = rows.of_probe(
                pod, container, entry.probe_index, is_selected=is_selected
            )
        self._known_rows.shown[entry, is_selected] = pod, shown
        return shown

    def on_click(self, event: Click) -> None:
        """Sort by the clicked heading; a second click reverses the order."""
        if self.is_bare:
            return
        shown = self.lane_view
        if event.y != 1:
            cell = -1 if shown is None else event.x - 1 - shown.indent
            is_row = event.y - 2 < min(len(self._lines), self.visible_rows)
            if shown is not None and cell >= 0 and event.y > 1 and is_row:
                self.post_message(InstantRequested(shown.axis.end_of(cell)))
            return
        order = self._rows.order_at(event.x - 1)
        if order is self.order:
            self.action_reverse()
        elif order is not None:
            self.is_reversed = False
            self.action_sort(order)

    def action_copy_pane(self) -> None:
        """Copy the line of the selected container."""
        selected = self.chosen_container
        if selected is not None:
            pod, container = selected
            shown = container_cells(pod, container, self._view)
            name = f"{self._view.safe(self._names.get(pod.pod.uid, ''))}/{shown.name}"
            cells_shown = (shown.state, shown.restarts, *shown.probes)
            texts = [name, *(text_of(cell).strip() for cell in cells_shown)]
            self.post_message(CopyRequested("  ".join(texts)))

    def action_sort(self, by: str = "") -> None:
        """Change the order; without an argument, to the next one."""
        self.order = ContainerOrder(by) if by else self.order.following
        self._sort_again()

    def action_first_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=True))

    def action_newest_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=False))

    def action_hit(self, step: int) -> None:
        """Go to the next match of the last filter, or to the previous one.

        Without a filter, lanes have kills, restarts and flips to go to.
        """
        if self.lane_source is not None and not self.filter.is_active:
            self.post_message(TurnRequested(step))
        elif self.sought.is_active:
            self.viewport.find_hit(step, self._is_sought)

    def action_reverse(self) -> None:
        self.is_reversed = not self.is_reversed
        self._sort_again()

    def _cursor_moved(self) -> None:
        chosen = self._lines[self.viewport.cursor]
        self._select(chosen.key)
        self.chosen_probe = self._probe_of(chosen)
        self._before_filter = None
        if self._hands_on is None:
            self._hands_on = self.set_timer(_HANDS_ON_SECONDS, self._sort_again)
        else:
            self._hands_on.reset()
        self._on_choice()

    @property
    def _rows(self) -> ContainerRows:
        """How rows are drawn; forgets those that would be drawn in another way."""
        # Asked for each row: what all of it follows from is compared, not worked out.
        parts = (
            self._view,
            self._names,
            self.size,
            self.is_bare,
            self._listed,
            self.lane_source,
            self._wanted_cell_seconds,
            self.warned,
        )
        known = self._known_rows
        if known.rows is None or not all(map(is_, parts, known.parts)):
            known.parts = parts
            known.rows = ContainerRows(
                self._view,
                self._names,
                self.inner_width,
                self.is_bare,
                self.ellipsis,
                self._listed,
                self.lane_view,
                self.warned,
            )
            known.forget()
        return known.rows

    def _conditions(self) -> Sequence[StyledLine]:
        """Return the conditions of all pods, else of the selected one, if they fit."""
        room = self.inner_height - len(self.above()) - len(self._lines)
        selected = self.chosen_container
        if self.is_bare or selected is None or room < _LEAST_ROOM_FOR_CONDITIONS:
            return ()
        listed = dict.fromkeys(list_line.pod_index for list_line in self._lines)
        for pods in ([self._pods[index] for index in listed], [selected[0]]):
            lines = self._side_by_side(pods)
            if lines and len(lines) < room:
                return lines
        return ()

    def _side_by_side(self, pods: Sequence[PodSnapshot]) -> list[StyledLine]:
        blocks = [
            condition_lines(pod, self._names.get(pod.pod.uid, ""), self._view)
            for pod in pods
        ]
        blocks = [block for block in blocks if block]
        count = min(len(blocks), _MOST_CONDITIONS_SIDE_BY_SIDE)
        width = (self.inner_width - 1) // max(count, 1) - 1
        lines: list[StyledLine] = []
        for start in range(0, len(blocks), max(count, 1)):
            for parts in zip_longest(*blocks[start : start + count], fillvalue=EMPTY):
                texts = [
                    fit(_shortened(styled_line(part), width), width) for part in parts
                ]
                lines.append(((" ", PLAIN), *chain.from_iterable(texts)))
        return lines

    def _sort_again(self) -> None:
        """Sort the list, even if the order is frozen after a move."""
        if self._hands_on is not None:
            self._hands_on.stop()
            self._hands_on = None
        self._arrange()
        self.repaint()

    def _arrange(self) -> None:
        """Lay out the rows again if needed, with the selected one at the same place."""
        pods = [pod.pod for pod in self._pods]
        is_known = len(pods) == len(self._laid_out) and all(
            map(is_, pods, self._laid_out)
        )
        if is_known and self._layout is not None and self._hands_on is not None:
            places = self._layout[1]
        else:
            places = self._sorter.places(
                self._pods, self.order, self._view.now, is_reversed=self.is_reversed
            )
        lanes = self.lane_source is not None and not self.is_bare
        layout = (self.filter, places, lanes)
        if is_known and layout == self._layout and not self.filter.is_active:
            self._follow()
            return
        if not is_known:
            self._names = pod_names(pods)
            self._listed = self._look_at_names()
            self._known_lines.clear()
        self._layout, self._laid_out = layout, pods
        distance = self.viewport.cursor - self.viewport.top
        count = len(self._lines)
        self._lay_out(places)
        if len(self._lines) != count:
            self.refresh(layout=True)
        self._keep_selection()
        if self._selected in self._index:
            self.viewport.cursor = self._row_of_cursor()
        else:
            last = max(len(self._lines) - 1, 0)
            self.viewport.cursor = min(self.viewport.cursor, last)
        # In a list that is not scrolled, rows that move to the top stay visible.
        is_in_sight = (
            is_known
            and not self.viewport.top
            and self.viewport.cursor < self.visible_rows
        )
        self.viewport.top = (
            0 if is_in_sight else self.viewport.within(self.viewport.cursor - distance)
        )
        self._follow()

    def _keep_selection(self) -> None:
        """Find the selected container among the listed ones; select one at the start.

        A pod that was deleted and created again has another UID, and the same name.
        Where a filter hides all, none is selected, and none comes back by its name.
        """
        if self._selected_name is None:
            if self._lines:
                self._select(self._most_urgent())
        elif self._selected is not None and self.chosen_container is None:
            pod_name, container_name = self._selected_name
            self._selected = next(
                (
                    ContainerKey(pod.pod.uid, container_name)
                    for pod in self._pods
                    if pod.pod.full_name == pod_name
                    for container in pod.containers
                    if container.container.name == container_name
                ),
                self._selected,
            )

    def _follow(self) -> None:
        """Select the most urgent container, in the mode that follows trouble."""
        if self.follows_trouble and self._lines:
            self._select(self._most_urgent())
            self._show_cursor()

    def _select(self, key: ContainerKey | None) -> None:
        self._selected = key
        if (selected := self.chosen_container) is not None:
            pod, container = selected
            self._selected_name = (pod.pod.full_name, container.container.name)

    def _show_cursor(self) -> None:
        """Move the cursor to the selected row, and scroll it into view."""
        self.viewport.choose(self._row_of_cursor())

    def _row_of_cursor(self) -> int:
        """Return the row of the selected probe, or else of the selected container."""
        row = 0 if self._selected is None else self._index.get(self._selected, 0)
        for index in range(row, len(self._lines)):
            if self._lines[index].key != self._selected:
                break
            if self._probe_of(self._lines[index]) is self.chosen_probe:
                return index
        self.chosen_probe = None
        return row

    def _probe_of(self, row: ListLine) -> ProbeType | None:
        """Return the probe that a row is about, None for a container's."""
        if row.probe_index is None:
            return None
        _, container = self._snapshots(row)
        return container.probes[row.probe_index].key.probe_type

    def _lay_out(self, places: ContainerPlaces) -> None:
        self._total = len(places)
        lines = [self._line_at(place) for place in places]
        unfolded = [line for line in lines if self.is_unfolded(*self._snapshots(line))]
        probes = {line.key: self._probe_rows(line) for line in unfolded}
        self._unfolded_rows = sum(map(len, probes.values()))
        if self.filter.is_active:
            lines = [line for line in lines if self._keeps(*self._snapshots(line))]
        self._lines = [
            row for line in lines for row in (line, *probes.get(line.key, ()))
        ]
        self._index = {
            line.key: index
            for index, line in enumerate(self._lines)
            if line.probe_index is None
        }

    def _probe_rows(self, row: ListLine) -> list[ListLine]:
        _, container = self._snapshots(row)
        return [
            replace(row, probe_index=index) for index in range(len(container.probes))
        ]

    def _look_at_names(self) -> ListedNames:
        """Return the length of the longest name, and the unused types of probe."""
        containers = [
            (f"{self._names[pod.pod.uid]}/{container.container.name}", container)
            for pod in self._pods
            for container in pod.containers
        ]
        probes = [probe for _, container in containers for probe in container.probes]
        used = {probe.key.probe_type for probe in probes}
        self._shortest_period = min(
            (probe.probe.period_seconds for probe in probes), default=_USUAL_PERIOD
        )
        longest = max(
            (
                len(f"{name} {kind(container)}".rstrip())
                for name, container in containers
            ),
            default=0,
        )
        longest += 2 if self.warned else 0
        return ListedNames(longest, frozenset(ProbeType) - used)

    def _line_at(self, place: tuple[int, int]) -> ListLine:
        known = self._known_lines.get(place)
        if known is None:
            pod = self._pods[place[0]]
            name = pod.containers[place[1]].container.name
            known = ListLine(ContainerKey(pod.pod.uid, name), *place)
            self._known_lines[place] = known
        return known

    def _snapshots(self, line: ListLine) -> tuple[PodSnapshot, ContainerSnapshot]:
        """Return the snapshots of a row's pod and container."""
        pod = self._pods[line.pod_index]
        return pod, pod.containers[line.container_index]

    def _is_in_trouble(self, row: ListLine) -> bool:
        health = container_health(*self._snapshots(row))
        return row.probe_index is None and health.role is not Role.PLAIN

    def _most_urgent(self) -> ContainerKey:
        """Return the most urgent container; of equal ones the selected one.

        If none of these is, the first one that has probes.
        """
        return min(
            self._lines,
            key=lambda row: (
                self._urgency(row),
                row.key != self._selected,
                not self._snapshots(row)[1].probes,
            ),
        ).key

    def _urgency(self, row: ListLine) -> Urgency:
        pod, container = self._snapshots(row)
        return urgency(container_health(pod, container), container)

    def _is_sought(self, index: int) -> bool:
        row = self._lines[index]
        pod, container = self._snapshots(row)
        text = self._text(pod, container)
        return row.probe_index is None and self.sought.keeps(text, pod.pod.labels)

    def _text(self, pod: PodSnapshot, container: ContainerSnapshot) -> str:
        """Return the text of a container for filters: what its row shows."""
        name = object_name(self._names, pod.pod.uid, container.container.name)
        whole = state(pod, container, self._view).text
        cells = container_cells(
            pod, container, self._view, state_room=self._rows.state_room
        )
        texts = (name, cells.kind, whole, *map(text_of, (cells.state, cells.restarts)))
        return " ".join(text.strip() for text in texts)

    def _keeps(self, pod: PodSnapshot, container: ContainerSnapshot) -> bool:
        """Return whether the filter keeps a container, cached while its pod is same."""
        key = ContainerKey(pod.pod.uid, container.container.name)
        known = self._searchable.get(key)
        if known is not None and known[0] is pod:
            return known[1]
        kept = self.filter.keeps(self._text(pod, container), pod.pod.labels)
        self._searchable[key] = (pod, kept)
        return kept


def _shortened(condition: StyledLine, width: int) -> StyledLine:
    """Return a line without its last part, the reason, if the line does not fit."""
    return condition if cells(condition) <= width else condition[:-1]


def _probe_rows_of(pod: PodSnapshot) -> int:
    """Return how many rows of probes a pod's containers of several have."""
    several = filter(_has_several, pod.containers)
    return sum(len(container.probes) for container in several)


def _has_several(container: ContainerSnapshot) -> bool:
    return len(container.probes) > 1
