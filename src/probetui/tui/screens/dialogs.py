"""Dialogs: a menu of choices, a confirmation, the change of a lesson."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import digits
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import ModalScreen

from probetui.presentation.text.cells import one_line
from probetui.presentation.text.spans import Line, Role, Span, line, muted, strong
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.key_labels import active_labels, key_label
from probetui.tui.actions.keymap import keys_of
from probetui.tui.actions.table import ACTIONS_BY_ID, bindings
from probetui.tui.host_services import CurrentLesson
from probetui.tui.options import ScreenOptions
from probetui.tui.panes.pane import Pane
from probetui.tui.panes.viewport import ListViewport
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.styled_text import CURSOR, StyledLine, fit, styled_line, wrapped

NUMBERS = digits[1:]


_NAMES_IN_MENU, _LEAST_NAME = 56, 12
"""The share of a menu's width for names, in percent, and their least width in cells."""


_LEAST_MENU = 76
"""The width of a menu in cells, where the terminal has it and no note is wider."""

_AROUND_CHOICE = 9
"""The cells of a menu beside names and notes: frame, cursor, number, gap."""

_MOST_NAMES = 5
"""How many pods a question names."""


class ChoicePane(Pane):
    """The numbered choices, one a line."""

    def __init__(
        self,
        name: str,
        choices: Sequence[tuple[str, str]],
        *,
        is_ascii: bool,
        on_chosen: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(id="choice", is_ascii=is_ascii)
        self.viewport: ListViewport = ListViewport(self, on_chosen=on_chosen)
        self._name_of_menu = name
        self._choices = choices
        self._widest = max((len(name) for name, _ in choices), default=0)
        self._widest_note = max((cell_len(note) for _, note in choices), default=0)

    def get_content_width(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
    ) -> int:
        """Return the width that shows all notes, in cells."""
        return max(self._widest + self._widest_note + _AROUND_CHOICE, _LEAST_MENU)

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,  # noqa: ARG002  # the framework's
    ) -> int:
        """Return the height for all choices and the frame."""
        return len(self._choices) + 2

    def title(self) -> Line:
        return line(strong(self._name_of_menu))

    def badge(self) -> Line:
        return line(muted("enter chooses  esc closes"))

    def count(self) -> int:
        return len(self._choices)

    def row(self, index: int) -> StyledLine:
        name, note = self._choices[index]
        is_selected = index == self.viewport.cursor
        also = CURSOR if is_selected else ""
        number = str(index + 1) if index < len(NUMBERS) else ""
        before = styled_line(
            line(
                Span("> " if is_selected else "  ", Role.ACCENT),
                Span(f"{number:>1}  ", Role.ACCENT),
            ),
            also,
        )
        # Long names are cut, so that there is room for the notes.
        room = self.inner_width * _NAMES_IN_MENU // 100
        names = min(self._widest, max(room, _LEAST_NAME))
        shown = (
            *before,
            *fit(
                styled_line(line(name), also), names, also=also, ellipsis=self.ellipsis
            ),
            *styled_line(line("  ", muted(note)), also),
        )
        return fit(shown, self.inner_width, also=also, ellipsis=self.ellipsis)


class ChoiceScreen(
    ModalScreen[int | None], MinimumSizeScreen[int | None], inherit_bindings=False
):
    """Dismissed with the index of the choice, None without one.

    Args:
        name: the title of the menu.
        choices: the name and the note of each; safe text.
        is_ascii: whether to draw with ASCII only.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.CHOICE,)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(*KEY_CONTEXTS),
        *(Binding(digit, f"pick_number({digit})", show=False) for digit in NUMBERS),
    ]

    def __init__(
        self, name: str, choices: Sequence[tuple[str, str]], *, is_ascii: bool
    ) -> None:
        super().__init__()
        self._pane = ChoicePane(name, choices, is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield self._pane

    def action_choose(self) -> None:
        self.dismiss(self._pane.viewport.cursor)

    def action_pick_number(self, wanted: int) -> None:
        """Choose a line by its number."""
        if wanted <= self._pane.count():
            self.dismiss(wanted - 1)


class QuizScreen(ChoiceScreen, inherit_bindings=False):
    """Asks what happens next, below what there is to see of it."""

    BINDINGS: ClassVar[list[BindingType]] = ChoiceScreen.BINDINGS


class QuestionPane(Pane):
    """A question or a notice, and the keys for it.

    Args:
        name: the title.
        question: the paragraphs of the text.
        keys: returns the line with the keys.
        is_ascii: whether to draw with ASCII only.
        scrolls: whether keys move the text; else their letters may be answers.
    """

    MARGIN = 0

    def __init__(
        self,
        name: str,
        question: Sequence[Line],
        keys: Callable[[], Line],
        *,
        is_ascii: bool,
        scrolls: bool = True,
    ) -> None:
        super().__init__(id="question", is_ascii=is_ascii)
        self._scrolls = scrolls
        self._name_of_question = name
        self._question = question
        self._keys = keys

    def get_content_height(
        self,
        container: Size,  # noqa: ARG002  # the framework's
        viewport: Size,  # noqa: ARG002  # the framework's
        width: int,
    ) -> int:
        """Return the height for text, a blank line, keys and the frame."""
        return len(self._wrapped(width - 2)) + 4

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is possible; `k` goes on to the screen if not."""
        if action == "move" and not self._scrolls:
            return False
        return super().check_action(action, parameters)

    def title(self) -> Line:
        return line(strong(self._name_of_question))

    def rows(self) -> Sequence[StyledLine]:
        return self._wrapped(self.inner_width)

    def _wrapped(self, width: int) -> list[StyledLine]:
        return [
            part
            for paragraph in self._question
            for part in wrapped(styled_line(line(" ", *paragraph)), width, indent=5)
        ]

    def below(self) -> Sequence[StyledLine]:
        return [styled_line(line(" ", *self._keys()))]


class QuestionScreen(
    ModalScreen[bool], MinimumSizeScreen[bool], inherit_bindings=False
):
    """Dismissed with the answer, which is no for everything but an explicit yes.

    Args:
        question: the question, and what to know for the answer.
        is_ascii: whether to draw with ASCII only.
    """

    CSS_PATH = "../styles/screens.tcss"
    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.QUESTION,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, question: Sequence[Line], *, is_ascii: bool) -> None:
        super().__init__()
        self._pane = QuestionPane("Confirm", question, self._answers, is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield self._pane

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001  # a parameter of keys
        self.dismiss(answer)

    def _answers(self) -> Line:
        return self._labelled(("app.yes", " yes"), ("app.no", " no"))

    def _labelled(self, *answers: tuple[str, str]) -> Line:
        """Return the keys of answers, each with what it says."""
        labels = {label.id: label for label in active_labels(self.active_bindings)}
        parts: list[Span | str] = []
        for identifier, says in answers:
            keys = " ".join(labels[identifier].keys)
            parts += ["    " if parts else "", Span(keys, Role.ACCENT), says]
        return line(*parts)


class LeaveScreen(QuestionScreen, inherit_bindings=False):
    """Asks what becomes of pods when the user quits; dismissed as a question is.

    Args:
        names: the pods that have run for long.
        keep: called before it is dismissed with yes, if the pods are to be kept.
        is_ascii: whether to draw with ASCII only.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.QUESTION,
        KeyContext.LEAVING,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(
        self, names: Sequence[str], keep: Callable[[], None], *, is_ascii: bool
    ) -> None:
        more = len(names) - _MOST_NAMES
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" * (more > 0))
        question = (line("Quit? This stops ", strong(one_line(listed)), "."),)
        super().__init__(question, is_ascii=is_ascii)
        self._pane = QuestionPane(
            "Quit", question, self._answers, is_ascii=is_ascii, scrolls=False
        )
        self._keep = keep

    def action_keep(self) -> None:
        self._keep()
        self.dismiss(True)  # noqa: FBT003  # the answer

    def _answers(self) -> Line:
        return self._labelled(
            ("app.yes", " stop"), ("app.keep", " keep running"), ("app.no", " back")
        )


class LessonChangeScreen(ModalScreen[None], MinimumSizeScreen[None]):
    """Shown while the pod of a lesson is stopped; swallows all keys but quit."""

    CSS_PATH = "../styles/screens.tcss"

    def __init__(
        self, lesson: CurrentLesson, steps: int, options: ScreenOptions
    ) -> None:
        super().__init__()
        number = (lesson.number - 1 + steps) % lesson.count + 1
        text = (
            line("Stopping the pod of ", strong(lesson.name), "."),
            line(f"Lesson {number} of {lesson.count} starts once it has stopped."),
        )
        keys = keys_of(ACTIONS_BY_ID["app.quit-now"], options.keymap)
        quits = line(Span(" ".join(map(key_label, keys)), Role.ACCENT), " quit")
        self._pane = QuestionPane("Lesson", text, lambda: quits, is_ascii=options.ascii)

    def compose(self) -> ComposeResult:
        yield self._pane
