"""The panes of the event screen: the whole log, and what a cluster would show of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual.binding import BindingType

from probetui.analysis.container_history import SessionHistory
from probetui.analysis.event_aggregation import AggregatedEvent, ClusterEvents
from probetui.kubelet.events.event_correlator import ClusterEvent
from probetui.presentation.events.detail import (
    cluster_cells,
    cluster_text,
    event_detail,
    format_as_kubectl,
)
from probetui.presentation.events.log import EventLine, EventLineBuffer
from probetui.presentation.events.story import StoryRow
from probetui.presentation.kubectl.describe import describe_events
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
from probetui.tui.actions.table import bindings
from probetui.tui.messages import CopyRequested
from probetui.tui.panes.entry_pane import EntryPane
from probetui.tui.panes.event_pane import EventPane
from probetui.tui.styled_text import (
    PLAIN,
    Column,
    StyledLine,
    headings,
    row,
    styled_line,
    wrapped,
)

_LEAST_HEIGHT = 12
_MOST_DETAIL_LINES = 10
_MARGIN = 2
_ROOM_FOR_HINT = 1


class EventLogPane(EventPane):
    """Reads the whole log by itself, from where it was."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
        KeyContext.EVENTS,
        KeyContext.EVENT_LIST,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self, view: View, hint: Line = EMPTY, *, is_ascii: bool = False
    ) -> None:
        super().__init__(view, is_ascii=is_ascii)
        self.shows_state = True
        self._hint = hint
        self._cluster = ClusterEvents()
        self._past = SessionHistory(())
        self._source: EventLineBuffer | None = None
        self._read = 0

    @property
    def is_marked(self) -> bool:
        """The cursor is seen all the time: the lines below are about it."""
        return True

    @property
    def chosen_line(self) -> EventLine | None:
        """The line under the cursor, with the tick behind it."""
        chosen = super().chosen_line
        if chosen is None or not chosen.tick_sequence:
            return chosen
        return replace(chosen, tick=self._past.tick(chosen.tick_sequence))

    def read(
        self,
        log: EventLineBuffer,
        cluster: ClusterEvents,
        past: SessionHistory,
        counts: tuple[int, int],
        view: View,
    ) -> None:
        """Show what is new in a log; another one than before is read anew.

        `cluster` is what a cluster would show of it, `past` has the ticks behind it.
        """
        self._cluster, self._past = cluster, past
        if log is not self._source:
            self._source, self._read = log, 0
            self.forget()
        fresh = log.since(self._read)
        self._read = log.total
        self.show(fresh, counts, view)

    def show_cluster_lines_only(self, *, is_only: bool) -> None:
        """Leave out what a cluster keeps to itself, or show it again."""
        self.is_raw = is_only
        self._select_again()

    def below(self) -> Sequence[StyledLine]:
        """Return the chosen line in full; always as many lines, so that none jumps."""
        height = self._detail_height()
        chosen, head = self.chosen_row, self.chosen_line
        if chosen is None or head is None:
            return super().below()
        if not height:
            return ()
        width = self.inner_width - 2 * _MARGIN
        fold = self._fold(chosen)
        earlier = [shown for shown in chosen.lines if shown is not chosen.head]
        lines = [
            ((" " * _MARGIN, "plain"), *part)
            for detail in event_detail(head, fold, self.view, earlier=earlier)
            for part in wrapped(styled_line(detail), width, indent=2)
        ]
        shown = [(), *lines][:height]
        blank = height - len(shown)
        hint = [] if blank < _ROOM_FOR_HINT else [styled_line(self._hint)]
        return [*shown, *([()] * (blank - len(hint))), *hint]

    def action_copy_as(self) -> None:
        """Copy the chosen event as `kubectl describe` shows it, else as it is here."""
        chosen = self.chosen_row
        if chosen is not None:
            text = format_as_kubectl(self._fold(chosen), self.view)
            self.post_message(CopyRequested(text or self.copy_text(self.cursor)))

    def _fold(self, chosen: StoryRow) -> AggregatedEvent | None:
        """Return what a cluster shows of the newest event in a row."""
        folds = (self._cluster.of(shown.sequence) for shown in reversed(chosen.lines))
        return next((fold for fold in folds if fold is not None), None)

    def _detail_height(self) -> int:
        if self.is_bare or self.inner_height < _LEAST_HEIGHT:
            return 0
        return min(self.inner_height // 2 - 1, _MOST_DETAIL_LINES)

    def _kept(self, first: int) -> list[EventLine]:
        lines = super()._kept(first)
        if self.is_raw:
            return [line for line in lines if line.is_cluster_event]
        return lines


_COLUMNS = (
    Column("", 1),
    Column("LAST SEEN", 20),
    Column("TYPE", 7),
    Column("REASON", 10),
    Column("OBJECT", 12),
    Column("MESSAGE"),
)
_FIXED_COLUMNS = _COLUMNS[:-1]


class ClusterEventPane(EntryPane):
    """Folded by the rules of the kubelet's recorder, the one seen last at the end."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.EVENT_LIST,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="cluster", is_ascii=is_ascii)
        self._view = view
        self._names: Mapping[str, str] = {}
        self._pod_uid = ""
        self._cluster = ClusterEvents()
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
        return sum(column.width or 0 for column in _FIXED_COLUMNS) + len(_FIXED_COLUMNS)

    def show(
        self,
        cluster: ClusterEvents,
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
            return line(muted("no event dropped"))
        return line(Span(f"{dropped} dropped by the spam filter", Role.WARNING))

    def count(self) -> int:
        return len(self._shown)

    def above(self) -> Sequence[StyledLine]:
        return [] if self.is_bare else [row(headings(_COLUMNS), _COLUMNS, self._room)]

    def below(self) -> Sequence[StyledLine]:
        """Return why there is no event, and what to do."""
        if self._shown:
            return ()
        words = "No events yet."
        if self.filter.is_active:
            words = no_match_text("event", self._view.safe(self.filter.text))
        return [styled_line(line(muted(f" {words}")))]

    def row(self, index: int) -> StyledLine:
        """Return one event in columns."""
        also = self._look_of(index)
        return self._found(index, self._in_columns(index, _COLUMNS, self._room, also))

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one event with its message in full."""
        head = self._in_columns(index, _FIXED_COLUMNS, self.indent - 1, also)
        cells = cluster_cells(self._shown[index], self._names, self._view)
        look = f"{PLAIN} {also}" if also else PLAIN
        return (*head, (" ", look), *styled_line(cells.message, also))

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
            self.post_message(
                CopyRequested("\n".join(text_of(shown) for shown in lines))
            )

    @property
    def _room(self) -> int:
        return self.inner_width

    def _select(self) -> None:
        chosen = self._shown[self.cursor] if self.cursor < len(self._shown) else None
        self._all = self._cluster.events(self._pod_uid or None)
        self._shown = self._all
        if self.filter.is_active:
            self._shown = tuple(
                event for event in self._all if self.filter.keeps(self._text(event))
            )
        same = (
            index for index, event in enumerate(self._shown) if _same(event, chosen)
        )
        last = max(len(self._shown) - 1, 0)
        self.choose(next(same, last if chosen is None else min(self.cursor, last)))

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
    """Tell whether two are the same event of a cluster, at two moments."""
    return other is not None and (
        (event.pod_uid, event.type, event.reason, event.first_seen_at)
        == (other.pod_uid, other.type, other.reason, other.first_seen_at)
        and (event.is_combined or event.message == other.message)
    )
