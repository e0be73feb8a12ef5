"""The list of containers: one line each, or two under a heading for their pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from operator import is_
from typing import ClassVar, NamedTuple

from textual.binding import BindingType
from textual.geometry import Size

from probetui.k8s.pod import Pod
from probetui.kubelet.snapshot import ContainerSnapshot, PodSnapshot
from probetui.presentation.containers import (
    ContainerCells,
    container_cells,
    object_name,
    pod_cells,
    pod_names,
    state,
)
from probetui.presentation.filters import Filter
from probetui.presentation.marks import PROBE_LETTERS
from probetui.presentation.sorting import Order, Places, sorted_places
from probetui.presentation.spans import Line, Role, Span, line, muted, strong, text_of
from probetui.presentation.view import View
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.container_keys import ContainerKey
from probetui.tui.inks import CURSOR, Column, InkLine, headings, inks, row
from probetui.tui.messages import ContainerChosen, CopyWanted
from probetui.tui.widgets.list_pane import ListPane

_WIDE_ENOUGH_FOR_ONE_LINE = 74
_LINES_AROUND = 3
"""Two edges and the headings."""
_ONE_LINE = (
    Column("", 1),
    Column("POD/CONTAINER"),
    Column("RDY", 3),
    Column("STATE", 17, keeps_end=True),
    Column("RST", 3, is_right=True),
    Column("LIVE", 8),
    Column("READY", 7),
    Column("START", 7),
    Column("NEXT", 5),
)
_TWO_LINES = (
    Column("", 1),
    Column("POD/CONTAINER"),
    Column("RDY", 3),
    Column("STATE", 17, keeps_end=True),
    Column("RST", 3, is_right=True),
    Column("NEXT", 5),
)
_BARE = (
    Column("", 1),
    Column(""),
    Column("", 17, keeps_end=True),
    Column("", 5, is_right=True),
)


class Kind(Enum):
    """What a line of the list is."""

    POD = auto()
    CONTAINER = auto()
    PROBES = auto()


class ListLine(NamedTuple):
    """One line of the list and the container it is about."""

    kind: Kind
    key: ContainerKey
    pod_index: int
    container_index: int


class ContainerTable(ListPane):
    """Containers of all pods, in the order of the manifests or sorted."""

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.CONTAINERS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="containers", is_ascii=is_ascii)
        self._view = view
        self._pods: tuple[PodSnapshot, ...] = ()
        self._names: dict[str, str] = {}
        self._lines: list[ListLine] = []
        self._index: dict[ContainerKey, int] = {}
        self._layout: tuple[bool, Filter, Places] | None = None
        self._laid_out: list[Pod] = []
        self._wanted: ContainerKey | None = None
        self._total = 0
        self._searchable: dict[ContainerKey, tuple[PodSnapshot, bool]] = {}
        self.filter = Filter()
        self.order = Order.MANIFEST
        self.is_reversed = False

    @property
    def chosen_key(self) -> ContainerKey | None:
        """The container under the cursor, None if the list is empty."""
        if not 0 <= self.cursor < len(self._lines):
            return None
        return self._lines[self.cursor].key

    @property
    def chosen_container(self) -> tuple[PodSnapshot, ContainerSnapshot] | None:
        """The values of the container under the cursor."""
        if self.chosen_key is None:
            return None
        entry = self._lines[self.cursor]
        pod = self._pods[entry.pod_index]
        return pod, pod.containers[entry.container_index]

    @property
    def hits(self) -> str:
        """How many containers the filter keeps, in words."""
        return f"{len(self._index)} of {self._total}"

    def show(self, pods: tuple[PodSnapshot, ...], view: View) -> None:
        """Show other values; cursor and scroll position stay where they are."""
        self._pods, self._view = pods, view
        self._arrange()
        self.repaint()

    def choose_container(self, key: ContainerKey) -> None:
        """Put the cursor on a container; a filter that hides it goes."""
        if key not in self._index:
            self.show_filter(Filter())
        if key in self._index:
            self._wanted = key
            self.choose(self._index[key])
            self.repaint()

    def show_filter(self, wanted: Filter) -> None:
        """Keep only containers that a filter keeps."""
        self.filter = wanted
        self._searchable.clear()
        # What is chosen now comes back when the filter lets it.
        self._wanted = self._wanted or self.chosen_key
        self._arrange()
        self.repaint()

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,  # noqa: ARG002  # the framework's
    ) -> int:
        """Ask for as many lines as there are, in layouts that ask."""
        return max(len(self._lines), 1) + _LINES_AROUND

    def on_resize(self) -> None:
        self._arrange()
        super().on_resize()

    def title(self) -> Line:
        if not self._is_sorted:
            return line("1 ", strong("Containers"))
        turned = ", reversed" if self.is_reversed else ""
        return line("1 ", strong("Containers"), f"  sort: {self.order.words}{turned}")

    def badge(self) -> Line:
        if self.filter.error:
            return line(Span("filter: not a regular expression", Role.ERROR))
        if not self.filter.is_active:
            return line(muted("filter: none"))
        text = self._view.safe(self.filter.text)
        return line(Span(f"filter: {text} ({self.hits})", Role.ACCENT))

    def count(self) -> int:
        return len(self._lines)

    def above(self) -> Sequence[InkLine]:
        if self.is_bare:
            return ()
        columns = self._columns()
        return [row(headings(columns), columns, self.inner_width)]

    def below(self) -> Sequence[InkLine]:
        if self._lines:
            return ()
        why = "the filter keeps nothing" if self._total else "there is no pod"
        return [inks(line(muted(f"  {why}")))]

    def is_choice(self, index: int) -> bool:
        return self._lines[index].kind is Kind.CONTAINER

    def lines_of(self, index: int) -> range:
        start, stop = index, index + 1
        if start and self._lines[start - 1].kind is Kind.POD:
            start -= 1
        if stop < len(self._lines) and self._lines[stop].kind is Kind.PROBES:
            stop += 1
        return range(start, stop)

    def row(self, index: int) -> InkLine:
        """Return one line of the list, as the room allows."""
        entry = self._lines[index]
        pod = self._pods[entry.pod_index]
        if entry.kind is Kind.POD:
            return self._pod_row(pod)
        is_chosen = index == self.cursor or (
            entry.kind is Kind.PROBES and index - 1 == self.cursor
        )
        also = CURSOR if is_chosen else ""
        container = pod.containers[entry.container_index]
        cells = container_cells(pod, container, self._view)
        if entry.kind is Kind.PROBES:
            return self._probes_row(cells, also)
        if self.is_bare:
            return self._bare_row(pod, cells, also)
        return self._container_row(pod, cells, also)

    def action_copy_pane(self) -> None:
        """Copy the line of the chosen container."""
        chosen = self.chosen_container
        if chosen is not None:
            pod, container = chosen
            cells = container_cells(pod, container, self._view)
            name = f"{self._view.safe(self._names.get(pod.pod.uid, ''))}/{cells.name}"
            parts = (cells.ready, cells.state, cells.restarts, *cells.probes)
            words = [name, *(text_of(each).strip() for each in parts)]
            self.post_message(CopyWanted("  ".join(words)))

    def action_sort(self, by: str = "") -> None:
        """Sort by something else; without a word, by what comes next."""
        self.order = Order(by) if by else self.order.following
        self._arrange()
        self.repaint()

    def action_reverse(self) -> None:
        self.is_reversed = not self.is_reversed
        self._arrange()
        self.repaint()

    def chosen(self) -> None:
        self._wanted = self.chosen_key
        self.post_message(ContainerChosen(self.chosen_key))

    def _columns(self) -> tuple[Column, ...]:
        return _ONE_LINE if self._is_in_one_line else _TWO_LINES

    @property
    def _is_in_one_line(self) -> bool:
        return self.is_bare or self.inner_width >= _WIDE_ENOUGH_FOR_ONE_LINE

    def _arrange(self) -> None:
        """Lay out the lines again if need be; keep cursor and scroll on their row."""
        pods = [each.pod for each in self._pods]
        places = self._places()
        layout = (self._is_in_one_line, self.filter, places)
        is_known = len(pods) == len(self._laid_out) and all(
            map(is_, pods, self._laid_out)
        )
        if is_known and layout == self._layout and not self.filter.is_active:
            return
        self._layout, self._laid_out = layout, pods
        self._names = pod_names(pods)
        before, distance = self.chosen_key, self.cursor - self.top
        count = len(self._lines)
        self._lay_out(places)
        if len(self._lines) != count:
            self.refresh(layout=True)
        self.cursor = self._cursor_for(self._wanted or before)
        if self.chosen_key == before:
            self.top = self._within(self.cursor - distance)
        else:
            self.choose(self.cursor)
            self.post_message(ContainerChosen(self.chosen_key))

    def _lay_out(self, places: Places) -> None:
        self._lines, self._index = [], {}
        self._total = sum(len(each.containers) for each in self._pods)
        is_in_one_line = self._is_in_one_line
        headed = None
        for pod_index, index in places or self._all_places():
            pod = self._pods[pod_index]
            container = pod.containers[index]
            if not self._keeps(pod, container):
                continue
            key = ContainerKey(pod.pod.uid, container.container.name)
            if headed != pod_index and not is_in_one_line:
                self._lines.append(ListLine(Kind.POD, key, pod_index, index))
                headed = pod_index
            self._index[key] = len(self._lines)
            self._lines.append(ListLine(Kind.CONTAINER, key, pod_index, index))
            if container.probes and not is_in_one_line:
                self._lines.append(ListLine(Kind.PROBES, key, pod_index, index))

    @property
    def _is_sorted(self) -> bool:
        return self.order is not Order.MANIFEST or self.is_reversed

    def _places(self) -> Places:
        """Return the order of containers, nothing if it is that of the manifests."""
        if not self._is_sorted:
            return ()
        return sorted_places(
            self._pods,
            self.order,
            self._view,
            is_reversed=self.is_reversed,
            keeps_pods=not self._is_in_one_line,
        )

    def _all_places(self) -> Iterator[tuple[int, int]]:
        for pod_index, pod in enumerate(self._pods):
            for index in range(len(pod.containers)):
                yield pod_index, index

    def _cursor_for(self, key: ContainerKey | None) -> int:
        """Return the line of that container, or of the first one there is."""
        first = next(iter(self._index.values()), 0)
        return self._index.get(key, first) if key is not None else first

    def _keeps(self, pod: PodSnapshot, container: ContainerSnapshot) -> bool:
        """Ask the filter, but only for pods that have changed since the last time."""
        if not self.filter.is_active:
            return True
        key = ContainerKey(pod.pod.uid, container.container.name)
        known = self._searchable.get(key)
        if known is not None and known[0] is pod:
            return known[1]
        name = object_name(self._names, *key)
        words = state(pod, container, self._view).text
        kept = self.filter.keeps(f"{name} {words}")
        self._searchable[key] = (pod, kept)
        return kept

    def _pod_row(self, pod: PodSnapshot) -> InkLine:
        cells = pod_cells(pod, self._view)
        texts = (line(), cells.name, cells.ready, cells.state, cells.restarts, line())
        return self._row(texts, _TWO_LINES, "")

    def _container_row(
        self, pod: PodSnapshot, cells: ContainerCells, also: str
    ) -> InkLine:
        tag = muted(f" {cells.kind}") if cells.kind else Span("")
        marker = line(strong(">")) if also else line()
        common = (cells.ready, cells.state, cells.restarts)
        if not self._is_in_one_line:
            name = line(f"  {cells.name}", tag)
            return self._row((marker, name, *common, cells.next), _TWO_LINES, also)
        pod_name = self._view.safe(self._names.get(pod.pod.uid, ""))
        name = line(f"{pod_name}/{cells.name}", tag)
        texts = (marker, name, *common, *cells.probes, cells.next)
        return self._row(texts, _ONE_LINE, also)

    def _probes_row(self, cells: ContainerCells, also: str) -> InkLine:
        parts: list[InkLine] = [()]
        columns = [Column("", 4)]
        for letter, each in zip(PROBE_LETTERS.values(), cells.probes, strict=True):
            parts += [inks(line(muted(letter)), also), inks(each, also)]
            columns += [Column("", 1), Column("", 9)]
        parts.append(())
        return row(parts, [*columns, Column("")], self.inner_width, also=also)

    def _bare_row(
        self,
        pod: PodSnapshot,
        cells: ContainerCells,
        also: str,
    ) -> InkLine:
        """Return name and the one probe or state that matters most."""
        pod_name = self._view.safe(self._names.get(pod.pod.uid, ""))
        shown = [
            line(muted(f"{letter} "), *each)
            for letter, each in zip(PROBE_LETTERS.values(), cells.probes, strict=True)
            if text_of(each) != "-"
        ]
        has_trouble = any(each.role is Role.ERROR for each in cells.state)
        what = cells.state if has_trouble or not shown else _most_telling(shown)
        marker = line(strong(">")) if also else line()
        texts = (marker, line(f"{pod_name}/{cells.name}"), what, cells.next)
        return self._row(texts, _BARE, also)

    def _row(
        self, texts: Sequence[Line], columns: Sequence[Column], also: str
    ) -> InkLine:
        return row(
            [inks(each, also) for each in texts],
            columns,
            self.inner_width,
            also=also,
            ellipsis=self.ellipsis,
        )


def _most_telling(shown: Sequence[Line]) -> Line:
    """Return the first probe that says something is wrong, else the first one."""
    for each in shown:
        if any(span.role is Role.ERROR for span in each):
            return each
    return shown[0]
