"""What is visible of a pane's content, and how keys, wheel and clicks move it.

A pane has one of these: content that is scrolled, a list with a cursor, or entries
that wrap, are searched and copied, and may be followed while they grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from textual.message import Message

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line
from probetui.tui.messages import CopyRequested, ListViewChanged
from probetui.tui.styled_text import CURSOR, StyledLine, fit, underlined, wrapped


class Content(Protocol):
    """A pane, as far as its viewport has to know it."""

    is_bare: bool

    @property
    def inner_width(self) -> int:
        """Cells in a line."""

    @property
    def visible_rows(self) -> int:
        """How many lines of content there is room for; at least one."""

    @property
    def ellipsis(self) -> str:
        """What ends a text that is cut."""

    def above(self) -> Sequence[StyledLine]:
        """Return lines that stay in place above the content."""

    def count(self) -> int:
        """Return how many lines or entries there are."""

    def row(self, index: int) -> StyledLine:
        """Return one of them on one line."""

    def repaint(self) -> None:
        """Paint what has changed."""

    def post_message(self, message: Message) -> bool:
        """Post a message to the screen."""


class Entries(Content, Protocol):
    """A pane of entries; only those in sight are ever put into words."""

    @property
    def indent(self) -> int:
        """How far the second and further lines of an entry stand to the right."""

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is to be seen."""

    def entry(self, index: int, also: str) -> StyledLine:
        """Return one entry on one line, however long; `also` is a name for its look."""

    def searchable(self, index: int) -> str:
        """Return the text of an entry, as a filter looks at it."""

    def copy_text(self, index: int) -> str:
        """Return what copying an entry gives."""


class Viewport:
    """Content that is scrolled line by line."""

    def __init__(self, pane: Content) -> None:
        self.pane = pane
        self.top = 0
        """The first line of the content that is visible."""

    def move(self, step: int) -> None:
        """Go up or down by a line, as a key says."""
        self.scroll(step)

    def move_page(self, direction: int) -> None:
        """Go up or down by as many lines as are visible."""
        self.scroll(direction * self.pane.visible_rows)

    def move_to_start(self) -> None:
        """Go to the first line."""
        self.scroll(-self.pane.count())

    def move_to_end(self) -> None:
        """Go to the last line."""
        self.scroll(self.pane.count())

    def scroll(self, step: int) -> None:
        """Move what is visible, as far as there is something to see."""
        self.top = self.within(self.top + step)
        self.pane.repaint()

    def click(self, y: int) -> None:
        """Do what follows from a click on a line of the pane."""

    def keep_in_sight(self) -> None:
        """See to it that what is chosen is visible, as the size has changed."""

    def within(self, top: int) -> int:
        """Return the first visible line nearest to `top` that leaves no room empty."""
        return max(0, min(top, self.pane.count() - self.pane.visible_rows))

    def lines(self) -> Sequence[StyledLine]:
        """Return the lines of content from the top down, as many as there is room."""
        end = min(self.top + self.pane.visible_rows, self.pane.count())
        return [self.pane.row(index) for index in range(self.top, end)]

    def pill(self) -> Line:
        """Return what is said about lines that are not visible."""
        return EMPTY

    # -- keys of entries, which only some content has

    def toggle_wrap(self) -> None:
        """Show entries in full, or one line of each."""

    def toggle_follow(self) -> None:
        """Stay at the newest entry, or stay where one is."""

    def find_next(self, step: int) -> None:
        """Go to the next hit of what was looked for, or the one before."""

    def copy_entry(self) -> None:
        """Copy the chosen entry."""


class ListViewport(Viewport):
    """A list with a cursor.

    Args:
        pane: has the lines.
        is_choice: whether a line can be chosen, by default every one; the cursor skips
            the others (headings).
        on_chosen: called when a line is chosen.
    """

    def __init__(
        self,
        pane: Content,
        *,
        is_choice: Callable[[int], bool] | None = None,
        on_chosen: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(pane)
        self.cursor = 0
        """The line of the content that is chosen; 0 if there is none."""
        self._is_choice = is_choice
        self._on_chosen = on_chosen

    def is_choice(self, index: int) -> bool:
        """Return whether a line can be chosen."""
        is_there = 0 <= index < self.pane.count()
        return is_there and (self._is_choice is None or self._is_choice(index))

    def move(self, step: int) -> None:
        self.choose_nearest(self.cursor + step, step)

    def move_page(self, direction: int) -> None:
        target = self.cursor + direction * self.pane.visible_rows
        self.choose_nearest(max(0, min(target, self.pane.count() - 1)), direction)

    def move_to_start(self) -> None:
        self.choose_nearest(0, 1)

    def move_to_end(self) -> None:
        self.choose_nearest(self.pane.count() - 1, -1)

    def click(self, y: int) -> None:
        offset = self.offset_of(y)
        if 0 <= offset < self.pane.visible_rows:
            self.choose_nearest(min(self.top + offset, self.pane.count() - 1), -1)

    def keep_in_sight(self) -> None:
        self.choose(self.cursor)

    def offset_of(self, y: int) -> int:
        """Return how far below the first visible line a line of the pane is."""
        return y - len(self.pane.above()) - (0 if self.pane.is_bare else 1)

    def choose(self, index: int) -> None:
        """Put the cursor on a line and bring it into sight."""
        self.cursor = index
        if index < self.top:
            self.top = index
        elif index >= self.top + self.pane.visible_rows:
            self.top = index + 1 - self.pane.visible_rows
        self.top = self.within(self.top)

    def choose_nearest(self, index: int, step: int) -> None:
        """Choose that line or the next one in the direction of `step` that can be."""
        direction = 1 if step > 0 else -1
        for way in (direction, -direction):
            candidate = index
            while 0 <= candidate < self.pane.count():
                if self.is_choice(candidate):
                    self.choose(candidate)
                    if self._on_chosen is not None:
                        self._on_chosen()
                    self.pane.repaint()
                    return
                candidate += way

    def find_hit(self, step: int, is_hit: Callable[[int], bool]) -> None:
        """Choose the next line that is a hit, or the one before; in a circle."""
        count = self.pane.count()
        for distance in range(1, count + 1):
            index = (self.cursor + step * distance) % count
            if self.is_choice(index) and is_hit(index):
                self.choose_nearest(index, step)
                return

    def drop_oldest(self, count: int) -> None:
        """Stay on the same lines, now that so many are gone at the start."""
        self.cursor = max(self.cursor - count, 0)
        self.top = max(self.top - count, 0)


class EntryViewport(ListViewport):
    """Entries that take one line each or, wrapped, as many as they need.

    Args:
        pane: has the entries.
        follows: stay at the newest, at the bottom, until something older is looked at.
    """

    def __init__(self, pane: Entries, *, follows: bool = False) -> None:
        super().__init__(pane, on_chosen=self._look_where_it_is)
        self._entries = pane
        self._can_follow = follows
        self.is_following = follows
        self._unseen = 0
        self.wraps = False
        self.sought = Filter()
        """What was typed last; to be found again when nothing is filtered any more."""

    def show(self) -> None:
        """Paint what has changed, and say so to the screen."""
        self.pane.repaint()
        self.pane.post_message(ListViewChanged())

    # -- what is drawn

    def look_of(self, index: int) -> str:
        """Return the name of the look that an entry has besides its own."""
        return CURSOR if self._entries.is_marked and index == self.cursor else ""

    def underlined(self, shown: StyledLine) -> StyledLine:
        """Return an entry with what was looked for underlined."""
        if not self.sought.is_active:
            return shown
        text = "".join(segment for segment, _ in shown)
        return underlined(shown, self.sought.hits(text))

    def cut(self, index: int) -> StyledLine:
        """Return an entry cut to one line."""
        also = self.look_of(index)
        shown = self.underlined(self._entries.entry(index, also))
        return fit(shown, self.pane.inner_width, also=also, ellipsis=self.pane.ellipsis)

    def block(self, index: int) -> list[StyledLine]:
        """Return an entry on as many lines as it needs."""
        also, width = self.look_of(index), self.pane.inner_width
        shown = self.underlined(self._entries.entry(index, also))
        parts = wrapped(shown, width, self._entries.indent)
        return [fit(part, width, also=also) for part in parts]

    def lines(self) -> Sequence[StyledLine]:
        if not self.wraps:
            return super().lines()
        lines: list[StyledLine] = []
        for index in range(self.top, self.pane.count()):
            lines += self.block(index)
            if len(lines) >= self.pane.visible_rows:
                break
        return lines

    def pill(self) -> Line:
        if not self._unseen:
            return EMPTY
        plural = "" if self._unseen == 1 else "s"
        return line(Span(f"{self._unseen} new line{plural}, a follows", Role.ACCENT))

    # -- moving

    def choose(self, index: int) -> None:
        super().choose(index)
        if self.wraps:
            while self.top < index and self._lines_between(self.top, index + 1) > (
                self.pane.visible_rows
            ):
                self.top += 1

    def move_page(self, direction: int) -> None:
        if not self.wraps:
            super().move_page(direction)
            return
        room, target = self.pane.visible_rows, self.cursor
        while room > 0 and 0 <= target + direction < self.pane.count():
            room -= len(self.block(target))
            target += direction
        self.choose_nearest(target, direction)

    def scroll(self, step: int) -> None:
        self.top = self.within(self.top + step)
        self.follow(is_following=self.top >= self.within(self.pane.count()))
        self.show()

    def click(self, y: int) -> None:
        if not self.wraps:
            super().click(y)
            return
        offset = self.offset_of(y)
        for index in range(self.top, self.pane.count()):
            height = len(self.block(index))
            if 0 <= offset < height:
                self.choose_nearest(index, -1)
                return
            offset -= height

    def within(self, top: int) -> int:
        if not self.wraps:
            return super().within(top)
        room, last = self.pane.visible_rows, self.pane.count()
        while last > 0 and (room := room - len(self.block(last - 1))) >= 0:
            last -= 1
        return max(0, min(top, last, self.pane.count() - 1))

    def _lines_between(self, start: int, stop: int) -> int:
        """Return how many lines entries take, or at least more than there is room."""
        lines = 0
        for index in range(stop - 1, start - 1, -1):
            lines += len(self.block(index))
            if lines > self.pane.visible_rows:
                break
        return lines

    # -- following

    def add_newest(self, count: int) -> None:
        """Count newly added entries; scroll to the newest one when following."""
        if self.is_following:
            self.go_to_newest()
        else:
            self._unseen += count

    def go_to_newest(self) -> None:
        """Show the newest entries."""
        self.choose(max(self.pane.count() - 1, 0))
        self._unseen = 0

    def follow(self, *, is_following: bool) -> None:
        """Stay at the newest entry from now on, or stay where one is."""
        self.is_following = is_following and self._can_follow
        if self.is_following:
            self._unseen = 0

    def _look_where_it_is(self) -> None:
        """Stop following when something older is chosen, and start at the last."""
        self.follow(is_following=self.cursor >= self.pane.count() - 1)
        self.pane.post_message(ListViewChanged())

    # -- keys

    def toggle_wrap(self) -> None:
        self.wraps = not self.wraps
        self.choose(self.cursor)
        self.show()

    def toggle_follow(self) -> None:
        self.follow(is_following=not self.is_following or bool(self._unseen))
        if self.is_following:
            self.go_to_newest()
        self.show()

    def find_next(self, step: int) -> None:
        if self.sought.is_active:
            entries = self._entries
            self.find_hit(step, lambda at: self.sought.keeps(entries.searchable(at)))

    def copy_entry(self) -> None:
        if self.pane.count():
            text = self._entries.copy_text(self.cursor)
            self.pane.post_message(CopyRequested(text))
