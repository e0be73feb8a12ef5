"""A few things to choose from, by number or with a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from string import digits
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.events import Click

from probetui.presentation.spans import EMPTY, Line, Role, Span, line, muted, strong
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import InkLine, inks, wrapped
from probetui.tui.messages import RowPicked
from probetui.tui.widgets.list_pane import ListPane

_WORDS_CELLS = 24


class MenuRow(NamedTuple):
    """One thing to choose; `note` says what it means. Without a name: a heading.

    One that `is_off` keeps its number, but cannot be chosen.
    """

    name: str
    words: str
    note: str = ""
    is_off: bool = False


class MenuPane(ListPane):
    """Rows with numbers; what is picked is told to the screen by its name."""

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.MENU)
    # Numbers are bindings like the other keys, so that keys act in their order even
    # when they come faster than they are handled. The rows show them.
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(*PLACES),
        *(Binding(each, f"pick_number({each})", show=False) for each in digits[1:]),
    ]

    def __init__(
        self, heading: str, *, has_numbers: bool = True, is_ascii: bool
    ) -> None:
        super().__init__(id="menu", is_ascii=is_ascii)
        self._has_numbers = has_numbers
        self._heading = heading
        self._about: Line = EMPTY
        self._rows: Sequence[MenuRow] = ()
        self._last_words: Sequence[Line] = ()

    def show(
        self, about: Line, rows: Sequence[MenuRow], last_words: Sequence[Line] = ()
    ) -> None:
        """Show what it is about, the choices, and some lines below them."""
        self._about, self._rows, self._last_words = about, rows, last_words
        if not self.is_choice(self.cursor):
            self.action_first()
        self.repaint()

    def title(self) -> Line:
        return line(strong(self._heading))

    def badge(self) -> Line:
        return line(muted("esc closes"))

    def above(self) -> Sequence[InkLine]:
        return [inks(line(" ", *self._about)), ()]

    def below(self) -> Sequence[InkLine]:
        return [
            part
            for each in self._last_words
            for part in wrapped(inks(line(" ", *each)), self.inner_width, 1)
        ]

    def count(self) -> int:
        return len(self._rows)

    def is_choice(self, index: int) -> bool:
        row = self._rows[index] if super().is_choice(index) else None
        return row is not None and bool(row.name) and not row.is_off

    def row(self, index: int) -> InkLine:
        row = self._rows[index]
        if not row.name:
            return inks(line(f" {row.words}"))
        is_here = index == self.cursor
        number = self._numbers().get(index, "")
        words = row.words.ljust(_WORDS_CELLS)
        if row.is_off:
            return inks(line(muted(f" {number:>2} {words} {row.note}")))
        return inks(
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
            if number == str(wanted) and self.is_choice(index):
                self.choose(index)
                self.action_pick()

    def action_pick(self) -> None:
        if self.is_choice(self.cursor):
            self.post_message(RowPicked(self._rows[self.cursor].name))

    def on_click(self, event: Click) -> None:
        super().on_click(event)
        if event.chain > 1:
            self.action_pick()

    @property
    def name_at_cursor(self) -> str:
        """The name of the row that has the cursor, empty without one."""
        return self._rows[self.cursor].name if self.is_choice(self.cursor) else ""

    def _numbers(self) -> dict[int, str]:
        if not self._has_numbers:
            return {}
        choices = [index for index, row in enumerate(self._rows) if row.name]
        return {index: str(count) for count, index in enumerate(choices[:9], 1)}
