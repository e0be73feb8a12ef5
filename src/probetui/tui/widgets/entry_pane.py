"""A list of entries to be read: filtered or searched, wrapped, copied."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from probetui.presentation.filters import Filter
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.inks import CURSOR, InkLine, fit, underlined, wrapped
from probetui.tui.messages import CopyWanted, ReadOn
from probetui.tui.widgets.list_pane import ListPane


class EntryPane(ListPane):
    """A list whose entries take one line each or, wrapped, as many as they need.

    Subclasses say what an entry is. Only those in sight are ever put into words.
    """

    PLACES: ClassVar[tuple[Where, ...]] = (Where.PANE, Where.ENTRIES)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.wraps = False
        self.filter = Filter()
        self.sought = Filter()
        """What was typed last; to be found again when nothing is filtered any more."""

    @abstractmethod
    def entry(self, index: int, also: str) -> InkLine:
        """Return one entry on one line, however long; `also` is a name for its look."""

    @abstractmethod
    def searchable(self, index: int) -> str:
        """Return the text of an entry, as a filter looks at it."""

    @abstractmethod
    def copy_text(self, index: int) -> str:
        """Return what copying an entry gives."""

    @property
    def has_labels(self) -> bool:
        """Entries are text, and have no labels."""
        return False

    @property
    def indent(self) -> int:
        """How far the second and further lines of an entry stand to the right."""
        return 2

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is to be seen."""
        return self.has_focus

    # -- what is drawn

    def repaint(self) -> None:
        super().repaint()
        if self.is_mounted:
            self.post_message(ReadOn())

    def row(self, index: int) -> InkLine:
        """Return an entry cut to one line."""
        also = self._look_of(index)
        line = self._found(index, self.entry(index, also))
        return fit(line, self.inner_width, also=also, ellipsis=self.ellipsis)

    def block(self, index: int) -> list[InkLine]:
        """Return an entry on as many lines as it needs."""
        also, width = self._look_of(index), self.inner_width
        line = self._found(index, self.entry(index, also))
        return [
            fit(each, width, also=also) for each in wrapped(line, width, self.indent)
        ]

    def visible_lines(self) -> Sequence[InkLine]:
        if not self.wraps:
            return super().visible_lines()
        lines: list[InkLine] = []
        for index in range(self.top, self.count()):
            lines += self.block(index)
            if len(lines) >= self.visible_rows:
                break
        return lines

    # -- moving

    def choose(self, index: int) -> None:
        super().choose(index)
        if self.wraps:
            while self.top < index and self._lines_between(self.top, index + 1) > (
                self.visible_rows
            ):
                self.top += 1

    def action_page(self, direction: int) -> None:
        if not self.wraps:
            super().action_page(direction)
            return
        room, target = self.visible_rows, self.cursor
        while room > 0 and 0 <= target + direction < self.count():
            room -= len(self.block(target))
            target += direction
        self._choose_nearest(target, direction)

    def on_click(self, event: Click) -> None:
        if not self.wraps:
            super().on_click(event)
            return
        offset = event.y - len(self.above()) - (0 if self.is_bare else 1)
        for index in range(self.top, self.count()):
            height = len(self.block(index))
            if 0 <= offset < height:
                self._choose_nearest(index, -1)
                return
            offset -= height

    def _within(self, top: int) -> int:
        if not self.wraps:
            return super()._within(top)
        room, last = self.visible_rows, self.count()
        while last > 0 and (room := room - len(self.block(last - 1))) >= 0:
            last -= 1
        return max(0, min(top, last, self.count() - 1))

    def _lines_between(self, start: int, stop: int) -> int:
        """Return how many lines entries take, or at least more than there is room."""
        lines = 0
        for index in range(stop - 1, start - 1, -1):
            lines += len(self.block(index))
            if lines > self.visible_rows:
                break
        return lines

    # -- keys

    def action_wrap(self) -> None:
        self.wraps = not self.wraps
        self.choose(self.cursor)
        self.repaint()

    def action_hit(self, step: int) -> None:
        """Go to the next hit of what was looked for, or the one before; in a circle."""
        count = self.count() if self.sought.is_active else 0
        for distance in range(1, count + 1):
            index = (self.cursor + step * distance) % count
            if self.sought.keeps(self.searchable(index)):
                self._choose_nearest(index, step)
                return

    def action_copy(self) -> None:
        if self.count():
            self.post_message(CopyWanted(self.copy_text(self.cursor)))

    def _look_of(self, index: int) -> str:
        return CURSOR if self.is_marked and index == self.cursor else ""

    def _found(self, index: int, line: InkLine) -> InkLine:  # noqa: ARG002  # by index where entries are searched
        """Return an entry with what was looked for underlined."""
        if not self.sought.is_active:
            return line
        text = "".join(each for each, _ in line)
        return underlined(line, self.sought.hits(text))
