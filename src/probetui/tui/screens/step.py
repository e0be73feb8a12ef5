"""Step mode: the queue of ticks, what the last step changed, the next result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key
from textual.geometry import Size

from probetui.engine.snapshot import Snapshot
from probetui.presentation.container.table import pod_names
from probetui.presentation.step_queue import (
    VALUES_AT,
    queue_lines,
    step_lines,
    step_subject,
    stop_line,
)
from probetui.presentation.text.spans import EMPTY, Line, line, muted, strong
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import ACTIONS_BY_ID, bindings
from probetui.tui.messages import CommandRequested
from probetui.tui.panes.bars import Banner, HeaderBar
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.action_screen import ActionScreen
from probetui.tui.screens.result_injection import InjectionPane, ResultInjection
from probetui.tui.screens.sizes import BY_HEIGHT
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.view_model import ViewModel


class QueuePane(Pane):
    """The queue: the ticks that a step would run, and what happens without a step."""

    MARGIN = 0

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__(id="queue", is_ascii=is_ascii)
        self._view_model: ViewModel | None = None
        self._height = 0

    def show(self, view_model: ViewModel) -> None:
        """Show the current queue."""
        self._view_model = view_model
        if self._height != (height := len(self._lines())):
            self._height = height
            self.refresh(layout=True)
        self.repaint()

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,  # noqa: ARG002  # the framework's
    ) -> int:
        """Return the height for all entries of the queue, and the frame."""
        return len(self._lines()) + 2

    def title(self) -> Line:
        return line(strong("Queue"), ": what happens next")

    def badge(self) -> Line:
        if self._view_model is None:
            return EMPTY
        return stop_line(self._view_model.snapshot)

    def rows(self) -> Sequence[StyledLine]:
        return [styled_line(row) for row in self._lines()]

    def _lines(self) -> Sequence[Line]:
        if self._view_model is None:
            return ()
        snapshot = self._view_model.snapshot
        if not snapshot.is_paused:
            return [
                line(muted("Probes are running. space pauses, > runs the next tick."))
            ]
        return list(queue_lines(snapshot, _names(snapshot), self._view_model.view))


class StepPane(Pane):
    """The state before and after the last step, or run to a change."""

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__(id="last-step", is_ascii=is_ascii)
        self._view_model: ViewModel | None = None

    def show(self, view_model: ViewModel) -> None:
        """Show the effects of the last step."""
        self._view_model = view_model
        self.repaint()

    def title(self) -> Line:
        return line(strong("Last step"))

    def badge(self) -> Line:
        if self._view_model is None:
            return EMPTY
        snapshot, view = self._view_model.snapshot, self._view_model.view
        return step_subject(snapshot, _names(snapshot), view)

    def rows(self) -> Sequence[StyledLine]:
        if self._view_model is None:
            return ()
        snapshot, view = self._view_model.snapshot, self._view_model.view
        names = _names(snapshot)
        lines = step_lines(snapshot, snapshot.entries, names, view)
        return self.broken(list(lines), indent=VALUES_AT)


def _names(snapshot: Snapshot) -> dict[str, str]:
    return pod_names(pod.pod for pod in snapshot.pods)


class StepScreen(ActionScreen, inherit_bindings=False):
    """The queue, the last step, and the results to inject into the selected probe.

    Keys step and inject, whichever pane has the focus.
    """

    CSS_PATH = "../styles/screens.tcss"
    AUTO_FOCUS = "#queue"
    VERTICAL_BREAKPOINTS = BY_HEIGHT
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.STEPS,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        self._header, self._banner = HeaderBar(ui_state.options.about), Banner()
        self._queue = QueuePane(is_ascii=ui_state.options.ascii)
        self._step = StepPane(is_ascii=ui_state.options.ascii)
        self._injecting = ResultInjection(ui_state)
        self._choices = InjectionPane(
            ui_state, self._injecting, is_ascii=ui_state.options.ascii
        )

    def compose(self) -> ComposeResult:
        yield self._header
        yield self._banner
        yield self._queue
        yield self._step
        yield self._choices
        yield self.key_line

    def on_mount(self) -> None:
        self.show(self.ui_state.view_model)

    def show(self, view_model: ViewModel) -> None:
        self._header.show(view_model.snapshot, view_model.runtime_name, view_model.view)
        self._banner.show(view_model.snapshot, view_model.runtime_name, view_model.view)
        self._queue.show(view_model)
        self._step.show(view_model)
        self.set_class(not self._can_choose, "-without-choices")
        self._choices.repaint()
        self.refresh_bindings()

    def on_key(self, event: Key) -> None:
        """Inject a result by its number."""
        choices = {
            str(n): choice for n, choice in enumerate(self._injecting.choices, 1)
        }
        choice = choices.get(event.key)
        if choice is None or choice.is_off or not self._can_choose:
            return
        event.stop()
        if (command := self._injecting.command(choice.name)) is not None:
            self.app.post_message(CommandRequested(command))
            self._choices.repaint()

    def action_change(self, step: int) -> None:
        """Change the number of runs by `step`."""
        self._injecting.change(step)
        self._choices.repaint()

    @property
    def _can_choose(self) -> bool:
        return self.ui_state.allows(ACTIONS_BY_ID["probe.inject"])

    def action_close(self) -> None:
        self.app.pop_screen()
