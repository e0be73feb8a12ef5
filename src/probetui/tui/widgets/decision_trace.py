"""What a tick decided, step by step."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.detail import Subject
from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.presentation.trace import title as tick_title
from probetui.presentation.trace_lines import TWO_COLUMNS, trace_lines
from probetui.presentation.view import View
from probetui.tui.inks import PLAIN, InkLine, inks, wrapped
from probetui.tui.widgets.tick_pane import TickPane

_INDENT, _WIDE_INDENT = 15, 22


class DecisionTrace(TickPane):
    """The questions of the tick that is looked at, their answers, and what followed."""

    def __init__(
        self,
        view: View,
        *,
        id: str = "trace",  # noqa: A002  # the framework's
        is_ascii: bool = False,
    ) -> None:
        super().__init__(id=id, is_ascii=is_ascii)
        self._view = view
        self._subject: Subject | None = None
        self._rows: Sequence[InkLine] = ()

    def show(self, subject: Subject | None, view: View) -> None:
        """Show the tick that is looked at, or nothing."""
        self._subject, self._view = subject, view
        self.repaint()

    def title(self) -> Line:
        heading = line("5 ", strong("Decision trace"))
        tick = None if self._subject is None else self._subject.tick
        if tick is None:
            return heading
        return line(*heading, "  ", *tick_title(tick, self._view))

    def badge(self) -> Line:
        if self._subject is None or self._subject.cursor is None:
            return EMPTY
        return line(muted("not the newest"))

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
        width = self.inner_width - 2
        indent = _WIDE_INDENT if width >= TWO_COLUMNS else _INDENT
        return [
            part
            for each in trace_lines(self._subject, self._view, width, self.inner_height)
            for part in wrapped(inks(each), width, indent=indent)
        ]
