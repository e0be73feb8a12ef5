"""The bar at the bottom in which a filter is typed, in place of the keys."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from probetui.presentation.text.filters import Filter
from probetui.safe_text import safe_line
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import FilterClosed
from probetui.tui.panes.pane import Pane


class FilterBar(Horizontal):
    """The input of a filter; hidden until it is opened for a pane."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.FILTER,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self) -> None:
        super().__init__(id="filter")
        self._pane: Pane | None = None
        # Kept, not queried: a key may come before they are mounted.
        self._label = Static("", id="filter-label", markup=False)
        self._entry = Input(id="filter-input", compact=True, select_on_focus=False)
        self._hits = Static("", id="filter-hits", markup=False)
        self.display = False

    def open(self, pane: Pane) -> None:
        """Open and focus the bar; the pane is filtered as the user types."""
        self._pane = pane
        if not self._entry.is_attached:  # rarely needed, and expensive to style
            self.mount(self._label, self._entry, self._hits)
        self._label.update(f" filter {pane.id} /")
        self.display = True
        self._entry.value = pane.filter.text
        self._entry.cursor_position = len(self._entry.value)
        self._entry.focus()
        self.show_hits()

    def show_hits(self) -> None:
        """Show how many lines are kept, or what is wrong with the text."""
        if self._pane is None or not self.is_mounted:
            return
        error = self._pane.filter.error
        self._hits.set_class(bool(error), "-error")
        status = safe_line(error or self._pane.hits)
        self._hits.update(f" {status}   enter keeps  esc clears ")

    def action_clear(self) -> None:
        self._close(Filter())

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._pane is not None:
            self._pane.show_filter(self._parse(event.value))
            self.show_hits()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        entered = self._parse(event.value)
        self._close(Filter() if entered.error else entered)

    def _parse(self, text: str) -> Filter:
        has_labels = self._pane is not None and self._pane.HAS_LABELS
        return Filter.parse(text, has_labels=has_labels)

    def _close(self, wanted: Filter) -> None:
        if self._pane is not None:
            self._pane.show_filter(wanted)
            self._pane.focus()
        self._pane = None
        self.display = False
        self.post_message(FilterClosed())
