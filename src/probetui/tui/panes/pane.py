"""A pane with a title, which renders only the visible part of its content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from textual import events
from textual.binding import BindingType

from probetui.presentation.text.filters import Filter
from probetui.presentation.text.spans import EMPTY, Line
from probetui.presentation.text.spans import text_of as words_of
from probetui.tui.actions.action import KeyContext
from probetui.tui.actions.table import bindings
from probetui.tui.messages import CopyRequested
from probetui.tui.panes.line_widget import LineWidget
from probetui.tui.panes.viewport import Viewport
from probetui.tui.state import is_allowed
from probetui.tui.styled_text import (
    GAP,
    PLAIN,
    StyledLine,
    cells,
    fit,
    styled_line,
    text_of,
    wrapped,
)


class Frame(Struct, frozen=True):
    """The edges and corners of one kind of frame."""

    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    horizontal: str
    vertical: str
    thumb: str


LIGHT = Frame("╭", "╮", "╰", "╯", "─", "│", "█")
HEAVY = Frame("┏", "┓", "┗", "┛", "━", "┃", "█")
ASCII_LIGHT = Frame("+", "+", "+", "+", "-", "|", "#")
ASCII_HEAVY = Frame("#", "#", "#", "#", "=", "#", "@")
SURFACE = Frame(" ", " ", " ", " ", " ", " ", "█")
ASCII_SURFACE = Frame(" ", " ", " ", " ", " ", " ", "#")


def frame(*, is_focused: bool, is_ascii: bool, has_surface: bool = True) -> Frame:
    """Return the frame of a pane.

    Only the focused pane has lines. The others differ by their background or, with the
    terminal's own colours, by lighter lines.
    """
    if is_focused:
        return ASCII_HEAVY if is_ascii else HEAVY
    if has_surface:
        return ASCII_SURFACE if is_ascii else SURFACE
    return ASCII_LIGHT if is_ascii else LIGHT


_LOWEST_WITH_A_FRAME = 3
LEAST_EDGE = 8
"""The cells of the upper edge for corners, spaces and a bit of line."""

_WHEEL_LINES = 3


class Pane(LineWidget, can_focus=True):
    """A rectangle with a title, and with a frame while it has the focus.

    Without the focus the frame's cells are margins, so that nothing moves with the
    focus. A pane that is too low for a frame is one line; `is_bare` removes the frame
    on very small screens. Subclasses return their content from `rows` as a whole or, if
    it can be long, from `count` and `row`, which is called for visible lines only. A
    pane that is a list has a viewport with a cursor.
    """

    HAS_LABELS: ClassVar[bool] = False
    """Whether the lines are objects with labels, which a filter can select."""
    MARGIN: ClassVar[int] = 1
    """The free cells on both sides of rows, if the pane has a frame."""

    KEY_CONTEXTS: ClassVar[tuple[KeyContext, ...]] = (KeyContext.PANE,)
    BINDINGS: ClassVar[list[BindingType]] = bindings(*KEY_CONTEXTS)

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id)
        self.is_ascii = is_ascii
        self.is_bare = False
        self.viewport = Viewport(self)
        self.filter = Filter()
        self._all_rows: Sequence[StyledLine] = ()

    @property
    def ellipsis(self) -> str:
        """The end of a text that is cut."""
        return "~" if self.is_ascii else "…"

    @property
    def inner_width(self) -> int:
        """The width inside of the frame, in cells."""
        return self.size.width - (0 if self.is_bare else 2)

    @property
    def inner_height(self) -> int:
        """The height inside of the frame, in lines."""
        return max(self.size.height - (0 if self.is_bare else 2), 0)

    @property
    def visible_rows(self) -> int:
        """The number of lines for content; at least one."""
        return max(self.inner_height - len(self.above()) - len(self.below()), 1)

    def title(self) -> Line:
        """Return the left part of the upper edge."""
        return EMPTY

    def badge(self) -> Line:
        """Return the right part of the upper edge."""
        return EMPTY

    def pill(self) -> Line:
        """Return the right part of the lower edge."""
        return self.viewport.pill()

    def rows(self) -> Sequence[StyledLine]:
        """Return all lines of content, without the margin."""
        return ()

    def count(self) -> int:
        """Return the number of lines of content."""
        return len(self._all_rows)

    def row(self, index: int) -> StyledLine:
        """Return one line of content."""
        margin = ((" " * self._margin, PLAIN),) if self._margin else ()
        return (*margin, *self._all_rows[index])

    @property
    def hits(self) -> str:
        """The number of lines that the filter keeps, as text."""
        return ""

    def show_filter(self, wanted: Filter) -> None:
        """Filter the lines, if the pane has a list."""
        self.filter = wanted

    @property
    def row_width(self) -> int:
        """The width of a row, in cells."""
        return self.inner_width - 2 * self._margin

    def broken(self, lines: Sequence[Line], indent: int) -> list[StyledLine]:
        """Wrap lines into rows; continuations are indented by `indent` cells."""
        rows: list[StyledLine] = []
        for line in lines:
            rows += wrapped(styled_line(line), self.row_width, indent=indent)
        return rows

    def above(self) -> Sequence[StyledLine]:
        """Return lines that stay in place above the content."""
        return ()

    def below(self) -> Sequence[StyledLine]:
        """Return lines that stay in place below the content."""
        return ()

    @property
    def title_room(self) -> int:
        """The cells for a title beside the badge."""
        return self.size.width - LEAST_EDGE - cells(styled_line(self.badge()))

    def first_that_fits(self, *titles: Line) -> Line:
        """Return the first title that fits beside the badge, or else the last."""
        room = self.title_room
        fitting = (title for title in titles if cells(styled_line(title)) <= room)
        return next(fitting, titles[-1])

    def show_bare(self, *, is_bare: bool) -> None:
        """Remove the frame, or restore it."""
        if self.is_bare != is_bare:
            self.is_bare = is_bare
            self.repaint()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action of the pane's keys is possible."""
        return is_allowed(self, action, parameters)

    def content(self) -> Sequence[StyledLine]:
        self._all_rows = self.rows()
        if self.is_bare:
            return self._inner()
        drawn = self._frame()
        if self.size.height < _LOWEST_WITH_A_FRAME:
            return [self._edge(drawn)]
        look = "focus" if self.has_focus else "frame"
        thumb = self._thumb()
        lines = [self._edge(drawn)]
        for index, inner in enumerate(self._inner()):
            right = drawn.thumb if index in thumb else drawn.vertical
            lines.append(((drawn.vertical, look), *inner, (right, look)))
        return [*lines, self._lower_edge(drawn)]

    def selectable_text(self, line: StyledLine) -> str:
        text = text_of(line)
        return text if self.is_bare else f" {text[1:-1]} "

    def action_copy_pane(self) -> None:
        """Copy the whole content of the pane."""
        lines = [text_of(self.row(index)).strip() for index in range(self.count())]
        self.post_message(CopyRequested("\n".join(lines)))

    def action_move(self, step: int) -> None:
        self.viewport.move(step)

    def action_page(self, direction: int) -> None:
        self.viewport.move_page(direction)

    def action_first(self) -> None:
        self.viewport.move_to_start()

    def action_last(self) -> None:
        self.viewport.move_to_end()

    def action_wrap(self) -> None:
        self.viewport.toggle_wrap()

    def action_follow(self) -> None:
        self.viewport.toggle_follow()

    def action_hit(self, step: int) -> None:
        self.viewport.find_next(step)

    def action_copy(self) -> None:
        self.viewport.copy_entry()

    def on_resize(self) -> None:
        self.viewport.keep_in_sight()

    def on_click(self, event: events.Click) -> None:
        self.viewport.click(event.y)

    def watch_has_focus(self, has_focus: bool) -> None:  # noqa: FBT001  # the framework's
        super().watch_has_focus(has_focus)
        self.repaint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.viewport.scroll(_WHEEL_LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.viewport.scroll(-_WHEEL_LINES)

    @property
    def _margin(self) -> int:
        return 0 if self.is_bare else self.MARGIN

    def _inner(self) -> list[StyledLine]:
        width, height = self.inner_width, self.inner_height
        self.viewport.top = self.viewport.within(self.viewport.top)
        below = self.below()
        lines = [*self.above(), *self.viewport.lines()]
        lines = lines[: max(height - len(below), 0)]
        blank = [()] * max(height - len(lines) - len(below), 0)
        # The reason for an empty pane takes the place of the first line.
        whole: list[StyledLine] = (
            [*lines, *blank, *below] if self.count() else [*lines, *below, *blank]
        )
        return [fit(shown, width, ellipsis=self.ellipsis) for shown in whole[:height]]

    def _frame(self) -> Frame:
        is_low = self.size.height < _LOWEST_WITH_A_FRAME
        return frame(
            is_focused=self.has_focus and not is_low,
            is_ascii=self.is_ascii,
            has_surface=not self.app.native_ansi_color,
        )

    def _edge(self, drawn: Frame) -> StyledLine:
        look = "focus" if self.has_focus else "frame"
        width, badge = self.size.width, styled_line(self.badge())
        room = width - 5 - (cells(badge) + 2 if badge else 0)
        title = styled_line(self.title())
        if cells(title) > room:
            title = fit(title, room, ellipsis=self.ellipsis)
        line = drawn.horizontal * max(room - cells(title) + 1, 0)
        right = ((" ", look), *badge, (" ", look)) if badge else ()
        return (
            (f"{drawn.top_left} ", look),
            *title,
            (f" {line}", look),
            *right,
            (drawn.top_right, look),
        )

    def _lower_edge(self, drawn: Frame) -> StyledLine:
        look = "focus" if self.has_focus else f"frame {GAP}"
        pill = self.pill()
        text = f" {words_of(pill)} " if pill else ""
        line = drawn.horizontal * max(self.size.width - 2 - len(text), 0)
        also = "" if self.has_focus else GAP
        middle = ((" ", look), *styled_line(pill, also), (" ", look)) if pill else ()
        return (
            (f"{drawn.bottom_left}{line}", look),
            *middle,
            (drawn.bottom_right, look),
        )

    def _thumb(self) -> range:
        """Return the lines of the right edge that the scroll bar's thumb takes."""
        above, rows, total = len(self.above()), self.visible_rows, self.count()
        if total <= rows:
            return range(0)
        length = max(rows * rows // total, 1)
        start = above + (rows - length) * self.viewport.top // (total - rows)
        return range(start, start + length)
