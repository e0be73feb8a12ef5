"""Lines to be read, broken where they are too long."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.spans import EMPTY, Line
from probetui.tui.inks import InkLine
from probetui.tui.widgets.rows_pane import RowsPane

_INDENT = 4


class TextPane(RowsPane):
    """A pane of lines; it stays where it is when they change."""

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self._title: Line = EMPTY
        self._badge: Line = EMPTY
        self._lines: Sequence[Line] = ()

    def show(self, title: Line, badge: Line, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._title, self._badge, self._lines = title, badge, lines
        self.repaint()

    def title(self) -> Line:
        return self._title

    def badge(self) -> Line:
        return self._badge

    def rows(self) -> Sequence[InkLine]:
        return self.broken(self._lines, _INDENT)
