"""A screen whose keys come from the table of actions."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType
from textual.screen import Screen

from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.key_labels import footer_labels
from probetui.tui.stage import Stage, StagedScreen, is_allowed
from probetui.tui.widgets.one_line import KeyLine


class KeyedScreen(StagedScreen, inherit_bindings=False):
    """Keeps a line of keys as they are active; subclasses put it where they want it.

    Subclasses name their `PLACES` and make their `BINDINGS` of them.
    """

    PLACES: ClassVar[tuple[Where, ...]] = ()
    BINDINGS: ClassVar[list[BindingType]] = bindings()

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self.stage = stage
        self.key_line = KeyLine()

    def on_mount(self) -> None:
        self.bindings_updated_signal.subscribe(self, self._show_keys)

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],
    ) -> bool | None:
        """Tell which keys work now; the others are neither shown nor listed."""
        return is_allowed(self, action, parameters)

    def _show_keys(self, _screen: Screen[None]) -> None:
        self.key_line.show(footer_labels(self.active_bindings))
