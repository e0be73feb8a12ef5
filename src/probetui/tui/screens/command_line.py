"""The command line that `:` opens at the bottom: actions by name, with arguments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static

from probetui.errors import UsageError
from probetui.presentation.text.spans import line, muted, strong
from probetui.safe_text import safe_line
from probetui.tui.actions.action import SELECTED_TARGETS, Action, KeyContext, use_rank
from probetui.tui.actions.command_parser import TypedCommand, completions, parse_command
from probetui.tui.actions.dispatch import reachable_actions
from probetui.tui.actions.table import bindings
from probetui.tui.panes.line_widget import LineWidget
from probetui.tui.state import UiState
from probetui.tui.styled_text import StyledLine, styled_line

_MOST_OFFERED = 6
_NAME_WIDTH = 34


class CompletionList(LineWidget):
    """The possible completions of the typed text; the selected one is marked."""

    def __init__(self) -> None:
        super().__init__(id="offers")
        self._lines: Sequence[tuple[str, str]] = ()
        self._chosen = -1

    def show(self, lines: Sequence[tuple[str, str]], chosen: int) -> None:
        """Show other lines; `chosen` -1 marks none."""
        self._lines, self._chosen = lines, chosen
        self.display = bool(lines)
        self.styles.height = len(lines)
        self.repaint()

    def content(self) -> Sequence[StyledLine]:
        return [
            styled_line(
                line(
                    strong(">") if index == self._chosen else " ",
                    f":{name:<{_NAME_WIDTH}} ",
                    muted(words),
                )
            )
            for index, (name, words) in enumerate(self._lines)
        ]


class CommandLine(ModalScreen[TypedCommand | None], inherit_bindings=False):
    """Dismissed with the entered command, None without one.

    Args:
        ui_state: the state of the screen.
        history: lines entered before, oldest first; this one is added.
        begun: the initial text.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.COMMAND_LINE,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState, history: list[str], begun: str = "") -> None:
        super().__init__()
        self._ui_state = ui_state
        self._history = history
        self._at = len(history)
        self._begun = begun
        self._chosen = -1
        self._offered: Sequence[tuple[str, str]] = ()

    def compose(self) -> ComposeResult:
        yield CompletionList()
        with Horizontal(id="command"):
            yield Static(":", id="command-label", markup=False)
            yield Input(id="command-input", compact=True, select_on_focus=False)
            yield Static("", id="command-status", markup=False)

    def on_mount(self) -> None:
        self._put(self._begun)
        self._offer()

    def action_complete(self, step: int = 1) -> None:
        """Replace the typed text by the next completion."""
        if not self._offered:
            return
        self._chosen = (self._chosen + step) % len(self._offered)
        self._put(self._offered[self._chosen][0])
        self.query_one(CompletionList).show(self._offered, self._chosen)

    def action_history(self, step: int) -> None:
        """Replace the typed text by an older or newer line of the history."""
        at = max(0, min(self._at + step, len(self._history)))
        if at == self._at:
            return
        if self._at == len(self._history):
            self._begun = self._entry.value
        self._at = at
        self._put(self._history[at] if at < len(self._history) else self._begun)
        self._offer()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._offer()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        if not text:
            self.dismiss(None)
            return
        try:
            typed = parse_command(
                text, reachable_actions(self._below), self._ui_state.context
            )
        except UsageError as error:
            self._show_message(str(error), is_error=True)
            return
        if text not in self._history[-1:]:
            self._history.append(text)
        self.dismiss(typed)

    def _offer(self) -> None:
        self._chosen = -1
        actions = sorted(
            filter(self._is_offered, reachable_actions(self._below)), key=use_rank
        )
        lines = completions(self._entry.value, actions, self._ui_state.context)
        self._offered = list(islice(dict(lines).items(), _MOST_OFFERED))
        self.query_one(CompletionList).show(self._offered, self._chosen)
        self._show_message("tab completes  enter runs  esc closes", is_error=False)

    def _is_offered(self, action: Action) -> bool:
        """Return whether an action is possible now, or for a target that is named."""
        if self._ui_state.refusal(action):
            return False
        return action.on in SELECTED_TARGETS or self._ui_state.allows(action)

    def _put(self, text: str) -> None:
        with self.prevent(Input.Changed):
            self._entry.value = text
            self._entry.cursor_position = len(text)

    def _show_message(self, message: str, *, is_error: bool) -> None:
        status = self.query_one("#command-status", Static)
        status.set_class(is_error, "-error")
        status.update(f" {safe_line(message)} ")

    @property
    def _entry(self) -> Input:
        return self.query_one(Input)

    @property
    def _below(self) -> Screen[Any]:
        """The screen below the command line."""
        return self.app.screen_stack[-2]
