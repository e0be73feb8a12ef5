"""All that a probe printed, as far as the kubelet keeps it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.presentation.detail import title
from probetui.presentation.probe_output import output_lines, shown_tick
from probetui.presentation.spans import EMPTY, line, muted, strong, text_of
from probetui.presentation.trace import title as tick_title
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.messages import CopyWanted
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.text_pane import TextPane


class ProbeOutputScreen(KeyedScreen, inherit_bindings=False):
    """Shows what the tick that is looked at printed, all attempts of it."""

    CSS_PATH = "../styles/container.tcss"
    AUTO_FOCUS = "#answer"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.ANSWER,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._pane = TextPane(id="answer", is_ascii=stage.options.ascii)

    def compose(self) -> ComposeResult:
        yield self._pane
        yield self.key_line

    def on_mount(self) -> None:
        self.show_subject()

    def show(self, sight: Sight) -> None:  # noqa: ARG002  # the stage has it too
        self.show_subject()

    def show_subject(self) -> None:
        subject, view = self.stage.subject, self.stage.sight.view
        heading = line(strong("Output"))
        if subject is None:
            self._pane.show(heading, EMPTY, [line("nothing is chosen")])
            return
        tick = shown_tick(subject)
        name = line(*heading, f"  {title(subject, view)}  ")
        words = name if tick is None else line(*name, *tick_title(tick, view))
        self._pane.show(words, line(muted("esc closes")), output_lines(tick, view))

    def action_copy_answer(self) -> None:
        subject = self.stage.subject
        tick = None if subject is None else shown_tick(subject)
        lines = output_lines(tick, self.stage.sight.view)
        self.post_message(CopyWanted("\n".join(text_of(each) for each in lines)))

    def action_close(self) -> None:
        self.dismiss()
