"""A pane that is put into words as a whole."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from probetui.presentation.spans import Line, text_of
from probetui.tui.inks import PLAIN, InkLine, inks, wrapped
from probetui.tui.widgets.pane import Pane


class RowsPane(Pane):
    """For a screenful or two: what can be long is a list, put into words in sight only.

    Subclasses say what the rows are, without the space before them.
    """

    MARGIN: ClassVar[int] = 1
    """Cells left free on both sides where the pane has a frame."""

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self._rows: Sequence[InkLine] = ()

    @abstractmethod
    def rows(self) -> Sequence[InkLine]:
        """Return all rows, as they are to be seen now."""

    @property
    def row_width(self) -> int:
        """Cells that a row has."""
        return self.inner_width - 2 * self._margin

    def count(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> InkLine:
        margin = ((" " * self._margin, PLAIN),) if self._margin else ()
        return (*margin, *self._rows[index])

    def content(self) -> Sequence[InkLine]:
        self._rows = self.rows()
        return super().content()

    def broken(
        self, lines: Sequence[Line], indent: int, quoted: int | None = None
    ) -> list[InkLine]:
        """Return lines as rows, broken where they are too long.

        They go on `indent` cells further in; those that begin with as many spaces as
        what is `quoted` go on below their beginning.
        """
        rows: list[InkLine] = []
        for each in lines:
            text = text_of(each)
            start = len(text) - len(text.lstrip(" "))
            go_on = indent if start != quoted else start
            rows += wrapped(inks(each), self.row_width, indent=go_on)
        return rows

    @property
    def _margin(self) -> int:
        return 0 if self.is_bare else self.MARGIN
