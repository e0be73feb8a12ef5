"""Panes whose rows are rendered as a whole, not only the visible ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from probetui.presentation.text.spans import EMPTY, Line, text_of
from probetui.tui.panes.pane import Pane
from probetui.tui.styled_text import PLAIN, StyledLine, styled_line, wrapped


class RowsPane(Pane):
    """For a screenful or two: what can be long is a list, put into words in sight only.

    Subclasses say what the rows are, without the space before them.
    """

    MARGIN: ClassVar[int] = 1
    """Cells left free on both sides where the pane has a frame."""

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self._rows: Sequence[StyledLine] = ()

    @abstractmethod
    def rows(self) -> Sequence[StyledLine]:
        """Return all rows, as they are to be seen now."""

    @property
    def row_width(self) -> int:
        """Cells that a row has."""
        return self.inner_width - 2 * self._margin

    def count(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> StyledLine:
        margin = ((" " * self._margin, PLAIN),) if self._margin else ()
        return (*margin, *self._rows[index])

    def content(self) -> Sequence[StyledLine]:
        self._rows = self.rows()
        return super().content()

    def broken(
        self, lines: Sequence[Line], indent: int, quoted: int | None = None
    ) -> list[StyledLine]:
        """Return lines as rows, broken where they are too long.

        They go on `indent` cells further in; those that begin with as many spaces as
        what is `quoted` go on below their beginning.
        """
        rows: list[StyledLine] = []
        for line in lines:
            text = text_of(line)
            start = len(text) - len(text.lstrip(" "))
            go_on = indent if start != quoted else start
            rows += wrapped(styled_line(line), self.row_width, indent=go_on)
        return rows

    @property
    def _margin(self) -> int:
        return 0 if self.is_bare else self.MARGIN


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

    def rows(self) -> Sequence[StyledLine]:
        return self.broken(self._lines, _INDENT)
