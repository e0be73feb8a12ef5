"""A screen on which something is read: one pane, a line above it, keys below."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Resize

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import Line, line
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import FilterClosed, ListViewChanged
from probetui.tui.panes.bars import TopLine
from probetui.tui.panes.entry_pane import EntryPane
from probetui.tui.panes.filter_bar import Filterable, FilterBar
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.sizes import FRAMED, is_below
from probetui.tui.state import UiState
from probetui.tui.view_model import ViewModel


class ReadingScreen(ActionScreen, inherit_bindings=False):
    """Subclasses give the panes, of which one is to be seen, and what stands above."""

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.READING,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
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
    def show_content(self, view_model: ViewModel) -> None:
        """Show what there is now."""

    @abstractmethod
    def heading(self, view_model: ViewModel) -> Line:
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
        self.show(self.ui_state.view_model)

    def on_resize(self, event: Resize) -> None:
        for pane in self.panes:
            pane.show_bare(is_bare=is_below(event.size, FRAMED))

    def show(self, view_model: ViewModel) -> None:
        self.show_content(view_model)
        self._show_heading()
        self._filter.show_hits()
        self.refresh_keys()

    def change_pane(self) -> None:
        """Show the pane that is to be seen instead of the others."""
        for pane in self.panes:
            pane.display = pane is self.pane
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

    @on(ListViewChanged)
    def _show_heading(self) -> None:
        view_model = self.ui_state.view_model
        clock = view_model.view.times.wall(view_model.snapshot.taken_at)
        self._top_line.show(self.heading(view_model), line(f"  {clock} "))

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self.key_line.display = True
