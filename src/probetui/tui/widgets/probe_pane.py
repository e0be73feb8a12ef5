"""A pane about one container and one of its probes."""

from __future__ import annotations

from textual.events import Click

from probetui.presentation.detail import Subject, badges_of, tabs, title
from probetui.presentation.spans import EMPTY, Line, line, strong
from probetui.tui.inks import cells, inks, shortened
from probetui.tui.messages import ProbeWanted
from probetui.tui.widgets.tick_pane import TickPane

_BEFORE_TITLE = 3
"""Cells of the edge: the corner, a bit of line, a space."""

_LEAST_NAME = 8


class ProbePane(TickPane):
    """Names the container and its probes in its edge, and how the shown one stands."""

    def title(self) -> Line:
        subject = self.subject
        if subject is None:
            return line("2 ", strong("Container"))
        name = title(subject, self.view)
        whole = line("2 ", strong(name), "  ")
        words = (*whole, *tabs(subject, in_letters=False))
        kinds = tabs(subject, in_letters=True)
        room = self.title_room - cells(inks((*line("2 ", "  "), *kinds)))
        short = shortened(name, max(room, _LEAST_NAME), self.ellipsis)
        return self.first_that_fits(
            (*words, *self.summary(subject)),
            words,
            (*whole, *kinds),
            (*line("2 ", strong(short), "  "), *kinds),
        )

    def badge(self) -> Line:
        return EMPTY if self.subject is None else badges_of(self.subject, self.view)

    def on_click(self, event: Click) -> None:
        """Show the probe whose name in the upper edge was clicked on."""
        if event.y == 0 and not self.is_bare and self.subject is not None:
            _, _, _, *names = self.title()
            end = _BEFORE_TITLE + cells(inks(self.title()[:3]))
            for probe, name in zip(self.subject.container.probes, names, strict=False):
                start, end = end, end + cells(inks((name,)))
                if start <= event.x < end:
                    self.post_message(ProbeWanted(probe.key.probe_type))

    def summary(self, subject: Subject) -> Line:  # noqa: ARG002  # empty unless overridden
        """Return what stands behind the names if there is room."""
        return EMPTY
