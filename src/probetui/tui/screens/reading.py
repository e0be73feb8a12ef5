"""A screen on which something is read: one pane, a line above it, keys below."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize

from probetui.presentation.filters import Filter
from probetui.presentation.spans import Line, line
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.messages import FilterClosed, ReadOn
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.screens.sizes import FRAMED, is_below
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.entry_pane import EntryPane
from probetui.tui.widgets.filter_bar import Filterable, FilterBar
from probetui.tui.widgets.top_line import TopLine


class ReadingScreen(KeyedScreen, inherit_bindings=False):
    """Subclasses give the panes, of which one is to be seen, and what stands above."""

    CSS_PATH = "../styles/reading.tcss"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.READING,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._top_line = TopLine()
        self._filter = FilterBar()

    @property
    @abstractmethod
    def panes(self) -> tuple[EntryPane, ...]:
        """The panes there are, from the first."""

    @property
    @abstractmethod
    def pane(self) -> EntryPane:
        """The pane that is to be seen."""

    @abstractmethod
    def show_content(self, sight: Sight) -> None:
        """Show what there is now."""

    @abstractmethod
    def heading(self, sight: Sight) -> Line:
        """Return what stands above it."""

    @abstractmethod
    def filterable(self) -> Filterable:
        """Return what is filtered, or searched."""

    def compose(self) -> ComposeResult:
        yield self._top_line
        yield Container(*self.panes, id="reading")
        yield self._filter
        yield self.key_line

    def on_mount(self) -> None:
        self.change_pane()
        self.show(self.stage.sight)

    def on_resize(self, event: Resize) -> None:
        for each in self.panes:
            each.show_bare(is_bare=is_below(event.size, FRAMED))

    def show(self, sight: Sight) -> None:
        self.show_content(sight)
        self._show_heading()
        self._filter.show_hits()
        self.refresh_keys()

    def change_pane(self) -> None:
        """Show the pane that is to be seen instead of the others."""
        for each in self.panes:
            each.display = each is self.pane
        self.pane.focus()

    def action_filter(self, text: str = "") -> None:
        if text:
            self.filterable().show_filter(Filter.parse(text))
            return
        self.key_line.display = False
        self._filter.open(self.filterable())

    def action_back(self) -> None:
        """Take the filter off; without one, leave."""
        if self.filterable().filter.is_active:
            self.filterable().show_filter(Filter())
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.dismiss()

    @on(ReadOn)
    def _show_heading(self) -> None:
        sight = self.stage.sight
        clock = sight.view.times.wall(sight.snapshot.taken_at)
        self._top_line.show(self.heading(sight), line(f"  {clock} "))

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self.key_line.display = True
