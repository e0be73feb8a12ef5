"""A question before something that cannot be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Size
from textual.screen import ModalScreen

from probetui.presentation.spans import Line, Role, Span, line, strong
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import InkLine, inks, wrapped
from probetui.tui.key_labels import active_labels
from probetui.tui.screens.covered import CoveredScreen
from probetui.tui.widgets.rows_pane import RowsPane


class QuestionPane(RowsPane):
    """The question, and the keys that answer it."""

    MARGIN = 0

    def __init__(self, question: Sequence[Line], *, is_ascii: bool) -> None:
        super().__init__(id="question", is_ascii=is_ascii)
        self._question = question

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,
    ) -> int:
        """Ask for the question, the keys, a line between them, and the frame."""
        return len(self._wrapped(width - 2)) + 4

    def title(self) -> Line:
        return line(strong("Sure?"))

    def rows(self) -> Sequence[InkLine]:
        return self._wrapped(self.inner_width)

    def _wrapped(self, width: int) -> list[InkLine]:
        return [
            part
            for each in self._question
            for part in wrapped(inks(line(" ", *each)), width, indent=5)
        ]

    def below(self) -> Sequence[InkLine]:
        labels = {each.id: each for each in active_labels(self.screen.active_bindings)}
        yes, no = (" ".join(labels[each].keys) for each in ("app.yes", "app.no"))
        key = Role.ACCENT
        return [inks(line(" ", Span(yes, key), " yes    ", Span(no, key), " no"))]


class QuestionScreen(ModalScreen[bool], CoveredScreen[bool], inherit_bindings=False):
    """Dismissed with the answer; everything but a plain yes is no.

    Args:
        question: what is asked, and what is to be known for it.
        is_ascii: draw with ASCII only.
    """

    CSS_PATH = "../styles/question.tcss"
    PLACES: ClassVar[tuple[Where, ...]] = (Where.QUESTION,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, question: Sequence[Line], *, is_ascii: bool) -> None:
        super().__init__()
        self._pane = QuestionPane(question, is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield self._pane

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001  # a parameter of keys
        self.dismiss(answer)
