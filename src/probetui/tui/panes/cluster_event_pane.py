"""The events as a cluster would show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType

from probetui.analysis.event_aggregation import ClusterEvents
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.events.detail import cluster_cells, cluster_text
from probetui.presentation.kubectl.describe import describe_events
from probetui.presentation.text.filters import Filter, no_match_text
from probetui.presentation.text.spans import (
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
from probetui.tui.actions.table import bindings
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.viewport import EntryViewport
from probetui.tui.styled_text import (
    PLAIN,
    Column,
    StyledLine,
    headings,
    row,
    styled_line,
)

_COLUMNS = (
    Column("", 1),
    Column("LAST SEEN", 20),
    Column("TYPE", 7),
    Column("REASON", 10),
    Column("OBJECT", 12),
    Column("MESSAGE"),
)
_FIXED_COLUMNS = _COLUMNS[:-1]


class ClusterEventPane(Pane):
    """Events combined by the rules of the kubelet's recorder, last seen at the end."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="cluster", is_ascii=is_ascii)
        self.viewport: EntryViewport = EntryViewport(self)
        self._view = view
        self._names: Mapping[str, str] = {}
        self._pod_uid = ""
        self._cluster = ClusterEvents()
        self._all: tuple[ClusterEvent, ...] = ()
        self._shown: tuple[ClusterEvent, ...] = ()

    @property
    def hits(self) -> str:
        """The number of events that the filter keeps: `3 of 12`."""
        return f"{len(self._shown)} of {len(self._all)}"

    @property
    def is_marked(self) -> bool:
        """True: the cursor is always visible."""
        return True

    @property
    def indent(self) -> int:
        """The indentation of messages, in cells."""
        return sum(column.width or 0 for column in _FIXED_COLUMNS) + len(_FIXED_COLUMNS)

    def show(
        self,
        cluster: ClusterEvents,
        names: Mapping[str, str],
        view: View,
        pod_uid: str = "",
    ) -> None:
        """Show the events of all pods or of one; the cursor stays on its event."""
        self._cluster, self._names, self._view = cluster, names, view
        self._pod_uid = pod_uid
        self._select()
        self.viewport.show()

    def show_filter(self, wanted: Filter) -> None:
        """Filter the events."""
        self.filter = wanted
        if wanted.is_active:
            self.viewport.sought = wanted
        self._select()
        self.viewport.show()

    def title(self) -> Line:
        filtered = f"  filter: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            strong("As a cluster shows them"),
            Span(filtered if self.filter.is_active else "", Role.ACCENT),
        )

    def badge(self) -> Line:
        dropped = self._cluster.dropped
        if not dropped:
            return line(muted("no event dropped"))
        return line(Span(f"{dropped} dropped by the spam filter", Role.WARNING))

    def count(self) -> int:
        return len(self._shown)

    def above(self) -> Sequence[StyledLine]:
        return (
            []
            if self.is_bare
            else [row(headings(_COLUMNS), _COLUMNS, self.inner_width)]
        )

    def below(self) -> Sequence[StyledLine]:
        """Return why there is no event, and what to do."""
        if self._shown:
            return ()
        reason = "No events yet."
        if self.filter.is_active:
            reason = no_match_text("event", self._view.safe(self.filter.text))
        return [styled_line(line(muted(f" {reason}")))]

    def row(self, index: int) -> StyledLine:
        """Return one event in columns."""
        also = self.viewport.look_of(index)
        shown = self._in_columns(index, _COLUMNS, self.inner_width, also)
        return self.viewport.underlined(shown)

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one event with its message in full."""
        head = self._in_columns(index, _FIXED_COLUMNS, self.indent - 1, also)
        cells = cluster_cells(self._shown[index], self._names, self._view)
        look = f"{PLAIN} {also}" if also else PLAIN
        return (*head, (" ", look), *styled_line(cells.message, also))

    def searchable(self, index: int) -> str:
        """Return the text of an event for filters."""
        return self._text(self._shown[index])

    def copy_text(self, index: int) -> str:
        """Return the text of an event for copying."""
        return self._text(self._shown[index])

    def copy_as_kubectl(self) -> str:
        """Return the selected event as `kubectl describe` shows it, empty if none."""
        selected = self._shown[self.viewport.cursor :][:1]
        return (
            "\n".join(map(text_of, describe_events(selected, self._view)))
            if selected
            else ""
        )

    def _select(self) -> None:
        cursor = self.viewport.cursor
        selected = self._shown[cursor] if cursor < len(self._shown) else None
        self._all = self._cluster.events(self._pod_uid or None)
        self._shown = self._all
        if self.filter.is_active:
            self._shown = tuple(
                event for event in self._all if self.filter.keeps(self._text(event))
            )
        same = (
            index for index, event in enumerate(self._shown) if _same(event, selected)
        )
        last = max(len(self._shown) - 1, 0)
        nearest = last if selected is None else min(cursor, last)
        self.viewport.choose(next(same, nearest))

    def _text(self, event: ClusterEvent) -> str:
        return cluster_text(event, self._names, self._view)

    def _in_columns(
        self, index: int, columns: Sequence[Column], width: int, also: str
    ) -> StyledLine:
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
            [styled_line(text, also) for text in texts],
            columns,
            width,
            also=also,
            ellipsis=self.ellipsis,
        )


def _same(event: ClusterEvent, other: ClusterEvent | None) -> bool:
    """Return whether two values are the same event, at different instants."""
    return other is not None and (
        (event.pod_uid, event.type, event.reason, event.first_seen_at)
        == (other.pod_uid, other.type, other.reason, other.first_seen_at)
        and (event.is_combined or event.message == other.message)
    )
