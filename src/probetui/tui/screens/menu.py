"""Action menus: rows to pick by number or cursor, on top of another screen."""

from __future__ import annotations

from collections.abc import Sequence
from string import digits
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Size
from textual.screen import ModalScreen

from probetui.engine.inputs import Command
from probetui.presentation.text.spans import (
    EMPTY,
    Line,
    Role,
    Span,
    line,
    muted,
    strong,
)
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import CommandRequested, MenuRowPicked
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.viewport import ListViewport
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.state import StatefulScreen, UiState, is_allowed
from probetui.tui.styled_text import StyledLine, styled_line, wrapped
from probetui.tui.view_model import ViewModel

_NAME_CELLS = 24


class MenuRow(NamedTuple):
    """A choice, explained by its note, or a heading if it has no name.

    A row that `is_off` keeps its number, but cannot be picked.
    """

    name: str
    words: str
    note: str = ""
    is_off: bool = False


class MenuPane(Pane):
    """Numbered rows; a picked row is posted to the screen by its name."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.PANE, KeyContext.MENU)
    # Numbers are bindings like other keys, so that keys act in order even if they come
    # faster than they are handled. The rows show them.
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(*KEY_CONTEXTS),
        *(Binding(digit, f"pick_number({digit})", show=False) for digit in digits[1:]),
    ]

    def __init__(
        self, heading: str, *, has_numbers: bool = True, is_ascii: bool
    ) -> None:
        super().__init__(id="menu", is_ascii=is_ascii)
        self.viewport: ListViewport = ListViewport(self, is_choice=self._is_choice)
        self._has_numbers = has_numbers
        self._heading = heading
        self._about: Line = EMPTY
        self._rows: Sequence[MenuRow] = ()
        self._below: Sequence[Line] = ()

    def show(
        self, about: Line, rows: Sequence[MenuRow], below: Sequence[Line] = ()
    ) -> None:
        """Show the subject, the rows, and some lines below them."""
        self._about, self._rows, self._below = about, rows, below
        self.refresh(layout=True)
        if not self.viewport.is_choice(self.viewport.cursor):
            self.viewport.move_to_start()
        self.repaint()

    def title(self) -> Line:
        return line(strong(self._heading))

    def badge(self) -> Line:
        return line(muted("esc closes"))

    def above(self) -> Sequence[StyledLine]:
        return [styled_line(line(" ", *self._about)), ()]

    def below(self) -> Sequence[StyledLine]:
        return self._wrapped_below(self.inner_width)

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,
    ) -> int:
        """Return the height for all rows, the lines around them, and the frame."""
        below = self._wrapped_below(width - 2)
        return len(self.above()) + len(self._rows) + len(below) + 2

    def _wrapped_below(self, width: int) -> list[StyledLine]:
        return [
            part
            for paragraph in self._below
            for part in wrapped(styled_line(line(" ", *paragraph)), width, 1)
        ]

    def count(self) -> int:
        return len(self._rows)

    def _is_choice(self, index: int) -> bool:
        row = self._rows[index]
        return bool(row.name) and not row.is_off

    def row(self, index: int) -> StyledLine:
        row = self._rows[index]
        if not row.name:
            return styled_line(line(f" {row.words}"))
        is_here = index == self.viewport.cursor
        number = self._numbers().get(index, "")
        words = row.words.ljust(_NAME_CELLS)
        if row.is_off:
            return styled_line(line(muted(f" {number:>2} {words} {row.note}")))
        return styled_line(
            line(
                Span(">" if is_here else " ", Role.ACCENT),
                Span(f"{number:>2} ", Role.ACCENT),
                strong(words) if is_here else words,
                muted(f" {row.note}"),
            )
        )

    def action_pick_number(self, wanted: int) -> None:
        """Pick a row by its number."""
        for index, number in self._numbers().items():
            if number == str(wanted) and self.viewport.is_choice(index):
                self.viewport.choose(index)
                self.action_pick()

    def action_pick(self) -> None:
        if self.name_at_cursor:
            self.post_message(MenuRowPicked(self.name_at_cursor))

    def on_click(self, event: Click) -> None:
        if event.chain > 1:
            self.action_pick()

    @property
    def name_at_cursor(self) -> str:
        """The name of the row at the cursor, empty without one."""
        cursor = self.viewport.cursor
        return self._rows[cursor].name if self.viewport.is_choice(cursor) else ""

    def _numbers(self) -> dict[int, str]:
        if not self._has_numbers:
            return {}
        choices = [index for index, row in enumerate(self._rows) if row.name]
        return {index: str(count) for count, index in enumerate(choices[:9], 1)}


class MenuScreen(
    StatefulScreen, ModalScreen[None], MinimumSizeScreen[None], inherit_bindings=False
):
    """A menu on top of another screen; it closes if its target disappears."""

    CSS_PATH = "../styles/screens.tcss"
    HEADING = ""
    HAS_NUMBERS = True
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.MENU_SCREEN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, ui_state: UiState) -> None:
        super().__init__()
        self.ui_state = ui_state
        self.menu = MenuPane(
            self.HEADING, has_numbers=self.HAS_NUMBERS, is_ascii=ui_state.options.ascii
        )

    def compose(self) -> ComposeResult:
        yield self.menu

    def on_mount(self) -> None:
        self.show_rows()
        self.menu.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible."""
        return is_allowed(self, action, parameters)

    def show(self, view_model: ViewModel) -> None:
        """Show the changed state of the target."""
        del view_model  # `ui_state` has it
        if self.is_mounted:
            self.show_rows()

    def show_rows(self) -> None:
        """Update the rows of the menu."""

    def picked(self, name: str) -> None:
        """Perform the action of a row."""

    def send_commands(self, *commands: Command) -> None:
        """Send commands to the engine."""
        for command in commands:
            self.app.post_message(CommandRequested(command))

    def action_change(self, step: int) -> None:
        """Change the menu's number by `step`, if it has one."""

    def action_close(self) -> None:
        self.dismiss()

    @on(MenuRowPicked)
    def _row_picked(self, message: MenuRowPicked) -> None:
        message.stop()
        self.picked(message.name)
