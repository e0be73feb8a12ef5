"""A pane about one container and one of its probes."""

from __future__ import annotations

from probetui.presentation.detail import Subject, badges_of, tabs, title
from probetui.presentation.spans import EMPTY, Line, line, strong
from probetui.tui.widgets.tick_pane import TickPane


class ProbePane(TickPane):
    """Names the container and its probes in its edge, and how the shown one stands."""

    def title(self) -> Line:
        subject = self.subject
        if subject is None:
            return line("2 ", strong("Container"))
        name = line("2 ", strong(title(subject, self.view)), "  ")
        words = (*name, *tabs(subject, in_letters=False))
        letters = (*name, *tabs(subject, in_letters=True))
        return self.first_that_fits((*words, *self.summary(subject)), words, letters)

    def badge(self) -> Line:
        return EMPTY if self.subject is None else badges_of(self.subject, self.view)

    def summary(self, subject: Subject) -> Line:  # noqa: ARG002  # empty unless overridden
        """Return what stands behind the names if there is room."""
        return EMPTY
