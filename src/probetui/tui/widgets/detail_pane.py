"""The chosen container and one of its probes."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.container_detail import LABEL
from probetui.presentation.detail import (
    Subject,
    badges_of,
    full_detail,
    short_detail,
    summary,
    tabs,
    title,
    why_in_short,
)
from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.presentation.view import View
from probetui.tui.inks import PLAIN, InkLine, cells, inks, wrapped
from probetui.tui.widgets.tick_pane import TickPane

_MOST_SHORT_LINES = 8


class DetailPane(TickPane):
    """Five lines where there is little room, everything where there is more."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(id="detail", is_ascii=is_ascii)
        self._view = view
        self._subject: Subject | None = None
        self._rows: Sequence[InkLine] = ()

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, or nothing."""
        if _identity(subject) != _identity(self._subject):
            self.top = 0
        self._subject, self._view = subject, view
        self.repaint()

    def title(self) -> Line:
        if self._subject is None:
            return line("2 ", strong("Container"))
        subject = self._subject
        name = line("2 ", strong(title(subject, self._view)), "  ")
        words = (*name, *tabs(subject, in_letters=False))
        summed_up = (*words, muted(f" {summary(subject, self._view)}"))
        room = self.size.width - 8 - cells(inks(self.badge()))
        for each in (summed_up, words):
            if cells(inks(each)) <= room:
                return each
        return (*name, *tabs(subject, in_letters=True))

    def badge(self) -> Line:
        return EMPTY if self._subject is None else badges_of(self._subject, self._view)

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
        width, view = self.inner_width - 2, self._view
        if self.is_bare:
            return [inks(line(muted("why "), why_in_short(self._subject)))]
        if self.inner_height < _MOST_SHORT_LINES:
            return [inks(each) for each in short_detail(self._subject, view, width)]
        return [
            part
            for each in full_detail(self._subject, view, width)
            for part in wrapped(inks(each), width, indent=LABEL)
        ]


def _identity(subject: Subject | None) -> object:
    if subject is None:
        return None
    probe = subject.probe.key.probe_type if subject.probe else None
    return subject.pod.pod.uid, subject.container.container.name, probe
