"""The screens with explanations, and with the full output of a probe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.analysis.causes.answer import explain, is_well, last_endings
from probetui.analysis.causes.cause import WhyAnswer
from probetui.presentation.cause.answer import chain_lines, root_line
from probetui.presentation.container.detail import Subject, container_title
from probetui.presentation.container.why import explain_container
from probetui.presentation.probe.output import (
    earlier_lines,
    output_lines,
    shown_tick,
)
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
    text_of,
)
from probetui.presentation.tick.trace import trace_title as tick_title
from probetui.presentation.tick.why import Explanation, WhyContext
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import CopyRequested
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine
from probetui.tui.view_model import ViewModel

_INDENT = 4


class TextPane(Pane):
    """A pane of lines; it keeps its scroll position when they change."""

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self._title: Line = EMPTY
        self._badge: Line = EMPTY
        self._lines: Sequence[Line] = ()

    def show(self, title: Line, badge: Line, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._title, self._badge, self._lines = title, badge, lines
        self.repaint()

    def title(self) -> Line:
        return self._title

    def badge(self) -> Line:
        return self._badge

    def rows(self) -> Sequence[StyledLine]:
        return self.broken(self._lines, _INDENT)


class WhyScreen(ActionScreen, inherit_bindings=False):
    """Explains the state, with the command that repeats the probe by hand."""

    CSS_PATH = "../styles/screens.tcss"
    AUTO_FOCUS = "#answer"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.ANSWER,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._pane = TextPane(id="answer", is_ascii=ui_state.options.ascii)
        self._command = ""

    def compose(self) -> ComposeResult:
        yield self._pane
        yield self.key_line

    def on_mount(self) -> None:
        self.show_subject()

    def show(self, view_model: ViewModel) -> None:  # noqa: ARG002  # `ui_state` has it
        self.show_subject()

    def show_subject(self) -> None:
        subject = self.ui_state.subject
        if subject is None:
            self._pane.show(
                line(strong("Why")), EMPTY, [line("No container selected.")]
            )
            return
        explanations = explanations_about(subject, self.ui_state.view_model)
        commands = (shown.command for shown in explanations if shown.command)
        self._command = next(commands, "")
        name = container_title(subject, self.ui_state.view_model.view)
        badge = line(muted("esc closes"))
        lines = list(_lines(explanations))
        self._pane.show(line(strong("Why"), f"  {name}"), badge, lines)

    def action_copy_answer(self) -> None:
        if self._command:
            self.post_message(CopyRequested(self._command))

    def action_close(self) -> None:
        self.dismiss()


def why_context(subject: Subject, view_model: ViewModel) -> WhyContext:
    """Return what the explanations of the selected container are made of."""
    pod = subject.pod
    return WhyContext(
        pod.pod,
        f"{pod.pod.name}/{subject.container.container.name}",
        subject.container.container.name,
        pod.status.pod_ip or view_model.past.pod_ip(pod.pod.uid),
        subject.history,
        view_model.view,
        answer_about(subject, view_model),
        last_endings(
            pod.pod,
            subject.container.container,
            view_model.past,
            view_model.view.now,
            view_model.view.rules,
        ),
    )


def explanations_about(
    subject: Subject, view_model: ViewModel
) -> Sequence[Explanation]:
    """Return the explanations of the selected container and its tick."""
    return _explanations(why_context(subject, view_model), subject)


def _explanations(context: WhyContext, subject: Subject) -> Sequence[Explanation]:
    return explain_container(
        context, subject.tick, is_tick_chosen=subject.cursor is not None
    )


def full_answer(subject: Subject, view_model: ViewModel) -> Sequence[Line]:
    """Return the chain of causes, and the explanations of what led to it."""
    context = why_context(subject, view_model)
    explanations = _explanations(context, subject)
    name = container_title(subject, view_model.view)
    chain = context.answer and chain_lines(context.answer, name, view_model.view)
    if not chain:
        return [*_lines(explanations)]
    return [*chain, EMPTY, *_lines(explanations[1:])]


def answer_about(subject: Subject, view_model: ViewModel) -> WhyAnswer:
    """Return why the selected container is as it is."""
    return explain(
        subject.pod.pod,
        subject.container.container,
        view_model.past,
        view_model.view.now,
        view_model.view.rules,
        {known.pod.uid: known.pod for known in view_model.snapshot.pods},
        subject.container.next_pull_at,
        is_live=True,
    )


def chain_about(subject: Subject, view_model: ViewModel, room: int) -> Sequence[Line]:
    """Return the chain of causes of the selected container, or on one row its root.

    On one row there is none if all is well: its last tick says more then.
    """
    answer, view = answer_about(subject, view_model), view_model.view
    name = container_title(subject, view)
    if room > 1:
        return chain_lines(answer, name, view)
    root = EMPTY if is_well(answer) else root_line(answer, name, view)
    return [root] if root else ()


def _lines(explanations: Sequence[Explanation]) -> Iterator[Line]:
    """Yield the explanations; a command that repeats is given once."""
    command = ""
    for explanation in explanations:
        yield line(Span(explanation.subject, Role.STRONG))
        for sentence in (*explanation.sentences, *explanation.printed):
            yield line(f"  {sentence}")
        if explanation.command and explanation.command != command:
            command = explanation.command
            yield line(muted("  by hand: "), Span(command, Role.ACCENT))
            if explanation.note:
                yield line(muted(f"  {explanation.note}"))
        yield EMPTY


class ProbeOutputScreen(ActionScreen, inherit_bindings=False):
    """Shows the output of the selected tick, with all attempts."""

    CSS_PATH = "../styles/screens.tcss"
    AUTO_FOCUS = "#answer"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.ANSWER,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._pane = TextPane(id="answer", is_ascii=ui_state.options.ascii)

    def compose(self) -> ComposeResult:
        yield self._pane
        yield self.key_line

    def on_mount(self) -> None:
        self.show_subject()

    def show(self, view_model: ViewModel) -> None:  # noqa: ARG002  # `ui_state` has it
        self.show_subject()

    def show_subject(self) -> None:
        subject, view = self.ui_state.subject, self.ui_state.view_model.view
        heading = line(strong("Output"))
        if subject is None:
            self._pane.show(heading, EMPTY, [line("No container selected.")])
            return
        tick = shown_tick(subject)
        name = line(*heading, f"  {container_title(subject, view)}  ")
        title = name if tick is None else line(*name, *tick_title(tick, view))
        lines = output_lines(tick, view)
        if tick is not None and subject.cursor is None:
            lines += earlier_lines(subject, tick, view)
        self._pane.show(title, line(muted("esc closes")), lines)

    def action_copy_answer(self) -> None:
        subject = self.ui_state.subject
        tick = None if subject is None else shown_tick(subject)
        lines = output_lines(tick, self.ui_state.view_model.view)
        self.post_message(CopyRequested("\n".join(text_of(shown) for shown in lines)))

    def action_close(self) -> None:
        self.dismiss()
