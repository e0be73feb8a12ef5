"""The chosen container and one of its probes."""

from __future__ import annotations

from collections.abc import Sequence

from probetui.presentation.container_detail import LABEL, QUOTED
from probetui.presentation.detail import (
    Subject,
    full_detail,
    short_detail,
    summary,
    why_in_short,
)
from probetui.presentation.spans import Line, line, muted
from probetui.presentation.view import View
from probetui.tui.inks import InkLine, inks
from probetui.tui.widgets.probe_pane import ProbePane

_MOST_SHORT_LINES = 8


class DetailPane(ProbePane):
    """Five lines where there is little room, everything where there is more."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="detail", is_ascii=is_ascii)

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, from its first line if it is another one."""
        if _identity(subject) != _identity(self.subject):
            self.top = 0
        super().show(subject, view)

    def summary(self, subject: Subject) -> Line:
        return line(muted(f" {summary(subject, self.view)}"))

    def rows_of(self, subject: Subject) -> Sequence[InkLine]:
        view, width = self.view, self.row_width
        if self.is_bare:
            return [inks(line(muted("why "), why_in_short(subject)))]
        if self.inner_height < _MOST_SHORT_LINES:
            return [inks(each) for each in short_detail(subject, view, width)]
        return self.broken(
            full_detail(subject, view, width, self.inner_height), LABEL, QUOTED
        )


def _identity(subject: Subject | None) -> object:
    if subject is None:
        return None
    probe = subject.probe.key.probe_type if subject.probe else None
    return subject.pod.pod.uid, subject.container.container.name, probe
