"""A pane that shows one of many ticks."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.messages import StripEndWanted
from probetui.tui.widgets.pane import Pane


class TickPane(Pane):
    """Goes to the ends of the strip while it has the focus."""

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.TICKS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def action_first_tick(self) -> None:
        self.post_message(StripEndWanted(is_first=True))

    def action_newest_tick(self) -> None:
        self.post_message(StripEndWanted(is_first=False))
