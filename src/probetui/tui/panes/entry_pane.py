"""Lists with a cursor: entries that wrap, are filtered, searched, copied, followed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import CopyRequested, ListViewChanged
from probetui.tui.panes.pane import Pane
from probetui.tui.styled_text import CURSOR, StyledLine, fit, underlined, wrapped


class ListPane(Pane):
    """A pane whose content is a list with a cursor.

    Some lines cannot be chosen (headings, second lines); the cursor passes over them.
    """

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.cursor = 0
        """The line of the content that is chosen; 0 if there is none."""

    def is_choice(self, index: int) -> bool:
        """Tell whether a line can be chosen."""
        return 0 <= index < self.count()

    def on_resize(self) -> None:
        self.choose(self.cursor)
        super().on_resize()

    def lines_of(self, index: int) -> range:
        """Return all lines that belong to a choice, to be kept in sight together."""
        return range(index, index + 1)

    def chosen(self) -> None:
        """Do what follows from a choice that a person made."""

    def action_move(self, step: int) -> None:
        self._choose_nearest(self.cursor + step, step)

    def action_page(self, direction: int) -> None:
        target = self.cursor + direction * self.visible_rows
        self._choose_nearest(max(0, min(target, self.count() - 1)), direction)

    def action_first(self) -> None:
        self._choose_nearest(0, 1)

    def action_last(self) -> None:
        self._choose_nearest(self.count() - 1, -1)

    def on_click(self, event: Click) -> None:
        offset = event.y - len(self.above()) - (0 if self.is_bare else 1)
        if 0 <= offset < self.visible_rows:
            self._choose_nearest(min(self.top + offset, self.count() - 1), -1)

    def choose(self, index: int) -> None:
        """Put the cursor on a line and bring it into sight."""
        self.cursor = index
        lines = self.lines_of(index)
        if lines.start < self.top:
            self.top = lines.start
        elif lines.stop > self.top + self.visible_rows:
            self.top = lines.stop - self.visible_rows
        self.top = self._within(self.top)

    def _choose_nearest(self, index: int, step: int) -> None:
        """Choose that line or the next one in the direction of `step` that can be."""
        direction = 1 if step > 0 else -1
        for way in (direction, -direction):
            candidate = index
            while 0 <= candidate < self.count():
                if self.is_choice(candidate):
                    self.choose(candidate)
                    self.chosen()
                    self.repaint()
                    return
                candidate += way


class EntryPane(ListPane):
    """A list whose entries take one line each or, wrapped, as many as they need.

    Subclasses say what an entry is. Only those in sight are ever put into words.
    """

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.wraps = False
        self.filter = Filter()
        self.sought = Filter()
        """What was typed last; to be found again when nothing is filtered any more."""

    @abstractmethod
    def entry(self, index: int, also: str) -> StyledLine:
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
            self.post_message(ListViewChanged())

    def row(self, index: int) -> StyledLine:
        """Return an entry cut to one line."""
        also = self._look_of(index)
        line = self._found(index, self.entry(index, also))
        return fit(line, self.inner_width, also=also, ellipsis=self.ellipsis)

    def block(self, index: int) -> list[StyledLine]:
        """Return an entry on as many lines as it needs."""
        also, width = self._look_of(index), self.inner_width
        line = self._found(index, self.entry(index, also))
        return [
            fit(part, width, also=also) for part in wrapped(line, width, self.indent)
        ]

    def visible_lines(self) -> Sequence[StyledLine]:
        if not self.wraps:
            return super().visible_lines()
        lines: list[StyledLine] = []
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
            self.post_message(CopyRequested(self.copy_text(self.cursor)))

    def _look_of(self, index: int) -> str:
        return CURSOR if self.is_marked and index == self.cursor else ""

    def _found(self, index: int, line: StyledLine) -> StyledLine:  # noqa: ARG002  # by index where entries are searched
        """Return an entry with what was looked for underlined."""
        if not self.sought.is_active:
            return line
        text = "".join(segment for segment, _ in line)
        return underlined(line, self.sought.hits(text))


class FollowingPane(EntryPane):
    """Newest at the bottom; follows until something older is looked at."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (
        KeyContext.PANE,
        KeyContext.ENTRIES,
        KeyContext.FOLLOWING,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.is_following = True
        self._unseen = 0

    def pill(self) -> Line:
        if not self._unseen:
            return EMPTY
        plural = "" if self._unseen == 1 else "s"
        return line(Span(f"{self._unseen} new line{plural}, a follows", Role.ACCENT))

    def chosen(self) -> None:
        """Stop following when something older is chosen, and start at the last."""
        self._follow(is_following=self.cursor >= self.count() - 1)

    def scroll_lines(self, step: int) -> None:
        self.top = self._within(self.top + step)
        is_at_end = self.top >= self._within(self.count())
        self._follow(is_following=is_at_end)
        self.repaint()

    def action_follow(self) -> None:
        self._follow(is_following=not self.is_following or bool(self._unseen))
        if self.is_following:
            self.go_to_end()
        self.repaint()

    def grow(self, count: int) -> None:
        """Take note that so many entries were added that are to be seen."""
        if self.is_following:
            self.go_to_end()
        else:
            self._unseen += count

    def go_to_end(self) -> None:
        """Show the newest entries."""
        self.choose(max(self.count() - 1, 0))
        self._unseen = 0

    def _follow(self, *, is_following: bool) -> None:
        self.is_following = is_following
        if is_following:
            self._unseen = 0
