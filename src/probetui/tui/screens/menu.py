"""Screens that let one choose something for what is chosen below them."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from probetui.kubelet.inputs import Command
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.messages import CommandGiven, RowPicked
from probetui.tui.screens.covered import CoveredScreen
from probetui.tui.sight import Sight
from probetui.tui.stage import Stage, StagedScreen, is_allowed
from probetui.tui.widgets.menu_pane import MenuPane


class MenuScreen(
    StagedScreen, ModalScreen[None], CoveredScreen[None], inherit_bindings=False
):
    """A menu before another screen; it closes when there is nothing to act on."""

    CSS_PATH = "../styles/menu.tcss"
    HEADING = ""
    HAS_NUMBERS = True
    PLACES: ClassVar[tuple[Where, ...]] = (Where.MENU_SCREEN,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.menu = MenuPane(
            self.HEADING, has_numbers=self.HAS_NUMBERS, is_ascii=stage.options.ascii
        )

    def compose(self) -> ComposeResult:
        yield self.menu

    def on_mount(self) -> None:
        self.show_rows()
        self.menu.focus()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Tell which keys work now."""
        return is_allowed(self, action, parameters)

    def show(self, sight: Sight) -> None:
        """Show what has changed of what is chosen."""
        del sight  # the stage has it
        if self.is_mounted:
            self.show_rows()

    def show_rows(self) -> None:
        """Put the choices into the menu."""

    def picked(self, name: str) -> None:
        """Do what a row is for."""

    def give(self, *commands: Command) -> None:
        """Hand commands to the engine."""
        for each in commands:
            self.app.post_message(CommandGiven(each))

    def action_change(self, step: int) -> None:
        """Change a number by so much, where the menu has one."""

    def action_close(self) -> None:
        self.dismiss()

    @on(RowPicked)
    def _row_picked(self, message: RowPicked) -> None:
        message.stop()
        self.picked(message.name)
