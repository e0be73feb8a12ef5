"""A menu: some things, one of which is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.screen import ModalScreen

from probetui.presentation.spans import Line, line, muted, strong
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import CURSOR, InkLine, fit, inks
from probetui.tui.screens.covered import CoveredScreen
from probetui.tui.widgets.list_pane import ListPane


class ChoicePane(ListPane):
    """The things there are, one a line."""

    def __init__(
        self, name: str, choices: Sequence[tuple[str, str]], *, is_ascii: bool
    ) -> None:
        super().__init__(id="choice", is_ascii=is_ascii)
        self._name_of_menu = name
        self._choices = choices

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,  # noqa: ARG002  # the framework's
    ) -> int:
        """Ask for a line each, and the frame."""
        return len(self._choices) + 2

    def title(self) -> Line:
        return line(strong(self._name_of_menu))

    def badge(self) -> Line:
        return line(muted("enter chooses  esc closes"))

    def count(self) -> int:
        return len(self._choices)

    def row(self, index: int) -> InkLine:
        name, words = self._choices[index]
        is_chosen = index == self.cursor
        also = CURSOR if is_chosen else ""
        shown = line(strong("> " if is_chosen else "  "), name, "  ", muted(words))
        return fit(inks(shown, also), self.inner_width, also=also)


class ChoiceScreen(
    ModalScreen[int | None], CoveredScreen[int | None], inherit_bindings=False
):
    """Dismissed with the place of what was chosen, None for nothing.

    Args:
        name: what is chosen.
        choices: a name and a few words for each; they may be foreign but harmless.
        is_ascii: draw with ASCII only.
    """

    CSS_PATH = "../styles/choice.tcss"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.CHOICE,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(
        self, name: str, choices: Sequence[tuple[str, str]], *, is_ascii: bool
    ) -> None:
        super().__init__()
        self._pane = ChoicePane(name, choices, is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield self._pane

    def action_choose(self) -> None:
        self.dismiss(self._pane.cursor)
