"""One container with its lives, and one of its probes."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.container_detail import LABEL
from probetui.presentation.container_screen import full_lines, short_lines
from probetui.presentation.detail import Subject, badges_of, tabs, title
from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.presentation.view import View
from probetui.tui.inks import PLAIN, InkLine, cells, inks, wrapped
from probetui.tui.widgets.tick_pane import TickPane

_MOST_SHORT_LINES = 14


class ContainerPane(TickPane):
    """What matters most where there is little room, everything where there is more."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="life", is_ascii=is_ascii)
        self._view = view
        self._subject: Subject | None = None
        self._rows: Sequence[InkLine] = ()

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, or nothing."""
        self._subject, self._view = subject, view
        self.repaint()

    def title(self) -> Line:
        if self._subject is None:
            return line("2 ", strong("Container"))
        subject = self._subject
        name = line("2 ", strong(title(subject, self._view)), "  ")
        words = (*name, *tabs(subject, in_letters=False))
        room = self.size.width - 8 - cells(inks(self.badge()))
        if cells(inks(words)) <= room:
            return words
        return (*name, *tabs(subject, in_letters=True))

    def badge(self) -> Line:
        if self._subject is None:
            return EMPTY
        return badges_of(self._subject, self._view)

    def count(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> InkLine:
        margin = () if self.is_bare else ((" ", PLAIN),)
        return (*margin, *self._rows[index])

    def content(self) -> Sequence[InkLine]:
        self._rows = self._lines()
        return super().content()

    def _lines(self) -> Sequence[InkLine]:
        if self._subject is None:
            return [inks(line(muted("nothing is chosen")))]
        width = self.inner_width - (0 if self.is_bare else 2)
        if self.inner_height < _MOST_SHORT_LINES:
            short = short_lines(self._subject, self._view, width)
            return [inks(each) for each in short]
        return [
            part
            for each in full_lines(self._subject, self._view, width)
            for part in wrapped(inks(each), width, indent=LABEL)
        ]
