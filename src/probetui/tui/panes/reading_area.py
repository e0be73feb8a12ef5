"""The content of a screen for reading: a heading, one pane, and keys below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.events import Resize

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import Line, line
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import FilterClosed, ListViewChanged
from probetui.tui.panes.bars import KeyLine, TopLine
from probetui.tui.panes.filter_bar import FilterBar
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.sizes import FRAMED, is_below
from probetui.tui.state import UiState, is_allowed
from probetui.tui.view_model import ViewModel


class ReadingArea(Vertical):
    """Shows one of several panes, which can be filtered or searched.

    Args:
        ui_state: the state of the screen.
        panes: the panes; the first one is shown first.
        heading: returns the line above them.
        key_line: the line below them, unless a filter is typed.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.READING,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self,
        ui_state: UiState,
        panes: Sequence[Pane],
        heading: Callable[[ViewModel], Line],
        key_line: KeyLine,
    ) -> None:
        super().__init__()
        self._ui_state = ui_state
        self._panes = panes
        self._heading = heading
        self._key_line = key_line
        self._top_line = TopLine()
        self._filter = FilterBar()
        self.pane = panes[0]

    def compose(self) -> ComposeResult:
        yield self._top_line
        yield Container(*self._panes, id="reading")
        yield self._filter
        yield self._key_line

    def on_mount(self) -> None:
        self.show_pane(self.pane)

    def on_resize(self, event: Resize) -> None:
        for pane in self._panes:
            pane.show_bare(is_bare=is_below(event.size, FRAMED))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible."""
        return is_allowed(self, action, parameters)

    def show_pane(self, wanted: Pane) -> None:
        """Show a pane instead of the others."""
        self.pane = wanted
        for pane in self._panes:
            pane.display = pane is wanted
        wanted.focus()

    @on(ListViewChanged)
    def show_heading(self) -> None:
        """Update the heading, and the number of lines that the filter keeps."""
        view_model = self._ui_state.view_model
        clock = view_model.view.times.wall(view_model.snapshot.taken_at)
        self._top_line.show(self._heading(view_model), line(f"  {clock} "))
        self._filter.show_hits()

    def action_filter(self, text: str = "") -> None:
        if text:
            self.pane.show_filter(Filter.parse(text))
            return
        self._key_line.display = False
        self._filter.open(self.pane)

    def action_back(self) -> None:
        """Clear the filter; without one, close the page."""
        if self.pane.filter.is_active:
            self.pane.show_filter(Filter())
        else:
            self.action_leave()

    def action_leave(self) -> None:
        self.screen.dismiss()

    @on(FilterClosed)
    def _filter_closed(self) -> None:
        self._key_line.display = True
