"""The log of events on a screen of its own: the chosen line is told in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.event_detail import as_kubectl_describes, event_detail
from probetui.presentation.event_lines import EventLines
from probetui.presentation.events import EventLine
from probetui.presentation.folding import ClusterView, Fold
from probetui.presentation.past import Past
from probetui.presentation.spans import EMPTY, Line
from probetui.presentation.view import View
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import InkLine, inks, wrapped
from probetui.tui.messages import CopyWanted
from probetui.tui.widgets.event_pane import EventPane

_LEAST_HEIGHT = 12
_MOST_DETAIL_LINES = 10
_MARGIN = 2
_ROOM_FOR_HINT = 1


class EventList(EventPane):
    """Reads the whole log by itself, from where it was."""

    PLACES: ClassVar[tuple[Where, ...]] = (
        Where.PANE,
        Where.ENTRIES,
        Where.FOLLOWING,
        Where.EVENTS,
        Where.EVENT_LIST,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(
        self, view: View, hint: Line = EMPTY, *, is_ascii: bool = False
    ) -> None:
        super().__init__(view, is_ascii=is_ascii)
        self._hint = hint
        self._cluster = ClusterView()
        self._past = Past(())
        self._source: EventLines | None = None
        self._read = 0
        self._is_cluster_only = False

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
        log: EventLines,
        cluster: ClusterView,
        past: Past,
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
        self._is_cluster_only = is_only
        self._select_again()

    def below(self) -> Sequence[InkLine]:
        """Return the chosen line in full; always as many lines, so that none jumps."""
        height = self._detail_height()
        chosen = self.chosen_line
        if not height or chosen is None:
            return ()
        width = self.inner_width - 2 * _MARGIN
        lines = [
            ((" " * _MARGIN, "plain"), *part)
            for each in event_detail(chosen, self._fold(chosen), self.view)
            for part in wrapped(inks(each), width, indent=2)
        ]
        shown = [(), *lines][:height]
        blank = height - len(shown)
        hint = [] if blank < _ROOM_FOR_HINT else [inks(self._hint)]
        return [*shown, *([()] * (blank - len(hint))), *hint]

    def action_copy_as(self) -> None:
        """Copy the chosen event as `kubectl describe` shows it, else as it is here."""
        chosen = self.chosen_line
        if chosen is not None:
            text = as_kubectl_describes(self._fold(chosen), self.view)
            self.post_message(CopyWanted(text or self.copy_text(self.cursor)))

    def _fold(self, entry: EventLine) -> Fold | None:
        return self._cluster.of(entry.sequence)

    def _detail_height(self) -> int:
        if self.is_bare or self.inner_height < _LEAST_HEIGHT:
            return 0
        return min(self.inner_height // 2 - 1, _MOST_DETAIL_LINES)

    def _kept(self, first: int) -> list[EventLine]:
        lines = super()._kept(first)
        if self._is_cluster_only:
            return [each for each in lines if each.is_of_a_cluster]
        return lines
