"""Styled lines, cut and filled to terminal cells.

A segment is a text and its look: names of styles, which style sheets turn into colours
by component classes. Nothing here is parsed as markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from probetui.presentation.text.cells import LONGEST_TEXT, line_break
from probetui.presentation.text.spans import Line, Role, Span
from probetui.safe_text import is_harmless, safe_line

StyledSegment = tuple[str, str]
StyledLine = tuple[StyledSegment, ...]

PLAIN = Role.PLAIN.value
_WIDEST = 2
"""The most cells of one character."""

_NARROW = re.compile("[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2500-\u25fc]*")
"""Characters of one cell: Latin letters, and what lines, lanes and marks are of."""

CURSOR = "cursor"
TINTED_CURSORS = {
    Role.WARNING: "cursor-warning",
    Role.ERROR: "cursor-error",
    Role.ACCENT: "cursor-accent",
}
"""The cursor's style names for rows whose state has one of these roles."""

GAP = "gap"
"""The style name of the space between two panes."""

STYLE_NAMES = (
    *(role.value for role in Role),
    CURSOR,
    *TINTED_CURSORS.values(),
    GAP,
    "underlined",
    "reversed",
    "faint",
    "frame",
    "focus",
    "key",
)
"""All names in looks; the style sheets have a class for each."""


def style_class(look: str) -> str:
    """Return the component class of a style name."""
    return f"ink--{look}"


STYLE_CLASSES = frozenset(map(style_class, STYLE_NAMES))
"""The component classes, which are the app's, so that panes share them."""


def styled_line(spans: Line, also: str = "") -> StyledLine:
    """Convert spans to a styled line; `also` is one more style name of every look."""
    behind = f" {also}" if also else ""
    return tuple(
        [(span.text, _look_of(span, f"{span.role}{behind}")) for span in spans]
    )


def tinted(line: StyledLine, tint: str) -> StyledLine:
    """Return a line on the background of the style `tint`.

    The space between panes keeps its own.
    """
    return tuple(
        (text, look if look.endswith(GAP) else f"{look} {tint}") for text, look in line
    )


def _look_of(span: Span, look: str) -> str:
    look = f"{look} underlined" if span.is_underlined else look
    look = f"{look} reversed" if span.is_reversed else look
    return f"{look} faint" if span.is_faint else look


def safe_styled_line(line: StyledLine) -> StyledLine:
    """Return a line without control characters, which a terminal would obey.

    No-break spaces have done their work when a line is painted, and become spaces:
    who copies from the terminal wants those.
    """
    text = text_of(line)
    if len(text) <= LONGEST_TEXT and is_harmless(text):
        return line
    return tuple([(_safe_text(text[:LONGEST_TEXT]), look) for text, look in line])


@lru_cache(maxsize=4096)  # on a screen times change, most other texts do not
def _safe_text(text: str) -> str:
    if text.isascii():
        return safe_line(text)
    return safe_line(text.replace("\xa0", " "))


@lru_cache(maxsize=4096)  # called again at each step from a segment to the line
def cells(line: StyledLine) -> int:
    """Return the width of a line, in cells."""
    if _NARROW.fullmatch(whole := text_of(line)):
        return len(whole)
    return sum([len(text) if text.isascii() else cell_len(text) for text, _ in line])


def text_of(line: StyledLine) -> str:
    """Return a line without its looks."""
    return "".join([text for text, _ in line])


def fit(
    line: StyledLine,
    width: int,
    *,
    also: str = "",
    ellipsis: str = "…",
    right: bool = False,
) -> StyledLine:
    """Return a line of exactly `width` cells: filled with spaces, or cut.

    A cut line ends with the ellipsis. `right` aligns a short line to the right.
    """
    width = max(width, 0)
    missing = width - cells(line)
    if missing == 0:
        return line
    if missing > 0:
        space = (" " * missing, f"{PLAIN} {also}" if also else PLAIN)
        return (space, *line) if right else (*line, space)
    return _cut(line, width, ellipsis)


def shorten_middle(line: StyledLine, width: int, ellipsis: str = "…") -> StyledLine:
    """Remove the middle of a line of one segment that is too long."""
    if cells(line) <= width or len(line) != 1:
        return line
    text, look = line[0]
    end = (width - 1) // 2
    start = width - cell_len(ellipsis) - end
    if not text.isascii() or start <= 0:
        return line
    return ((text[:start].rstrip() + ellipsis + text[-end:].lstrip(), look),)


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text of at most `width` cells, without its middle if it is too long."""
    return text_of(shorten_middle(((text, PLAIN),), width, ellipsis))


def _cut(line: StyledLine, width: int, ellipsis: str) -> StyledLine:
    if width == 0:
        return ()
    kept: list[StyledSegment] = []
    room = width - cell_len(ellipsis)
    for text, look in line:
        size = cell_len(text)
        if size > room:
            # A wide character that does not fit becomes a space.
            kept.append((set_cell_size(text, room) + ellipsis, look))
            return tuple(kept)
        kept.append((text, look))
        room -= size
    return tuple(kept)


def wrapped(line: StyledLine, width: int, indent: int) -> list[StyledLine]:
    """Wrap a line at the places of `line_break` to lines of at most `width` cells.

    All lines but the first are indented.
    """
    indent = max(min(indent, width - _WIDEST), 0)
    lines: list[StyledLine] = []
    rest, space = line, 0
    while width >= _WIDEST and _exceeds(rest, width):
        head, tail = _split(rest, _break_of(text_of(rest), width, space, indent))
        lines.append(head)
        space = indent
        rest = ((" " * indent, PLAIN), *_without_space(tail))
    return [*lines, rest]


def _exceeds(line: StyledLine, width: int) -> bool:
    """Return whether a line exceeds `width`; stop at the first character that does."""
    room = width
    for text, _ in line:
        if text.isascii():
            room -= len(text)
        else:
            for character in text:
                room -= cell_len(character)
                if room < 0:
                    return True
        if room < 0:
            return True
    return False


def _break_of(text: str, width: int, space: int, indent: int) -> int:
    """Return the number of characters for a line of `width` cells.

    It is always more than the `space` at the beginning, so that wrapping ends.
    """
    room, most = width, 0
    for character in text:
        room -= cell_len(character)
        if room < 0:
            break
        most += 1
    if most <= space:
        return space + 1
    return line_break(text, most, least=max(space, indent), room=width - indent)


def _split(line: StyledLine, characters: int) -> tuple[StyledLine, StyledLine]:
    head: list[StyledSegment] = []
    left = characters
    for index, (text, look) in enumerate(line):
        if left < len(text):
            rest = (text[left:], look)
            return (*head, (text[:left], look)), (rest, *line[index + 1 :])
        head.append((text, look))
        left -= len(text)
    return tuple(head), ()


def _without_space(line: StyledLine) -> StyledLine:
    if not line:
        return line
    (text, look), *others = line
    return ((text.removeprefix(" "), look), *others)


def underlined(line: StyledLine, places: Sequence[tuple[int, int]]) -> StyledLine:
    """Underline the characters of a line between `start` and `end` of each place.

    Places are sorted and do not overlap.
    """
    shown: list[StyledSegment] = []
    rest, at = line, 0
    for start, end in places:
        before, rest = _split(rest, start - at)
        hit, rest = _split(rest, end - start)
        shown += before
        shown += [(text, f"{look} underlined") for text, look in hit]
        at = end
    return (*shown, *rest)


class Column(Struct, frozen=True):
    """A column of a table; one without a width gets the remaining room.

    A text that is too long loses its end or, if `keeps_end`, its middle.
    """

    heading: str
    width: int | None = None
    is_right: bool = False
    keeps_end: bool = False


def row(
    texts: Sequence[StyledLine],
    columns: Sequence[Column],
    width: int,
    *,
    also: str = "",
    ellipsis: str = "…",
) -> StyledLine:
    """Join the cells of a row with spaces, to `width` terminal cells in all."""
    fixed = sum(column.width or 0 for column in columns) + len(columns) - 1
    space = (" ", f"{PLAIN} {also}" if also else PLAIN)
    parts: list[StyledSegment] = []
    for index, (text, column) in enumerate(zip(texts, columns, strict=True)):
        if index:
            parts.append(space)
        room = max(width - fixed, 1) if column.width is None else column.width
        shown = text
        if column.keeps_end:
            shown = shorten_middle(text, room, ellipsis)
        parts += fit(shown, room, also=also, ellipsis=ellipsis, right=column.is_right)
    return fit(tuple(parts), width, also=also, ellipsis=ellipsis)


def headings(columns: Iterable[Column]) -> tuple[StyledLine, ...]:
    """Return the cells of a table's first line."""
    look = Role.MUTED.value
    return tuple(((column.heading, look),) for column in columns)
