"""The selected event in full, below the list of events."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from probetui.analysis.container_history import SessionHistory
from probetui.analysis.event_aggregation import AggregatedEvent, ClusterEvents
from probetui.presentation.events.detail import event_detail, format_as_kubectl
from probetui.presentation.events.log import EventLine
from probetui.presentation.events.story import StoryRow
from probetui.presentation.text.spans import EMPTY, Line
from probetui.presentation.text.view import View
from probetui.tui.panes.event_pane import EventPane
from probetui.tui.styled_text import PLAIN, StyledLine, styled_line, wrapped

_LEAST_HEIGHT = 12
_MOST_DETAIL_LINES = 10
_MARGIN = 2
_ROOM_FOR_HINT = 1


class EventDetail:
    """The selected event in full: its tick, and what a cluster shows of it.

    Args:
        hint: the keys for the selected event.
    """

    def __init__(self, hint: Line = EMPTY) -> None:
        self._hint = hint
        self._cluster = ClusterEvents()
        self._past = SessionHistory(())

    def update(self, cluster: ClusterEvents, past: SessionHistory) -> None:
        """Set the cluster's events, and the session's ticks."""
        self._cluster, self._past = cluster, past

    def with_tick(self, shown: EventLine) -> EventLine:
        """Return a line with its tick, if it has one."""
        if not shown.tick_sequence:
            return shown
        return replace(shown, tick=self._past.tick(shown.tick_sequence))

    def fold(self, chosen: StoryRow) -> AggregatedEvent | None:
        """Return the aggregate of the newest event in a row, None if it has none."""
        folds = (self._cluster.of(shown.sequence) for shown in reversed(chosen.lines))
        return next((fold for fold in folds if fold is not None), None)

    def format_as_kubectl(self, chosen: StoryRow, view: View) -> str:
        """Format a row as `kubectl describe` does; empty if it would not show it."""
        return format_as_kubectl(self.fold(chosen), view)

    def rows(
        self, pane: EventPane, chosen: StoryRow, head: EventLine
    ) -> Sequence[StyledLine]:
        """Return the detail, padded to a fixed height so that nothing jumps."""
        if pane.is_bare or pane.inner_height < _LEAST_HEIGHT:
            return ()
        height = min(pane.inner_height // 2 - 1, _MOST_DETAIL_LINES)
        width = pane.inner_width - 2 * _MARGIN
        others = () if chosen.recurs else chosen.lines  # it unfolds into them
        earlier = [shown for shown in others if shown is not chosen.head]
        fold = self.fold(chosen)
        lines = [
            ((" " * _MARGIN, PLAIN), *part)
            for detail in event_detail(head, fold, pane.view, earlier=earlier)
            for part in wrapped(styled_line(detail), width, indent=2)
        ]
        shown = [(), *lines][:height]
        blank = height - len(shown)
        hint = [] if blank < _ROOM_FOR_HINT else [styled_line(self._hint)]
        return [*shown, *([()] * (blank - len(hint))), *hint]
