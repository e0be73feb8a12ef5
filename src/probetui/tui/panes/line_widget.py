"""A widget of lines that paints only changed cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.css.styles import RenderStyles
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from probetui.tui.state import StatefulApp
from probetui.tui.styled_text import (
    StyledLine,
    cells,
    fit,
    safe_styled_line,
    style_class,
    text_of,
)
from probetui.tui.themes import faint

_NO_SIZE = Size(0, 0)
_NO_LINE: tuple[None, StyledLine] = None, ()


_LEAST_GAP = 8
"""The equal cells from which on it costs less to go over them than to paint them."""


def changed_cells(old: StyledLine, new: StyledLine, y: int) -> list[Region]:
    """Return the changed regions of line `y`.

    Both lines have the same width. It is the whole line if a character is not one cell
    wide: terminals disagree about some of those widths, so that the text after it may
    be elsewhere than expected.
    """
    width = cells(new)
    if width != len(text_of(new)) or width != len(text_of(old)):
        return [Region(0, y, max(width, cells(old)), 1)]
    regions: list[Region] = []
    start, end = 0, -_LEAST_GAP
    for first, last in _differences(old, new):
        if first - end >= _LEAST_GAP:
            if end > start:
                regions.append(Region(start, y, end - start, 1))
            start = first
        end = last
    if end > start:
        regions.append(Region(start, y, end - start, 1))
    return regions


def _differences(old: StyledLine, new: StyledLine) -> Iterator[tuple[int, int]]:
    """Yield where the parts of two lines differ that no segment divides."""
    at = 0
    before, after, end = iter(old), iter(new), (" ", "")
    old_text = new_text = old_look = new_look = ""
    while True:
        while not old_text:
            old_text, old_look = next(before, end)
        while not new_text:
            new_text, new_look = next(after, end)
        if not (old_look and new_look):
            return
        length = min(len(old_text), len(new_text))
        if old_look != new_look or old_text[:length] != new_text[:length]:
            yield at, at + length
        old_text, new_text = old_text[length:], new_text[length:]
        at += length


def _seen(style: Style) -> Style:
    """Return a dim style in a colour of its own, which has contrast in every theme.

    Textual blends all that is dim by half, and marks in lanes vanish. The terminal's
    own colours are not known, and stay dim.
    """
    color, behind = style.color, style.bgcolor
    if color is None or behind is None or not (color.triplet and behind.triplet):
        return style
    seen = faint(Color.from_rich_color(color), Color.from_rich_color(behind))
    return style + Style(color=seen.rich_color, dim=False)


class _PaintedLines(StylesCache):
    """Caches painted lines.

    Textual's cache processes each line again for borders, padding and transparency,
    which a widget of lines does not have, and applies its filters of colours, which
    here are applied once to each look. `forget_looks` is called when there are others.
    """

    def __init__(
        self, line: Callable[[int], Strip], forget_looks: Callable[[], None]
    ) -> None:
        super().__init__()
        self._line = line
        self._forget_looks = forget_looks
        self._filters: Sequence[LineFilter] = ()

    def render_widget(self, widget: Widget, crop: Region) -> list[Strip]:
        filters = widget.get_line_filters()
        if filters != self._filters:
            self._filters = filters
            self._forget_looks()
            self.clear()
        if widget.outer_size.width != self._width:
            self._width = widget.outer_size.width
            self.clear()
        lines, dirty = self._cache, self._dirty_lines
        wanted = crop.line_range
        changed = [y for y in wanted if y in dirty or y not in lines]
        if changed:
            dirty.difference_update(changed)
            for y in changed:
                lines[y] = self._line(y)
        left, right = crop.column_span
        return [lines[y].crop(left, right) for y in wanted]


class LineWidget(Widget):
    """A rectangle of lines, which subclasses return from `content`.

    Nothing is parsed as markup. Text is made safe here again, in case a caller forgot.
    """

    ALLOW_SELECT: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id)
        self._styles_cache = _PaintedLines(self.line, self._forget_looks)
        self._content: Sequence[StyledLine] = ()
        self._painted: Sequence[StyledLine] = ()
        self._painted_size = _NO_SIZE
        self._styles_by_look: dict[str, Style] = {}
        self._own_style: Style | None = None

    @property
    def size(self) -> Size:
        """The size for lines, which is the whole widget.

        Textual's property searches the layout for the widget, which is slow.
        """
        return self.outer_size

    @property
    def ellipsis(self) -> str:
        """The end of a text that is cut."""
        app = self.app
        is_ascii = isinstance(app, StatefulApp) and app.ui_state.options.ascii
        return "~" if is_ascii else "…"

    def content(self) -> Sequence[StyledLine]:
        """Return the visible lines from the top; missing ones stay blank."""
        return ()

    def repaint(self) -> None:
        """Read the content again and paint what has changed."""
        if not self.size or not self.display:
            return
        before, size = self._painted, self._painted_size
        self._take_content()
        if size != self.size or len(before) != len(self._painted):
            self.refresh()
            return
        changed = [
            region
            for y, (old, new) in enumerate(zip(before, self._painted, strict=True))
            if old is not new and old != new
            for region in changed_cells(self._fitted(old), self._fitted(new), y)
        ]
        if changed:
            self.refresh(*changed)

    def on_resize(self) -> None:
        self.repaint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._forget_looks()

    def render_line(self, y: int) -> Strip:
        """Return a line with the offset of each segment, which selections need."""
        return self.line(y).apply_offsets(0, y)

    def line(self, y: int) -> Strip:
        """Return a line for painting."""
        if self._painted_size != self.size:
            self._take_content()
        width = self.size.width
        if y >= len(self._painted):
            return Strip.blank(width, self._filtered(self.rich_style))
        line = self._fitted(self._painted[y])
        segments = [Segment(text, self._style(look)) for text, look in line]
        return self._with_selection(Strip(segments, width), y)

    def selection_updated(
        self,
        selection: Selection | None,  # noqa: ARG002  # the framework's
    ) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        text = "\n".join(self.selectable_text(painted) for painted in self._painted)
        lines = selection.extract(text).split("\n")
        return "\n".join(line.strip() for line in lines), "\n"

    def selectable_text(self, line: StyledLine) -> str:
        """Return the text of a line for copying, with one character per cell."""
        return text_of(line)

    def _take_content(self) -> None:
        self._painted_size = self.size
        known = chain(zip(self._content, self._painted, strict=True), repeat(_NO_LINE))
        content = self._content = tuple(self.content())
        # Most lines are those of the last time.
        self._painted = tuple(
            [
                safe if line == before else safe_styled_line(line)
                for line, (before, safe) in zip(content, known, strict=False)
            ]
        )

    def _fitted(self, line: StyledLine) -> StyledLine:
        return fit(line, self.size.width, ellipsis=self.ellipsis)

    def _style(self, look: str) -> Style:
        style = self._styles_by_look.get(look)
        if style is None:
            style = self._filtered(self._mix(*look.split()))
            self._styles_by_look[look] = style
        return style

    def _filtered(self, style: Style) -> Style:
        """Return a style in the colours that the terminal, or the user, can have."""
        _, background = self.background_colors
        segments = [Segment(" ", style)]
        for line_filter in self.get_line_filters():
            segments = line_filter.apply(segments, background)
        return segments[0].style or style

    def _forget_looks(self) -> None:
        self._styles_by_look.clear()
        self._own_style = None

    def _mix(self, first: str, *others: str) -> Style:
        """Return the first look on the background of the others."""
        if self._own_style is None:
            self._own_style = self.rich_style  # goes through all ancestors
        style = self._own_style + self._ink(first).partial_rich_style
        for other in others:
            ink = self._ink(other)
            style += Style(bgcolor=ink.partial_rich_style.bgcolor) + ink.text_style
        return _seen(style) if style.dim else style

    def _ink(self, look: str) -> RenderStyles:
        return self.app.get_component_styles(style_class(look))

    def _with_selection(self, strip: Strip, y: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else end
        style = self.screen.get_component_rich_style("screen--selection")
        before, chosen, after = (
            strip.crop(0, start),
            strip.crop(start, end),
            strip.crop(end, strip.cell_length),
        )
        marked = Strip(
            [
                Segment(
                    segment.text, self._filtered((segment.style or Style()) + style)
                )
                for segment in chosen
            ]
        )
        return Strip.join([before, marked, after])
