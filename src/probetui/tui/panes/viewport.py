"""Viewports: the visible part of a pane's content, moved by keys, wheel and clicks.

A pane has one of three kinds: scrolled content, a list with a cursor, or entries that
can be wrapped, searched, copied and followed while they grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from textual.message import Message

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import EMPTY, Line, Role, Span, line
from probetui.tui.messages import CopyRequested, ListViewChanged
from probetui.tui.styled_text import CURSOR, PLAIN, StyledLine, fit, underlined, wrapped


class Content(Protocol):
    """The part of a pane that its viewport uses."""

    is_bare: bool

    @property
    def inner_width(self) -> int:
        """The width of a line, in cells."""

    @property
    def visible_rows(self) -> int:
        """The number of lines for content; at least one."""

    @property
    def ellipsis(self) -> str:
        """The end of a text that is cut."""

    def above(self) -> Sequence[StyledLine]:
        """Return lines that stay in place above the content."""

    def count(self) -> int:
        """Return the number of lines or entries."""

    def row(self, index: int) -> StyledLine:
        """Return a line, or an entry on one line."""

    def repaint(self) -> None:
        """Paint what has changed."""

    def post_message(self, message: Message) -> bool:
        """Post a message to the screen."""


class Entries(Content, Protocol):
    """A pane of entries, of which only visible ones are formatted."""

    @property
    def indent(self) -> int:
        """The indentation of an entry's continuation lines, in cells."""

    @property
    def is_marked(self) -> bool:
        """Whether the cursor is visible."""

    def entry(self, index: int, also: str) -> StyledLine:
        """Return an entry on one line of any length; `also` is one more style name."""

    def searchable(self, index: int) -> str:
        """Return the text of an entry for filters."""

    def copy_text(self, index: int) -> str:
        """Return the text of an entry for copying."""


class Viewport:
    """Content that is scrolled line by line."""

    def __init__(self, pane: Content) -> None:
        self.pane = pane
        self.top = 0
        """The index of the first visible line."""

    def move(self, step: int) -> None:
        """Move by `step` lines."""
        self.scroll(step)

    def move_page(self, direction: int) -> None:
        """Move by a page, up (-1) or down (1)."""
        self.scroll(direction * self.pane.visible_rows)

    def move_to_start(self) -> None:
        """Go to the first line."""
        self.scroll(-self.pane.count())

    def move_to_end(self) -> None:
        """Go to the last line."""
        self.scroll(self.pane.count())

    def scroll(self, step: int) -> None:
        """Scroll by `step` lines, within the content."""
        self.top = self.within(self.top + step)
        self.pane.repaint()

    def click(self, y: int) -> None:
        """Handle a click on a line of the pane."""

    def keep_in_sight(self) -> None:
        """Keep the selection visible after a change of size."""

    def within(self, top: int) -> int:
        """Return the nearest valid value of `top`, which leaves no room empty."""
        return max(0, min(top, self.pane.count() - self.pane.visible_rows))

    def lines(self) -> Sequence[StyledLine]:
        """Return the visible lines of content."""
        end = min(self.top + self.pane.visible_rows, self.pane.count())
        return [self.pane.row(index) for index in range(self.top, end)]

    def pill(self) -> Line:
        """Return a remark about lines that are not visible."""
        return EMPTY

    # -- keys of entries, which other viewports ignore

    def toggle_wrap(self) -> None:
        """Show entries in full, or one line of each."""

    def toggle_follow(self) -> None:
        """Follow the newest entry, or stop following."""

    def find_next(self, step: int) -> None:
        """Go to the next match of the last filter, or to the previous one."""

    def copy_entry(self) -> None:
        """Copy the selected entry."""


class ListViewport(Viewport):
    """A list with a cursor.

    Args:
        pane: the pane with the lines.
        is_choice: returns whether a line can be selected; by default all can. The
            cursor skips the others, such as headings.
        on_chosen: called when a line is selected.
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
        """The index of the selected line; 0 if there is none."""
        self._is_choice = is_choice
        self._on_chosen = on_chosen

    def is_choice(self, index: int) -> bool:
        """Return whether a line exists and can be selected."""
        exists = 0 <= index < self.pane.count()
        return exists and (self._is_choice is None or self._is_choice(index))

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
        """Return the offset of the pane's line `y` from the first visible line."""
        return y - len(self.pane.above()) - (0 if self.pane.is_bare else 1)

    def choose(self, index: int) -> None:
        """Move the cursor to a line, and scroll it into view."""
        self.cursor = index
        if index < self.top:
            self.top = index
        elif index >= self.top + self.pane.visible_rows:
            self.top = index + 1 - self.pane.visible_rows
        self.top = self.within(self.top)

    def choose_nearest(self, index: int, step: int) -> None:
        """Select a line, or the next selectable one in the direction of `step`."""
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
        """Select the next match or the previous one, wrapping around at the end."""
        count = self.pane.count()
        for distance in range(1, count + 1):
            index = (self.cursor + step * distance) % count
            if self.is_choice(index) and is_hit(index):
                self.choose_nearest(index, step)
                return

    def drop_oldest(self, count: int) -> None:
        """Keep cursor and scroll position on their lines after `count` were dropped."""
        self.cursor = max(self.cursor - count, 0)
        self.top = max(self.top - count, 0)


class EntryViewport(ListViewport):
    """Entries that take one line each or, wrapped, as many as they need.

    Args:
        pane: the pane with the entries.
        follows: whether to stay at the newest entry, at the bottom, until the user
            moves up.
        fills: returns whether an entry that is cut is shown in full where lines would
            be empty; the newest come first. By default none is.
    """

    def __init__(
        self,
        pane: Entries,
        *,
        follows: bool = False,
        fills: Callable[[int], bool] = lambda _index: False,
    ) -> None:
        super().__init__(pane, on_chosen=self._cursor_moved)
        self._entries = pane
        self._can_follow = follows
        self._fills = fills
        self.is_following = follows
        self._unseen = 0
        self.wraps = False
        self.sought = Filter()
        """The last filter, for `n` and `N` after the list is unfiltered."""

    def show(self) -> None:
        """Paint what has changed, and notify the screen."""
        self.pane.repaint()
        self.pane.post_message(ListViewChanged())

    # -- what is drawn

    def look_of(self, index: int) -> str:
        """Return the additional style name of an entry: the cursor's, or none."""
        return CURSOR if self._entries.is_marked and index == self.cursor else ""

    def underlined(self, shown: StyledLine) -> StyledLine:
        """Return an entry with the matches of the last filter underlined."""
        if not self.sought.is_active:
            return shown
        text = "".join(segment for segment, _ in shown)
        return underlined(shown, self.sought.hits(text))

    def cut(self, index: int) -> StyledLine:
        """Return an entry cut to one line."""
        also = self.look_of(index)
        shown = self.underlined(self._entries.entry(index, also))
        return fit(shown, self.pane.inner_width, also=also, ellipsis=self.pane.ellipsis)

    def block(self, index: int, most: int = 0) -> list[StyledLine]:
        """Return an entry on as many lines as it needs, but at most so many, if any."""
        also, width = self.look_of(index), self.pane.inner_width
        shown = self.underlined(self._entries.entry(index, also))
        parts = wrapped(shown, width, self._entries.indent)
        if 0 < most < len(parts):
            # The next line without its indent, which the end of this one cuts.
            last = (*parts[most - 1], (" ", PLAIN), *parts[most][1:])
            parts = [*parts[: most - 1], last]
        ellipsis = self.pane.ellipsis
        return [fit(part, width, also=also, ellipsis=ellipsis) for part in parts]

    def lines(self) -> Sequence[StyledLine]:
        if not self.wraps:
            whole = self._in_full()
            if not whole:
                return super().lines()
            rows = range(self.pane.count())
            blocks = (
                self.block(index, whole[index])
                if index in whole
                else [self.pane.row(index)]
                for index in rows
            )
            return [part for block in blocks for part in block]
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
        whole = self._in_full()
        if not self.wraps and not whole:
            super().click(y)
            return
        offset = self.offset_of(y)
        for index in range(self.top, self.pane.count()):
            height = whole.get(index, 1)
            if self.wraps:
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

    def _in_full(self) -> dict[int, int]:
        """Return the lines of entries that have room for several without `wraps`.

        All entries are visible then; the oldest of those that are cut may have less
        than it needs.
        """
        count = self.pane.count()
        spare = self.pane.visible_rows - count
        whole: dict[int, int] = {}
        if self.wraps or spare < 1:
            return whole
        for index in reversed(range(count)):
            more = len(self.block(index)) - 1 if self._fills(index) else 0
            if (more := min(more, spare)) > 0:
                whole[index] = more + 1
                spare -= more
        return whole

    def _lines_between(self, start: int, stop: int) -> int:
        """Return how many lines entries take; stop counting above the visible lines."""
        lines = 0
        for index in range(stop - 1, start - 1, -1):
            lines += len(self.block(index))
            if lines > self.pane.visible_rows:
                break
        return lines

    # -- following

    def add_newest(self, count: int) -> None:
        """Scroll to the newest entry if following, else count the new ones."""
        if self.is_following:
            self.go_to_newest()
        else:
            self._unseen += count

    def go_to_newest(self) -> None:
        """Show the newest entries."""
        self.choose(max(self.pane.count() - 1, 0))
        self._unseen = 0

    def follow(self, *, is_following: bool) -> None:
        """Follow the newest entry from now on, or stop following."""
        self.is_following = is_following and self._can_follow
        if self.is_following:
            self._unseen = 0

    def _cursor_moved(self) -> None:
        """Follow if the last entry is selected, else stop following."""
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
