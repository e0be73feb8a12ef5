"""Lines to be read, broken where they are too long."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.spans import EMPTY, Line
from probetui.tui.inks import PLAIN, InkLine, inks, wrapped
from probetui.tui.widgets.pane import Pane

_INDENT = 4


class TextPane(Pane):
    """A pane of lines; it stays where it is when they change."""

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self._title: Line = EMPTY
        self._badge: Line = EMPTY
        self._lines: Sequence[Line] = ()
        self._rows: Sequence[InkLine] = ()

    def show(self, title: Line, badge: Line, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._title, self._badge, self._lines = title, badge, lines
        self.repaint()

    def title(self) -> Line:
        return self._title

    def badge(self) -> Line:
        return self._badge

    def count(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> InkLine:
        margin = () if self.is_bare else ((" ", PLAIN),)
        return (*margin, *self._rows[index])

    def content(self) -> Sequence[InkLine]:
        width = self.inner_width - (0 if self.is_bare else 2)
        self._rows = [
            part
            for each in self._lines
            for part in wrapped(inks(each), width, indent=_INDENT)
        ]
        return super().content()
