"""Text of containers and manifests, made harmless: shown, never obeyed.

Such text may hold escape sequences, control characters, markers that turn the
writing direction, and lone surrogates for bytes that are not UTF-8. What cannot be
printed comes out as a visible escape, so that every character left takes the cells
that a terminal gives it.
"""

from __future__ import annotations

import re
import unicodedata

from probetui.kubelet.go_text import go_escape

NEWLINE = "⏎"
_TAB = "    "
_LONGEST = 12_000
"""Characters of one text that are looked at: above the 10 KiB that a probe keeps."""

# They change the width of the character before them, and terminals disagree how.
_VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def one_line(text: str, *, newline: str = NEWLINE, limit: int = _LONGEST) -> str:
    """Return the text on one line; line breaks inside it become `newline`.

    Line breaks at the end are dropped. At most `limit` characters are looked at.
    """
    text = text[:limit].rstrip("\r\n")
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\n", newline)
    return _visible(text)


def all_lines(text: str, *, limit: int = _LONGEST) -> list[str]:
    """Return the text's lines, each made harmless; none for an empty text."""
    text = text[:limit].rstrip("\r\n")
    if not text:
        return []
    return [_visible(each) for each in text.replace("\r\n", "\n").split("\n")]


def _visible(text: str) -> str:
    text = _VARIATION_SELECTORS.sub("", text)
    if text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    if character == "\t":
        return _TAB
    if unicodedata.category(character) == "Zs":
        return " "
    return go_escape(character)
