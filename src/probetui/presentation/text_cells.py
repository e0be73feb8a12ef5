"""Foreign text on one line or on several; spaces stay spaces, line breaks are marked.

The rest is made safe by the rule of `safe_text`, which holds everywhere.
"""

from __future__ import annotations

import re

from probetui.safe_text import safe_line

NEWLINE = "⏎"
_TAB = "    "
LONGEST_TEXT = 12_000
"""Characters of one text that are looked at: above the 10 KiB that a probe keeps."""

_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")


def one_line(text: str, *, newline: str = NEWLINE, limit: int = LONGEST_TEXT) -> str:
    """Return the text on one line; line breaks inside it become `newline`.

    Line breaks at the end are dropped. At most `limit` characters are looked at.
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
    return [_visible(each) for each in text.replace("\r\n", "\n").split("\n")]


def _visible(text: str) -> str:
    return safe_line(_SPACES.sub(" ", text.replace("\t", _TAB)), limit=None)
