"""The first line of a screen: where one is, and how it is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.spans import EMPTY, Line
from probetui.tui.inks import InkLine, cells, fit, inks
from probetui.tui.widgets.painted import Painted


class TopLine(Painted):
    """Words at the left and at the right; the left ones give way."""

    def __init__(self) -> None:
        super().__init__(id="top-line")
        self._left: Line = EMPTY
        self._right: Line = EMPTY

    def show(self, left: Line, right: Line) -> None:
        """Show other words."""
        self._left, self._right = left, right
        self.repaint()

    def content(self) -> Sequence[InkLine]:
        right = inks(self._right)
        return [(*fit(inks(self._left), self.size.width - cells(right)), *right)]
