"""One container with its lives, and one of its probes."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.container_detail import LABEL
from probetui.presentation.container_screen import full_lines, short_lines
from probetui.presentation.detail import Subject, handler
from probetui.presentation.spans import Line, line, muted
from probetui.presentation.view import View
from probetui.tui.inks import InkLine, inks
from probetui.tui.widgets.probe_pane import ProbePane

_MOST_SHORT_LINES = 14


class ContainerPane(ProbePane):
    """What matters most where there is little room, everything where there is more."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="life", is_ascii=is_ascii)

    def summary(self, subject: Subject) -> Line:
        return line(muted(f" {handler(subject, self.view)}"))

    def rows_of(self, subject: Subject) -> Sequence[InkLine]:
        view, width = self.view, self.row_width
        if self.inner_height < _MOST_SHORT_LINES:
            return [inks(each) for each in short_lines(subject, view, width)]
        return self.broken(full_lines(subject, view, width), LABEL)
