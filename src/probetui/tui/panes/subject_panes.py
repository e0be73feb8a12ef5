"""Panes about the selected container: card, ticks, why, page, decision trace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from probetui.presentation.container.card import (
    brief_card_lines,
    card_lines,
    card_tone,
    lone_card_lines,
    one_line_card,
)
from probetui.presentation.container.detail import (
    Subject,
    container_title,
    handler_summary,
    probe_summary,
    probe_tabs,
)
from probetui.presentation.container.instances import InstanceRow
from probetui.presentation.container.page import full_lines, short_lines
from probetui.presentation.container.ticks import (
    other_probes,
    other_title,
    tick_panel,
    why_line,
)
from probetui.presentation.probe.verdict import ROLES
from probetui.presentation.text.spans import (
    EMPTY,
    LABEL,
    Line,
    line,
    muted,
    strong,
)
from probetui.presentation.text.view import View
from probetui.presentation.tick.trace import trace_lines
from probetui.presentation.tick.trace import trace_title as tick_title
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import ProbeRequested, StripEndRequested, StripTickRequested
from probetui.tui.panes.rows_pane import RowsPane
from probetui.tui.styled_text import (
    TINTED_CURSORS,
    StyledLine,
    cells,
    shortened,
    styled_line,
    tinted,
)


class TickPane(RowsPane):
    """Shows what is chosen; goes to the ends of the strip while it has the focus."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.PANE, KeyContext.TICKS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, view: View, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.view = view
        self.subject: Subject | None = None
        self._token: object = None

    @abstractmethod
    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        """Return all rows about what is chosen."""

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, or nothing."""
        token = (subject, view.token, self.size, self.display)
        self.subject, self.view = subject, view
        if token != self._token:
            self._token = token
            self.repaint()

    def rows(self) -> Sequence[StyledLine]:
        if self.subject is None:
            return [styled_line(line(muted("No container selected.")))]
        return self.rows_of(self.subject)

    def action_first_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=True))

    def action_newest_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=False))


_BEFORE_TITLE = 2
"""Cells of the edge: the corner and a space."""

_LEAST_NAME = 8


class ProbePane(TickPane):
    """Names the container and its probes in its edge, and how the shown one stands."""

    def title(self) -> Line:
        subject = self.subject
        if subject is None:
            return line("2 ", strong("Container"))
        name = container_title(subject, self.view)
        whole = line("2 ", strong(name), "  ")
        words = (*whole, *probe_tabs(subject, in_letters=False))
        kinds = probe_tabs(subject, in_letters=True)
        room = self.title_room - cells(styled_line((*line("2 ", "  "), *kinds)))
        short = shortened(name, max(room, _LEAST_NAME), self.ellipsis)
        return self.first_that_fits(
            (*words, *self.summary(subject)),
            words,
            (*whole, *kinds),
            (*line("2 ", strong(short), "  "), *kinds),
        )

    def on_click(self, event: Click) -> None:
        """Show the probe whose name in the upper edge was clicked on."""
        if event.y == 0 and not self.is_bare and self.subject is not None:
            _, _, _, *names = self.title()
            end = _BEFORE_TITLE + cells(styled_line(self.title()[:3]))
            for probe, name in zip(self.subject.container.probes, names, strict=False):
                start, end = end, end + cells(styled_line((name,)))
                if start <= event.x < end:
                    self.post_message(ProbeRequested(probe.key.probe_type))

    def summary(self, subject: Subject) -> Line:  # noqa: ARG002  # empty unless overridden
        """Return what stands behind the names if there is room."""
        return EMPTY


class DetailPane(ProbePane):
    """The verdict card of the probe that is shown, tinted by how alarming it is."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="detail", is_ascii=is_ascii)
        self.is_alone = True
        """Whether ticks and why have no panes of their own."""
        self.is_zoomed = False
        """Whether the card has the whole screen, and shows long lines in full."""

    def show_alone(self, *, is_alone: bool) -> None:
        """Show ticks and why in this pane, or leave them to panes of their own."""
        if self.is_alone != is_alone:
            self.is_alone = is_alone
            self.repaint()

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, from its first line if it is another one."""
        if _identity(subject) != _identity(self.subject):
            self.top = 0
        super().show(subject, view)

    def summary(self, subject: Subject) -> Line:
        if not self.is_alone:
            return EMPTY
        return line(muted(f" {probe_summary(subject, self.view)}"))

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        view, width, height = self.view, self.row_width, self.inner_height
        if self.is_bare:
            return [styled_line(one_line_card(subject, view, width))]
        lines = lone_card_lines if self.is_alone else card_lines
        shown = lines(subject, view, width, height)
        if self.is_zoomed:
            return self.broken(shown, LABEL)
        return [styled_line(row) for row in shown]

    def content(self) -> Sequence[StyledLine]:
        """Return the card on the background that its state has."""
        shown = super().content()
        if self.subject is None:
            return shown
        tint = TINTED_CURSORS.get(ROLES[card_tone(self.subject, self.view)])
        return shown if tint is None else [tinted(row, tint) for row in shown]


def _identity(subject: Subject | None) -> object:
    if subject is None:
        return None
    probe = subject.probe.key.probe_type if subject.probe else None
    return subject.pod.pod.uid, subject.container.container.name, probe


class TicksPane(TickPane):
    """The ticks of each instance of the container, and what the probe printed."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="ticks", is_ascii=is_ascii)
        self._shown: Sequence[InstanceRow] = ()

    def title(self) -> Line:
        return line(strong("Ticks"))

    def badge(self) -> Line:
        probe = None if self.subject is None else self.subject.probe
        if probe is None:
            return EMPTY
        return line(muted(f"one mark per tick, period {probe.probe.period_seconds}s"))

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        width, height = self.row_width, self.inner_height
        self._shown = tick_panel(subject, self.view, width, height)
        return [styled_line(row.spans) for row in self._shown]

    def on_click(self, event: Click) -> None:
        """Look at the tick whose mark was clicked on."""
        inside = event.get_content_offset_capture(self)
        index = inside.y - 1 + self.top
        if 0 <= index < len(self._shown):
            tick = self._shown[index].tick_at(inside.x - 1 - self.MARGIN)
            if tick is not None:
                self.post_message(StripTickRequested(tick))


class OtherProbePane(TickPane):
    """The container's other probes."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="other", is_ascii=is_ascii)

    def title(self) -> Line:
        if self.subject is None or self.subject.probe is None:
            return EMPTY
        return line(muted("beside it: "), strong(other_title(self.subject)))

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        rows: list[StyledLine] = []
        probes = other_probes(subject)
        for probe in probes:
            rows += [()] if rows else []
            if len(probes) > 1:
                rows.append(styled_line(line(strong(probe.key.probe_type.lower()))))
            other = Subject(subject.pod, subject.container, probe)
            lines = brief_card_lines(other, self.view, self.row_width)
            rows += [styled_line(row) for row in lines]
        return rows


_FRAMED_SENTENCE = 3

_AFTER_TIME = 12
"""Where the sentence begins behind its time."""


class WhyPane(TickPane, can_focus=False):
    """Why the tick that is looked at did what it did, in one sentence."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="why", is_ascii=is_ascii)

    def title(self) -> Line:
        return line(strong("Why"))

    def badge(self) -> Line:
        return line(muted("w in full, 5 the gates"))

    def content(self) -> Sequence[StyledLine]:
        """Return the sentence alone where there is no room for a frame."""
        if self.size.height >= _FRAMED_SENTENCE:
            return super().content()
        label = styled_line(line(strong(" Why "), " "))
        return [(*label, *row) for row in self.rows()]

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        sentence = why_line(subject, self.view)
        if self.inner_height > 1:
            return self.broken([sentence], _AFTER_TIME)
        return [styled_line(sentence)]


_MOST_SHORT_CONTAINER_LINES = 14


class ContainerPane(ProbePane):
    """What matters most where there is little room, everything where there is more."""

    def __init__(self, view: View, *, is_ascii: bool = False) -> None:
        super().__init__(view, id="life", is_ascii=is_ascii)

    def summary(self, subject: Subject) -> Line:
        return line(muted(f" {handler_summary(subject, self.view)}"))

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        view, width = self.view, self.row_width
        if self.inner_height < _MOST_SHORT_CONTAINER_LINES:
            return [
                styled_line(short_line)
                for short_line in short_lines(subject, view, width, self.inner_height)
            ]
        return self.broken(full_lines(subject, view, width), LABEL)


_INDENT = 15


class DecisionTracePane(TickPane):
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
        return line(muted("older tick"))

    def rows_of(self, subject: Subject) -> Sequence[StyledLine]:
        width = self.row_width
        lines = trace_lines(subject, self.view, width, self.inner_height)
        return self.broken(lines, _INDENT)
