"""A page of text to be read and searched."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.filters import Filter
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.presentation.spans import text_of as words_of
from probetui.presentation.view import View
from probetui.tui.inks import InkLine, inks
from probetui.tui.widgets.entry_pane import EntryPane


class TextPage(EntryPane):
    """Lines as they are given; a filter does not hide any, it is searched for."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="page", is_ascii=is_ascii)
        self._view = view
        self._heading: Line = EMPTY
        self._lines: Sequence[Line] = ()
        self._hits: list[int] = []

    @property
    def hits(self) -> str:
        """How many lines have what is searched for, and at which of them one is."""
        if not self.filter.is_active:
            return f"{len(self._lines)} lines"
        if self.cursor in self._hits:
            return f"{self._hits.index(self.cursor) + 1} of {len(self._hits)}"
        return f"{len(self._hits)} hits"

    def show(self, heading: Line, lines: Sequence[Line], view: View) -> None:
        """Show other lines; cursor and scroll position stay where they are."""
        self._heading, self._view = heading, view
        if lines is not self._lines:
            self._lines = lines
            self._find()
            self.choose(max(min(self.cursor, len(lines) - 1), 0))
        self.repaint()

    def show_filter(self, wanted: Filter) -> None:
        """Search for something, from the line on where one is."""
        self.filter = self.sought = wanted
        self._find()
        if self._hits and self.filter.is_active:
            after = (each for each in self._hits if each >= self.cursor)
            self.choose(next(after, self._hits[0]))
        self.repaint()

    def title(self) -> Line:
        found = f"  search: {self._view.safe(self.filter.text)} ({self.hits})"
        return line(
            *self._heading, Span(found if self.filter.is_active else "", Role.ACCENT)
        )

    def badge(self) -> Line:
        return line(muted(f"line {self.cursor + 1} of {max(len(self._lines), 1)}"))

    def count(self) -> int:
        return len(self._lines)

    def entry(self, index: int, also: str) -> InkLine:
        """Return one line, a mark before it where the cursor is."""
        marker = strong(">") if also else Span(" ")
        return inks(line(marker, *self._lines[index]), also)

    def searchable(self, index: int) -> str:
        """Return a line as it is searched."""
        return words_of(self._lines[index])

    def copy_text(self, index: int) -> str:
        """Return a line as it is copied."""
        return words_of(self._lines[index])

    def _find(self) -> None:
        self._hits = [
            index
            for index in range(len(self._lines))
            if self.filter.is_active and self.filter.keeps(self.searchable(index))
        ]
