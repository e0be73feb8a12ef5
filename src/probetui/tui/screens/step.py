"""Step by step: what comes next, what the last step did, and the next result."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key

from probetui.tui.action import Where
from probetui.tui.actions import BY_ID, bindings
from probetui.tui.injecting import Injecting
from probetui.tui.messages import CommandGiven
from probetui.tui.screens.keyed import KeyedScreen
from probetui.tui.screens.sizes import BY_HEIGHT
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage
from probetui.tui.widgets.choice_pane import ChoicePane
from probetui.tui.widgets.one_line import Banner, HeaderBar
from probetui.tui.widgets.queue_pane import QueuePane, StepPane


class StepScreen(KeyedScreen, inherit_bindings=False):
    """The queue, the last step, and what the next run of the chosen probe comes to.

    Steps are taken and results are chosen here too, whichever pane has the focus.
    """

    CSS_PATH = "../styles/step.tcss"
    AUTO_FOCUS = "#queue"
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    PLACES: ClassVar[tuple[Where, ...]] = (Where.STEPS,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._header, self._banner = HeaderBar(stage.options.about), Banner()
        self._queue = QueuePane(is_ascii=stage.options.ascii)
        self._step = StepPane(is_ascii=stage.options.ascii)
        self._injecting = Injecting(stage)
        self._choices = ChoicePane(stage, self._injecting, is_ascii=stage.options.ascii)

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._queue
        yield self._step
        yield self._choices
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.stage.sight)

    def show(self, sight: Sight) -> None:
        self._header.show(sight.snapshot, sight.runtime_name, sight.view)
        self._banner.show(sight.snapshot, sight.runtime_name, sight.view)
        self._queue.show(sight)
        self._step.show(sight)
        self.set_class(not self._can_choose, "-without-choices")
        self._choices.repaint()
        self.refresh_bindings()

    def on_key(self, event: Key) -> None:
        """Choose a result by its number."""
        choices = {str(n): each for n, each in enumerate(self._injecting.choices, 1)}
        choice = choices.get(event.key)
        if choice is None or choice.is_off or not self._can_choose:
            return
        event.stop()
        if (command := self._injecting.command(choice.name)) is not None:
            self.app.post_message(CommandGiven(command))
            self._choices.repaint()

    def action_change(self, step: int) -> None:
        """Choose for more runs, or for fewer."""
        self._injecting.change(step)
        self._choices.repaint()

    @property
    def _can_choose(self) -> bool:
        return self.stage.allows(BY_ID["probe.inject"])

    def action_close(self) -> None:
        self.app.pop_screen()
