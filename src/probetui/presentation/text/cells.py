"""Text from outside and numbers of bytes, as cells of a terminal show them.

Spaces stay spaces and line breaks are marked; the rest is made safe by `safe_text`.
Lines that are too long are broken where a word or a part of an address ends.
"""

from __future__ import annotations

import re

from probetui.safe_text import safe_line

NEWLINE = "⏎"
_TAB = "    "
LONGEST_TEXT = 12_000
"""Characters of one text that are shown: above the 10 KiB that a probe keeps."""

_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def one_line(text: str, *, newline: str = NEWLINE, limit: int = LONGEST_TEXT) -> str:
    """Return the text on one line; line breaks inside it become `newline`.

    Line breaks at the end are dropped. At most `limit` characters are used.
    """
    text = text[:limit].rstrip("\r\n")
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\n", newline)
    return _visible(text)


def all_lines(text: str, *, limit: int = LONGEST_TEXT) -> list[str]:
    """Return the text's lines, each made harmless; none for an empty text."""
    text = text[:limit].rstrip("\r\n")
    if not text:
        return []
    return [_visible(part) for part in text.replace("\r\n", "\n").split("\n")]


def _visible(text: str) -> str:
    return safe_line(_SPACES.sub(" ", text.replace("\t", _TAB)), limit=None)


_ENDS_OF_PARTS = "/?&,;"


def line_break(text: str, most: int, *, least: int = 0, room: int = 0) -> int:
    """Return how many characters of a text that is too long to keep on its line.

    A space beyond the middle is best. Then a word that fits on a line moves there, and
    an address is broken behind one of its parts.

    Args:
        text: the line, longer than `most` characters.
        most: characters that there is room for.
        least: characters that stay together, such as a label.
        room: characters that a following line has; as many if it is 0.
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
    """Return whether more than what closes an address begins at a place."""
    ends = text.find(" ", place)
    following = text[place : ends if ends >= 0 else len(text)]
    return following[:1] != "/" and any(map(str.isalnum, following))


def wrap_text(text: str, width: int) -> list[str]:
    """Return a text as lines of at most `width` characters, at least one each."""
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
    """Return a number of bytes as Docker prints it: `512B`, `1.9MB`, `64MB`, `1.2GB`.

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
