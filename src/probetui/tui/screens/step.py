"""Step by step: what comes next, and what the last step did."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType

from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.one_line import Banner, HeaderBar
from probetui.tui.widgets.queue_pane import QueuePane, StepPane


class StepScreen(KeyedScreen, inherit_bindings=False):
    """The queue above, the last step below; steps are taken here too."""

    CSS_PATH = "../styles/step.tcss"
    AUTO_FOCUS = "#queue"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.STEPS,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._header, self._banner = HeaderBar(stage.options.about), Banner()
        self._queue = QueuePane(is_ascii=stage.options.ascii)
        self._step = StepPane(is_ascii=stage.options.ascii)

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._queue
        yield self._step
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.stage.sight)

    def show(self, sight: Sight) -> None:
        self._header.show(sight.snapshot, sight.runtime_name, sight.view)
        self._banner.show(sight.snapshot, sight.runtime_name, sight.view)
        self._queue.show(sight)
        self._step.show(sight)
        self.refresh_bindings()

    def action_close(self) -> None:
        self.app.pop_screen()
