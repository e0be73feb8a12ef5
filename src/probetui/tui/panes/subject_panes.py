"""Panes about the selected container: card, ticks, other probes, why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click
from textual.message import Message

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
    probe_summary,
    probe_tabs,
)
from probetui.presentation.container.headline import (
    headline_of,
    headline_rows,
    headline_title,
    overrides_of,
)
from probetui.presentation.container.instances import InstanceRow
from probetui.presentation.container.ticks import (
    other_probes,
    other_title,
    tick_panel,
    why_line,
)
from probetui.presentation.probe.verdict import ROLES
from probetui.presentation.text.spans import (
    EMPTY,
    HINT,
    LABEL,
    NEXT,
    Line,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.text.view import View
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import (
    ProbeRequested,
    StripEndRequested,
    StripTickRequested,
    TurnRequested,
)
from probetui.tui.panes.pane import Pane
from probetui.tui.styled_text import (
    PLAIN,
    TINTED_CURSORS,
    StyledLine,
    cells,
    fit,
    shortened,
    styled_line,
    tinted,
)


class SubjectPane(Pane):
    """Shows a page about the selected container; has the keys of the tick strip.

    Args:
        page: the content of the pane.
        view: how values are shown.
        id: the widget's ID.
        is_ascii: whether to draw with ASCII only.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.PANE, KeyContext.TICKS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self,
        page: SubjectPage,
        view: View,
        *,
        id: str,  # noqa: A002  # the framework's
        is_ascii: bool = False,
    ) -> None:
        super().__init__(id=id, is_ascii=is_ascii)
        self.page = page
        self.view = view
        self.subject: Subject | None = None
        self._token: object = None

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container or nothing; scroll to the top for another one."""
        token = (subject, view.token, self.size, self.display)
        if self.page.IS_SCROLLED and _identity(subject) != _identity(self.subject):
            self.viewport.top = 0
        self.subject, self.view = subject, view
        if token != self._token:
            self._token = token
            self.repaint()

    def title(self) -> Line:
        return self.page.title(self)

    def badge(self) -> Line:
        return EMPTY if self.subject is None else self.page.badge(self.subject)

    def rows(self) -> Sequence[StyledLine]:
        if self.subject is None:
            return [styled_line(line(muted("No container selected.")))]
        return self.page.rows(self.subject, self)

    def content(self) -> Sequence[StyledLine]:
        """Return the page, tinted by its severity."""
        if self.page.IS_WHOLE and not self.is_bare:
            return self._without_frame()
        if self.size.height < self.page.LEAST_FRAMED:
            return [(*styled_line(self.page.SHORT_LABEL), *row) for row in self.rows()]
        shown = super().content()
        tint = None
        if self.subject is not None:
            tint = self.page.tint(self.subject, self.view)
        return shown if tint is None else [tinted(row, tint) for row in shown]

    def _without_frame(self) -> list[StyledLine]:
        """Return the page on a ground of its own; the focus is a bar at its left."""
        width, look = self.size.width - 2, "focus" if self.has_focus else PLAIN
        bar = self.view.marks.cursor if self.has_focus else " "
        shown: list[StyledLine] = [
            ((bar, look), *fit(row, width, ellipsis=self.ellipsis), (" ", PLAIN))
            for row in self.rows()[: self.size.height]
        ]
        if self.subject is None or (
            (tint := self.page.tint(self.subject, self.view)) is None
        ):
            return shown
        return [tinted(row, tint) for row in shown]

    def on_click(self, event: Click) -> None:
        if self.subject is not None:
            message = self.page.clicked(self.subject, self, event)
            if message is not None:
                self.post_message(message)

    def action_first_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=True))

    def action_hit(self, step: int) -> None:
        """Go to the next kill, restart or flip."""
        self.post_message(TurnRequested(step))

    def action_newest_tick(self) -> None:
        self.post_message(StripEndRequested(is_first=False))


class SubjectPage(ABC):
    """The content of a pane about the selected container."""

    IS_SCROLLED: ClassVar[bool] = False
    """Whether the pane scrolls to the top when another container is selected."""
    LEAST_FRAMED: ClassVar[int] = 0
    """The least height of a frame; below it the rows follow a label without one."""
    SHORT_LABEL: ClassVar[Line] = EMPTY
    IS_WHOLE: ClassVar[bool] = False
    """Whether its rows fill the pane, without a frame."""

    @abstractmethod
    def title(self, pane: SubjectPane) -> Line:
        """Return the left part of the upper edge."""

    @abstractmethod
    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        """Return all rows about the subject."""

    def badge(self, subject: Subject) -> Line:  # noqa: ARG002  # empty unless overridden
        """Return the right part of the upper edge."""
        return EMPTY

    def tint(self, subject: Subject, view: View) -> str | None:  # noqa: ARG002  # none unless overridden
        """Return the style name of the background, None for the usual one."""
        return None

    def clicked(
        self,
        subject: Subject,  # noqa: ARG002  # nothing unless overridden
        pane: SubjectPane,  # noqa: ARG002
        event: Click,  # noqa: ARG002
    ) -> Message | None:
        """Return the message for a click, None for none."""
        return None


def _identity(subject: Subject | None) -> object:
    if subject is None:
        return None
    probe = subject.probe.key.probe_type if subject.probe else None
    return subject.pod.pod.uid, subject.container.container.name, probe


_BEFORE_TITLE = 2
"""The cells of the edge before the title: the corner and a space."""

_LEAST_NAME = 8
_BEFORE_ANNOUNCED = 2
"""The cells between the names of the probes and what comes."""


def probes_title(pane: SubjectPane, summary: Callable[[Subject], Line]) -> Line:
    """Return the names of container and probes, and `summary` if it fits."""
    subject = pane.subject
    if subject is None:
        return line("2 ", strong("Container"))
    name = container_title(subject, pane.view)
    whole = line("2 ", strong(name), "  ")
    full = (*whole, *probe_tabs(subject, in_letters=False))
    letters = probe_tabs(subject, in_letters=True)
    room = pane.title_room - cells(styled_line((*line("2 ", "  "), *letters)))
    short = shortened(name, max(room, _LEAST_NAME), pane.ellipsis)
    return pane.first_that_fits(
        (*full, *summary(subject)),
        full,
        (*whole, *letters),
        (*line("2 ", strong(short), "  "), *letters),
    )


def clicked_probe(
    subject: Subject, pane: SubjectPane, event: Click
) -> ProbeRequested | None:
    """Return the probe whose name in the upper edge was clicked, or None."""
    if event.y == 0 and not pane.is_bare:
        _, _, _, *names = pane.title()
        end = _BEFORE_TITLE + cells(styled_line(pane.title()[:3]))
        for probe, name in zip(subject.container.probes, names, strict=False):
            start, end = end, end + cells(styled_line((name,)))
            if start <= event.x < end:
                return ProbeRequested(probe.key.probe_type)
    return None


class CardPage(SubjectPage):
    """The verdict card of the shown probe, tinted by its severity."""

    IS_SCROLLED = True

    def __init__(self) -> None:
        self.is_alone = True
        """Whether the panes with ticks and reason are not displayed."""
        self.is_zoomed = False
        """Whether the card is zoomed, so that long lines are wrapped."""

    def title(self, pane: SubjectPane) -> Line:
        return probes_title(
            pane,
            lambda subject: (
                line(muted(f" {probe_summary(subject, pane.view)}"))
                if self.is_alone
                else EMPTY
            ),
        )

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        view, width, height = pane.view, pane.row_width, pane.inner_height
        if pane.is_bare:
            return [styled_line(one_line_card(subject, view, width))]
        lines = lone_card_lines if self.is_alone else card_lines
        shown = lines(subject, view, width, height)
        if self.is_zoomed:
            return pane.broken(shown, LABEL)
        return [styled_line(row) for row in shown]

    def tint(self, subject: Subject, view: View) -> str | None:
        return TINTED_CURSORS.get(ROLES[card_tone(subject, view)])

    def clicked(
        self, subject: Subject, pane: SubjectPane, event: Click
    ) -> Message | None:
        return clicked_probe(subject, pane, event)


class HeadlinePage(SubjectPage):
    """The state of the shown probe above the lanes, tinted by its severity."""

    IS_WHOLE = True

    def __init__(self) -> None:
        self._start, self._tabs = 0, EMPTY
        """The column of the names of the probes, and the names."""

    def title(self, pane: SubjectPane) -> Line:
        return probes_title(pane, lambda _subject: EMPTY)

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        view, width = pane.view, pane.size.width - 2
        headline = headline_of(subject, view)
        before, tabs = headline_title(subject, headline, view, width)
        self._start, self._tabs = cells(styled_line(before)) + 1, tabs
        left = styled_line((*before, *tabs, *overrides_of(subject)))
        right: StyledLine = ()
        if headline.has_meter:
            room = width - cells(left) - _BEFORE_ANNOUNCED
            right = styled_line(headline.announcement(room))
        first = (*fit(left, width - cells(right), ellipsis=pane.ellipsis), *right)
        below = headline_rows(subject, view, width, pane.size.height - 1)
        return [first, *map(styled_line, below)]

    def tint(self, subject: Subject, view: View) -> str | None:
        return TINTED_CURSORS.get(ROLES[headline_of(subject, view).tone])

    def clicked(
        self, subject: Subject, pane: SubjectPane, event: Click
    ) -> Message | None:
        """Return the probe whose name was clicked."""
        del pane  # the names are in its first row
        start = self._start
        if event.y == 0:
            for probe, name in zip(subject.container.probes, self._tabs, strict=False):
                end = start + len(name.text)
                if start <= event.x < end:
                    return ProbeRequested(probe.key.probe_type)
                start = end
        return None


class TicksPage(SubjectPage):
    """The ticks of each instance of the container, and the probe's output."""

    def __init__(self) -> None:
        self._shown: Sequence[InstanceRow] = ()

    def title(self, pane: SubjectPane) -> Line:
        del pane  # the title is constant
        return line(strong("Ticks"))

    def badge(self, subject: Subject) -> Line:
        if subject.probe is None:
            return EMPTY
        period = subject.probe.probe.period_seconds
        return line(muted(f"one mark per tick, period {period}s"))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        width, height = pane.row_width, pane.inner_height
        self._shown = tick_panel(subject, pane.view, width, height)
        return [styled_line(row.spans) for row in self._shown]

    def clicked(
        self, subject: Subject, pane: SubjectPane, event: Click
    ) -> Message | None:
        """Return a request for the tick whose mark was clicked."""
        del subject  # its rows are in `_shown`
        inside = event.get_content_offset_capture(pane)
        index = inside.y - 1 + pane.viewport.top
        if 0 <= index < len(self._shown):
            tick = self._shown[index].tick_at(inside.x - 1 - pane.MARGIN)
            if tick is not None:
                return StripTickRequested(tick)
        return None


class OtherProbesPage(SubjectPage):
    """The container's other probes."""

    def title(self, pane: SubjectPane) -> Line:
        if pane.subject is None or pane.subject.probe is None:
            return EMPTY
        return line(muted("beside it: "), strong(other_title(pane.subject)))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        rows: list[StyledLine] = []
        probes = other_probes(subject)
        for probe in probes:
            rows += [()] if rows else []
            if len(probes) > 1:
                rows.append(styled_line(line(strong(probe.key.probe_type.lower()))))
            other = Subject(subject.pod, subject.container, probe)
            lines = brief_card_lines(other, pane.view, pane.row_width)
            rows += [styled_line(row) for row in lines]
        return rows


_LEAST_FOR_TRACE = 3
"""Rows in which an older tick has its decision in place of a sentence."""

_AFTER_TIME = 12
"""The column at which the sentence begins, after its time."""


_BELOW_CAUSE = 4

_LEAST_FOR_ANSWER, _MOST_FOR_CHAIN = 3, 16
"""Rows from which on the whole answer takes the place of the chain of causes.

With the fewer ones it does so if it fits, with the more ones in any case.
"""


class WhyPage(SubjectPage):
    """Why the container is as it is, as a chain of causes; or about the chosen tick.

    `explain` returns the chain for a number of rows, empty if there is nothing to
    explain. It is None beside cards.
    """

    LEAST_FRAMED = 3
    SHORT_LABEL = line(strong(" Why "), " ")

    def __init__(self) -> None:
        self.explain: Callable[[Subject, int], Sequence[Line]] | None = None
        self.explain_in_full: Callable[[Subject], Sequence[Line]] | None = None
        """Returns the answer of `w`, for a pane that has room for all of it."""

    def title(self, pane: SubjectPane) -> Line:
        subject = pane.subject
        if subject is None or subject.cursor is None or subject.tick is None:
            return line(strong("Why"))
        # Late: the first screen is of now.
        from probetui.presentation.tick.trace import trace_title  # noqa: PLC0415

        return line(strong("Decision"), "  ", *trace_title(subject.tick, pane.view))

    def badge(self, subject: Subject) -> Line:
        del subject  # the badge is constant
        return line(muted("w in full, 5 the decision"))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        room = max(pane.inner_height, 1)
        if subject.cursor is not None and room >= _LEAST_FOR_TRACE:
            from probetui.presentation.tick.trace import trace_lines  # noqa: PLC0415

            rows = trace_lines(subject, pane.view, pane.row_width, room)
            return [styled_line(row) for row in rows]
        answer = self._answer(subject, room)
        if answer:
            shown = pane.broken(answer, _BELOW_CAUSE)
            if len(shown) <= room or room >= _MOST_FOR_CHAIN:
                return shown[:room]
        chain: Sequence[Line] = ()
        if self.explain is not None and subject.cursor is None:
            chain = self.explain(subject, room)
        if self._is_above(chain, pane):
            # The headline has it, and what comes next is on no other row.
            coming = self.explain(subject, 2)[-1:] if self.explain else ()
            chain = [row for row in coming if text_of(row).startswith(NEXT)]
        about_tick = why_line(subject, pane.view)
        if room == 1:
            return [styled_line(chain[0] if chain else about_tick)]
        if not chain:
            return pane.broken([about_tick], _AFTER_TIME)
        shown = pane.broken(chain, _BELOW_CAUSE)
        if len(shown) > room:
            # What comes next is the last line, and stays.
            last = pane.broken(chain[-1:], _BELOW_CAUSE)
            *kept, cut = shown[: max(room - len(last), 1)]
            return [*kept, (*cut, (pane.ellipsis, PLAIN)), *last][:room]
        return _filled(shown, about_tick, answer, pane)[:room]

    def _answer(self, subject: Subject, room: int) -> Sequence[Line]:
        """Return the whole answer if some of it may have room, else nothing."""
        if self.explain_in_full is None or subject.cursor is not None:
            return ()
        return self.explain_in_full(subject) if room >= _LEAST_FOR_ANSWER else ()

    def _is_above(self, chain: Sequence[Line], pane: SubjectPane) -> bool:
        """Return whether the headline shows the hint that is all there is room for."""
        is_alone = pane.inner_height == 1 and len(chain) == 1
        is_framed = pane.size.height >= self.LEAST_FRAMED
        return is_alone and is_framed and text_of(chain[0]).startswith(HINT)


def _filled(
    shown: list[StyledLine],
    about_tick: Line,
    answer: Sequence[Line],
    pane: SubjectPane,
) -> list[StyledLine]:
    """Return the chain of causes with what of the answer fits below it."""
    room = pane.inner_height
    if len(shown) < room:
        shown += pane.broken([about_tick], _AFTER_TIME)
    if len(shown) > room:
        shown[room - 1] = (*shown[room - 1], (pane.ellipsis, PLAIN))
    for sentence in _sentences(answer):
        more = pane.broken([sentence], _BELOW_CAUSE)
        if len(shown) + len(more) <= room:
            shown += more
    return shown


def _sentences(answer: Sequence[Line]) -> list[Line]:
    """Return the sentences of an answer below its headings, the command first."""
    below = [row for row in answer if text_of(row).startswith(_BELOW_HEADING)]
    return sorted(below, key=lambda row: not text_of(row).startswith(_BY_HAND))


_BELOW_HEADING, _BY_HAND = "  ", "  by hand"
_TRACE_INDENT = 15
_LEAST_OF_POD = 3
"""Rows of the pod that are shown below the decision trace, or more."""


class DecisionTracePage(SubjectPage):
    """The gates of the selected tick and its consequences; without a probe the pod."""

    def title(self, pane: SubjectPane) -> Line:
        if pane.subject is not None and pane.subject.probe is None:
            name = pane.view.safe(pane.subject.pod.pod.name)
            return line("5 ", strong("Pod"), f"  {name}")
        heading = line("5 ", strong("Decision trace"))
        tick = None if pane.subject is None else pane.subject.tick
        if tick is None:
            return heading
        # Imported late: on most terminals this page does not fit beside the others.
        from probetui.presentation.tick.trace import trace_title  # noqa: PLC0415

        return line(*heading, "  ", *trace_title(tick, pane.view))

    def badge(self, subject: Subject) -> Line:
        return EMPTY if subject.cursor is None else line(muted("older tick"))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        # Late: only large terminals have it.
        from probetui.presentation.container.facts import (  # noqa: PLC0415
            INDENT,
            pod_lines,
        )
        from probetui.presentation.tick.trace import trace_lines  # noqa: PLC0415

        width, height = pane.row_width, pane.inner_height
        shown: list[StyledLine] = []
        if subject.probe is not None:
            lines = trace_lines(subject, pane.view, width, height)
            shown = pane.broken(lines, _TRACE_INDENT)
            if height - len(shown) <= _LEAST_OF_POD:
                return shown
            shown.append(())
        pod = pane.broken(pod_lines(subject, pane.view, width), INDENT)
        return [*shown, *pod] if subject.probe is None else [*shown, *pod][:height]


class FactsPage(SubjectPage):
    """The settings of the container and its probe, and its latest status."""

    def title(self, pane: SubjectPane) -> Line:
        del pane  # the title is constant
        return line(strong("Settings and status"))

    def badge(self, subject: Subject) -> Line:
        del subject  # the badge is constant
        return line(muted("d describe  :explain"))

    def rows(self, subject: Subject, pane: SubjectPane) -> Sequence[StyledLine]:
        # Late: only large terminals have it.
        from probetui.presentation.container.facts import (  # noqa: PLC0415
            INDENT,
            facts_lines,
        )

        lines = list(facts_lines(subject, pane.view))
        shown = list(pane.broken(lines, INDENT)[: pane.inner_height])
        # No heading without what it is of.
        while shown and len(shown) < len(lines) and _is_heading(shown[-1]):
            shown.pop()
        return shown


def _is_heading(row: StyledLine) -> bool:
    return "".join(text for text, _ in row).rstrip().endswith(":")
