"""What a tick decided, step by step."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.detail import Subject
from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.presentation.trace import title as tick_title
from probetui.presentation.trace_lines import trace_lines
from probetui.presentation.view import View
from probetui.tui.inks import InkLine
from probetui.tui.widgets.tick_pane import TickPane

_INDENT = 15


class DecisionTrace(TickPane):
    """The questions of the tick that is looked at, their answers, and what followed."""

    def __init__(
        self,
        view: View,
        *,
        id: str = "trace",  # noqa: A002  # the framework's
        is_ascii: bool = False,
    ) -> None:
        super().__init__(view, id=id, is_ascii=is_ascii)

    def title(self) -> Line:
        heading = line("5 ", strong("Decision trace"))
        tick = None if self.subject is None else self.subject.tick
        if tick is None:
            return heading
        return line(*heading, "  ", *tick_title(tick, self.view))

    def badge(self) -> Line:
        if self.subject is None or self.subject.cursor is None:
            return EMPTY
        return line(muted("not the newest"))

    def rows_of(self, subject: Subject) -> Sequence[InkLine]:
        width = self.row_width
        lines = trace_lines(subject, self.view, width, self.inner_height)
        return self.broken(lines, _INDENT)
