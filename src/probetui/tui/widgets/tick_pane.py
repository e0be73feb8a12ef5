"""A pane about one container, one of its probes, and one of many ticks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.detail import Subject
from probetui.presentation.spans import line, muted
from probetui.presentation.view import View
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import InkLine, inks
from probetui.tui.messages import StripEndWanted
from probetui.tui.widgets.rows_pane import RowsPane


class TickPane(RowsPane):
    """Shows what is chosen; goes to the ends of the strip while it has the focus."""

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.TICKS)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, view: View, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.view = view
        self.subject: Subject | None = None

    @abstractmethod
    def rows_of(self, subject: Subject) -> Sequence[InkLine]:
        """Return all rows about what is chosen."""

    def show(self, subject: Subject | None, view: View) -> None:
        """Show a container, or nothing."""
        self.subject, self.view = subject, view
        self.repaint()

    def rows(self) -> Sequence[InkLine]:
        if self.subject is None:
            return [inks(line(muted("nothing is chosen")))]
        return self.rows_of(self.subject)

    def action_first_tick(self) -> None:
        self.post_message(StripEndWanted(is_first=True))

    def action_newest_tick(self) -> None:
        self.post_message(StripEndWanted(is_first=False))
