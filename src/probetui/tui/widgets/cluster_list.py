"""What a cluster would show of the events: `kubectl events` of this session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType

from probetui.kubelet.event_recorder import ClusterEvent
from probetui.presentation.cluster_lines import cluster_cells, cluster_text
from probetui.presentation.describe import describe_events
from probetui.presentation.filters import Filter
from probetui.presentation.folding import ClusterView
from probetui.presentation.spans import Line, Role, Span, line, muted, strong, text_of
from probetui.presentation.view import View
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import PLAIN, Column, InkLine, headings, inks, row
from probetui.tui.messages import CopyWanted
from probetui.tui.widgets.entry_pane import EntryPane

_COLUMNS = (
    Column("", 1),
    Column("LAST SEEN", 20),
    Column("TYPE", 7),
    Column("REASON", 10),
    Column("OBJECT", 12),
    Column("MESSAGE"),
)
_FIXED = _COLUMNS[:-1]


class ClusterList(EntryPane):
    """Folded by the rules of the kubelet's recorder, the one seen last at the end."""

    PLACES: ClassVar[tuple[Where, ...]] = (
        Where.PANE,
        Where.ENTRIES,
        Where.EVENT_LIST,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="cluster", is_ascii=is_ascii)
        self._view = view
        self._names: Mapping[str, str] = {}
        self._pod_uid = ""
        self._cluster = ClusterView()
        self._all: tuple[ClusterEvent, ...] = ()
        self._shown: tuple[ClusterEvent, ...] = ()

    @property
    def hits(self) -> str:
        """How many events the filter keeps, in words."""
        return f"{len(self._shown)} of {len(self._all)}"

    @property
    def is_marked(self) -> bool:
        """The cursor is seen all the time."""
        return True

    @property
    def indent(self) -> int:
        """How far messages stand to the right."""
        return sum(each.width or 0 for each in _FIXED) + len(_FIXED)

    def show(
        self,
        cluster: ClusterView,
        names: Mapping[str, str],
        view: View,
        pod_uid: str = "",
    ) -> None:
        """Show what a cluster would, of all pods or of one; the cursor stays."""
        self._cluster, self._names, self._view = cluster, names, view
        self._pod_uid = pod_uid
        self._select()
        self.repaint()

    def show_filter(self, wanted: Filter) -> None:
        """Keep only events that a filter keeps."""
        self.filter = wanted
        if wanted.is_active:
            self.sought = wanted
        self._select()
        self.repaint()

    def title(self) -> Line:
        found = f"  filter: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            strong("As a cluster shows them"),
            Span(found if self.filter.is_active else "", Role.ACCENT),
        )

    def badge(self) -> Line:
        dropped = self._cluster.dropped
        if not dropped:
            return line(muted("nothing dropped"))
        return line(Span(f"{dropped} dropped by the spam filter", Role.WARNING))

    def count(self) -> int:
        return len(self._shown)

    def above(self) -> Sequence[InkLine]:
        return [] if self.is_bare else [row(headings(_COLUMNS), _COLUMNS, self._room)]

    def row(self, index: int) -> InkLine:
        """Return one event in columns."""
        also = self._look_of(index)
        return self._found(index, self._in_columns(index, _COLUMNS, self._room, also))

    def entry(self, index: int, also: str) -> InkLine:
        """Return one event with its message in full."""
        head = self._in_columns(index, _FIXED, self.indent - 1, also)
        cells = cluster_cells(self._shown[index], self._names, self._view)
        look = f"{PLAIN} {also}" if also else PLAIN
        return (*head, (" ", look), *inks(cells.message, also))

    def searchable(self, index: int) -> str:
        """Return an event as a filter looks at it."""
        return self._text(self._shown[index])

    def copy_text(self, index: int) -> str:
        """Return an event as it is copied."""
        return self._text(self._shown[index])

    def action_copy_as(self) -> None:
        """Copy the chosen event as `kubectl describe` shows it."""
        if self.cursor < len(self._shown):
            lines = describe_events([self._shown[self.cursor]], self._view)
            self.post_message(CopyWanted("\n".join(text_of(each) for each in lines)))

    @property
    def _room(self) -> int:
        return self.inner_width

    def _select(self) -> None:
        chosen = self._shown[self.cursor] if self.cursor < len(self._shown) else None
        self._all = self._cluster.events(self._pod_uid or None)
        self._shown = self._all
        if self.filter.is_active:
            self._shown = tuple(
                each for each in self._all if self.filter.keeps(self._text(each))
            )
        same = (index for index, each in enumerate(self._shown) if _same(each, chosen))
        last = max(len(self._shown) - 1, 0)
        self.choose(next(same, last if chosen is None else min(self.cursor, last)))

    def _text(self, event: ClusterEvent) -> str:
        return cluster_text(event, self._names, self._view)

    def _in_columns(
        self, index: int, columns: Sequence[Column], width: int, also: str
    ) -> InkLine:
        cells = cluster_cells(self._shown[index], self._names, self._view)
        marker = line(strong(">")) if also else line()
        texts = (
            marker,
            cells.age,
            cells.type,
            cells.reason,
            cells.object,
            cells.message,
        )[: len(columns)]
        return row(
            [inks(each, also) for each in texts],
            columns,
            width,
            also=also,
            ellipsis=self.ellipsis,
        )


def _same(event: ClusterEvent, other: ClusterEvent | None) -> bool:
    """Tell whether two are the same event of a cluster, at two moments."""
    return other is not None and (
        (event.pod_uid, event.type, event.reason, event.first_seen_at)
        == (other.pod_uid, other.type, other.reason, other.first_seen_at)
        and (event.is_combined or event.message == other.message)
    )
