"""Lines as they are painted: cut and filled to terminal cells.

An ink is a text and its look: names of component classes, which the style sheets turn
into colours. Nothing here is ever read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from probetui.presentation.text.cells import LONGEST_TEXT, line_break
from probetui.presentation.text.spans import Line, Role, Span
from probetui.safe_text import safe_line

StyledSegment = tuple[str, str]
StyledLine = tuple[StyledSegment, ...]

PLAIN = Role.PLAIN.value
_WIDEST = 2
"""Cells that one character can take."""

CURSOR = "cursor"
TINTED_CURSORS = {
    Role.WARNING: "cursor-warning",
    Role.ERROR: "cursor-error",
    Role.ACCENT: "cursor-accent",
}
"""The same for a row whose state is of one of these roles."""

GAP = "gap"
"""What lies between two panes."""

STYLE_NAMES = (
    *(role.value for role in Role),
    CURSOR,
    *TINTED_CURSORS.values(),
    GAP,
    "underlined",
    "reversed",
    "frame",
    "focus",
    "key",
)
"""Every name that a look is made of; the style sheets have one class for each."""


def style_class(look: str) -> str:
    """Return the class that a name of a look has in the style sheets."""
    return f"ink--{look}"


STYLE_CLASSES = frozenset(map(style_class, STYLE_NAMES))
"""Component classes of the app, so that there is one of each and not one per pane."""


def styled_line(spans: Line, also: str = "") -> StyledLine:
    """Return a line ready to be painted; `also` is one more name for every look."""
    return tuple(
        (span.text, _look_of(span, f"{span.role.value} {also}".rstrip()))
        for span in spans
    )


def tinted(line: StyledLine, tint: str) -> StyledLine:
    """Return a line on another background, which `tint` is the name of.

    What lies between panes stays as it is.
    """
    return tuple(
        (text, look if look.endswith(GAP) else f"{look} {tint}") for text, look in line
    )


def _look_of(span: Span, look: str) -> str:
    look = f"{look} underlined" if span.is_underlined else look
    return f"{look} reversed" if span.is_reversed else look


def safe_styled_line(line: StyledLine) -> StyledLine:
    """Return a line whose text a terminal shows and does not obey.

    Spaces at which it must not be broken are our own.
    """
    return tuple([(_safe_text(text[:LONGEST_TEXT]), look) for text, look in line])


@lru_cache(maxsize=4096)  # times change on a screen, most other words do not
def _safe_text(text: str) -> str:
    if text.isascii():
        return safe_line(text)
    return "\xa0".join(map(safe_line, text.split("\xa0")))


@lru_cache(maxsize=4096)  # asked again at each step from a word to the whole line
def cells(line: StyledLine) -> int:
    """Return how many cells a line takes."""
    return sum([len(text) if text.isascii() else cell_len(text) for text, _ in line])


def text_of(line: StyledLine) -> str:
    """Return a line without its looks."""
    return "".join(text for text, _ in line)


def fit(
    line: StyledLine,
    width: int,
    *,
    also: str = "",
    ellipsis: str = "…",
    right: bool = False,
) -> StyledLine:
    """Return a line of exactly `width` cells: filled with spaces, or cut.

    What is cut ends in the ellipsis. `right` puts a short line to the right.
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
    """Return a line of one ink that is too long without its middle."""
    if cells(line) <= width or len(line) != 1:
        return line
    text, look = line[0]
    end = (width - 1) // 2
    start = width - cell_len(ellipsis) - end
    if not text.isascii() or start <= 0:
        return line
    return ((text[:start].rstrip() + ellipsis + text[-end:].lstrip(), look),)


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text in at most so many cells, without its middle if it is too long."""
    return text_of(shorten_middle(((text, PLAIN),), width, ellipsis))


def _cut(line: StyledLine, width: int, ellipsis: str) -> StyledLine:
    if width == 0:
        return ()
    kept: list[StyledSegment] = []
    room = width - cell_len(ellipsis)
    for text, look in line:
        size = cell_len(text)
        if size > room:
            # A wide character that does not fit whole leaves a space.
            kept.append((set_cell_size(text, room) + ellipsis, look))
            return tuple(kept)
        kept.append((text, look))
        room -= size
    return tuple(kept)


def wrapped(line: StyledLine, width: int, indent: int) -> list[StyledLine]:
    """Return a line as lines of at most `width` cells, broken as `line_break` says.

    All but the first are indented.
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
    """Return whether a line is wider than that, however long it is beyond."""
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
    """Return how many characters to keep on a line of `width` cells.

    It is always more than the space that it begins with, so that something is left out
    of the rest.
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
    """Return a line with some of its characters underlined, given from where to where.

    Places are in order and do not overlap.
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
    """A column of a table; one without a width takes what is left.

    What is too long loses its end, or its middle where the end says more.
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
    """Return cells side by side with one space between them, `width` cells in all."""
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
    """Return the first line of a table, cell by cell."""
    look = Role.MUTED.value
    return tuple(((column.heading, look),) for column in columns)
