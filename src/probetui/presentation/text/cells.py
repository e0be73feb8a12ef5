"""Format foreign text and numbers of bytes for the cells of a terminal.

Spaces are kept, line breaks are marked, and the rest is made safe by `safe_text`. Long
lines are broken at the end of a word or of a part of an address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from probetui.safe_text import safe_line

NEWLINE = "⏎"
_TAB = "    "
LONGEST_TEXT = 12_000
"""The most characters of one text that are shown: more than a probe's 10 KiB."""

_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def one_line(text: str, *, newline: str = NEWLINE, limit: int = LONGEST_TEXT) -> str:
    """Return the text on one line, safe for the terminal.

    Line breaks inside it become `newline`, those at its end are dropped. At most
    `limit` characters are used.
    """
    text = text[:limit].rstrip("\r\n")
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\n", newline)
    return _visible(text)


def all_lines(text: str, *, limit: int = LONGEST_TEXT) -> list[str]:
    """Return the lines of a text, each safe for the terminal; none for an empty one."""
    text = text[:limit].rstrip("\r\n")
    if not text:
        return []
    return [_visible(part) for part in text.replace("\r\n", "\n").split("\n")]


def _visible(text: str) -> str:
    return safe_line(_SPACES.sub(" ", text.replace("\t", _TAB)), limit=None)


_ENDS_OF_PARTS = "/?&,;"


def line_break(text: str, most: int, *, least: int = 0, room: int = 0) -> int:
    """Return how many characters of a long line to keep before a line break.

    The best break is a space in the second half. Otherwise a last word that fits on
    the following line moves there, and an address is broken after one of its parts.

    Args:
        text: the line, longer than `most` characters.
        most: the room of the line, in characters.
        least: characters that stay together, such as a label.
        room: the room of a following line; 0 for `most`.
    """
    middle = max(most // 2, least + 1)
    at_space = text.rfind(" ", middle, most + 1)
    if at_space >= 0:
        return at_space
    at_space = text.rfind(" ", least + 1, middle)
    begins = at_space + 1
    word_ends = text.find(" ", begins)
    word = text[begins : word_ends if word_ends >= 0 else len(text)]
    if at_space >= 0 and len(word) <= (room or most):
        return at_space
    for place in range(most, middle, -1):
        if text[place - 1] in _ENDS_OF_PARTS and _begins_part(text, place):
            return place
    has_parts = any(end in word for end in _ENDS_OF_PARTS)
    return at_space if at_space >= 0 and has_parts else most


def _begins_part(text: str, place: int) -> bool:
    """Return whether another part of an address begins at a place, not just its end."""
    ends = text.find(" ", place)
    following = text[place : ends if ends >= 0 else len(text)]
    return following[:1] != "/" and any(map(str.isalnum, following))


def wrap_text(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most `width` characters, at least one each."""
    lines = []
    rest = text.strip(" ")
    while len(rest) > width:
        kept = line_break(rest, max(width, 1))
        lines.append(rest[:kept].rstrip(" "))
        rest = rest[kept:].lstrip(" ")
    return [*lines, rest] if rest else lines


_STEP = 1000
_TEN = 10
_UNITS = ("kB", "MB", "GB", "TB")


def format_bytes(count: int) -> str:
    """Format a number of bytes as Docker does: `512B`, `1.9MB`, `64MB`, `1.2GB`.

    Below ten of a unit there is one decimal.
    """
    if count < _STEP:
        return f"{count}B"
    tenths, unit = count * _TEN, ""
    for unit in _UNITS:  # noqa: B007  # the last one is wanted
        tenths //= _STEP
        if tenths < _STEP * _TEN:
            break
    if tenths < _TEN * _TEN:
        return f"{tenths // _TEN}.{tenths % _TEN}{unit}"
    return f"{tenths // _TEN}{unit}"


_HEIGHTS, _ASCII_HEIGHTS = "▂▃▄▅▆▇█", "123456789"


def sparkline(counts: Sequence[int], *, is_ascii: bool) -> str:
    """Return counts as a line of bars, one each; the highest is the most of them."""
    heights = _ASCII_HEIGHTS if is_ascii else _HEIGHTS
    none, most = "." if is_ascii else "▁", max(counts, default=0)
    return "".join(
        heights[(count * len(heights) - 1) // most] if count else none
        for count in counts
    )
