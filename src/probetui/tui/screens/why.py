"""Why: the tick that is looked at, the last end of its container, its wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.presentation.detail import Subject, title
from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.presentation.why import Answer, Case, answers
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.messages import CopyWanted
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.text_pane import TextPane


class WhyScreen(KeyedScreen, inherit_bindings=False):
    """Answers in plain sentences, with the command that repeats the probe by hand."""

    CSS_PATH = "../styles/container.tcss"
    AUTO_FOCUS = "#answer"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.ANSWER,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._pane = TextPane(id="answer", is_ascii=stage.options.ascii)
        self._command = ""

    def compose(self) -> ComposeResult:
        yield self._pane
        yield self.key_line

    def on_mount(self) -> None:
        self.show_subject()

    def show(self, sight: Sight) -> None:  # noqa: ARG002  # the stage has it too
        self.show_subject()

    def show_subject(self) -> None:
        subject = self.stage.subject
        if subject is None:
            self._pane.show(line(strong("Why")), EMPTY, [line("nothing is chosen")])
            return
        given = answers(self._case(subject), subject.tick)
        self._command = next((each.command for each in given if each.command), "")
        name = title(subject, self.stage.sight.view)
        badge = line(muted("esc closes"))
        lines = list(_lines(given))
        self._pane.show(line(strong("Why"), f"  {name}"), badge, lines)

    def action_copy_answer(self) -> None:
        if self._command:
            self.post_message(CopyWanted(self._command))

    def action_close(self) -> None:
        self.dismiss()

    def _case(self, subject: Subject) -> Case:
        pod, sight = subject.pod, self.stage.sight
        return Case(
            pod.pod,
            f"{pod.pod.name}/{subject.container.container.name}",
            subject.container.container.name,
            pod.status.pod_ip or sight.past.pod_ip(pod.pod.uid),
            subject.past,
            sight.view,
        )


def _lines(given: Sequence[Answer]) -> Iterator[Line]:
    """Yield the answers, each command once."""
    told = ""
    for answer in given:
        yield line(Span(answer.question, Role.STRONG))
        for each in answer.sentences:
            yield line(f"  {each}")
        if answer.command and answer.command != told:
            told = answer.command
            yield line(muted("  by hand: "), Span(told, Role.ACCENT))
            if answer.needs:
                yield line(muted(f"  {answer.needs}"))
        yield EMPTY
