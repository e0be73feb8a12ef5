r"""Escaping of text for terminals: shown, never obeyed; for all output.

Manifests, records, container runtimes and probes decide over most of what is printed.
What could be read as a command (escape sequences, the other control characters), what
moves or hides the text around it (direction marks, zero width and other format
characters, line separators) and what is no character at all (lone surrogates) comes
out as its number: `\x1b`, `\u202e`. So each character that is left takes the cells
that a terminal gives it. What is safe already stays as it is, letter by letter.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_LINE = 16_384
"""Characters of one line of a message; a longer one loses its end, which is said."""

MOST_MARKS = 4
"""Combining marks on one character. No language that is written puts more there, and
each further one makes a line taller on many terminals."""

_LAST_SHOWN_MARK = 20
"""Of a pile of them, the next ones are shown by their numbers, the others left out."""

# Not compiled here, but on first use: every command imports this module.
_HARMLESS = (
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u23fa"
    "\u2500-\u27bf]*"
)
"""What need not be looked at one by one; there are more, which take longer."""

# They change the width of the character before them, and terminals disagree how.
_VARIATION_SELECTORS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"

_INVISIBLE_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
)
"""By their category to be seen, by Unicode's Default_Ignorable_Code_Point not."""

_TAB = "    "
# The controls of C0 are escaped by JSON itself.
_UNSAFE_IN_JSON = (
    "[\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    "\U000e0000-\U000e0fff]"
)

_FIRST_LONE_BYTE, _LAST_LONE_BYTE = 0xDC80, 0xDCFF
_DELETE = 0x7F
_LAST_OF_FOUR_DIGITS = 0xFFFF


def escape_character(character: str) -> str:
    """Return a character by its number, or as the byte that it stands for.

    A lone surrogate of `surrogateescape` is a byte that was not UTF-8. The form is
    that of Go's strconv.Quote.
    """
    code = ord(character)
    if _FIRST_LONE_BYTE <= code <= _LAST_LONE_BYTE:
        return f"\\x{code & 0xFF:02x}"
    if code < ord(" ") or code == _DELETE:
        return f"\\x{code:02x}"
    if code <= _LAST_OF_FOUR_DIGITS:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def is_combining(character: str) -> bool:
    """Return whether a character is drawn on the one before it."""
    return unicodedata.category(character) in {"Mn", "Me"}


def safe_line(text: str, *, limit: int | None = LONGEST_LINE) -> str:
    """Return a text on one line, line breaks and tabs escaped like the rest.

    Of a text of more than `limit` characters the beginning is kept, and how many more
    there were; None keeps all.
    """
    if limit is not None and len(text) > limit:
        cut = len(text) - limit
        return f"{_safe(text[:limit])}… ({cut} more characters)"
    return _safe(text)


def safe_lines(text: str, *, limit: int | None = None) -> str:
    """Return a text of several lines, of which all are safe; tabs become spaces.

    `limit` is that of one line; None keeps all.
    """
    lines = text.replace("\t", _TAB).split("\n")
    return "\n".join(safe_line(line, limit=limit) for line in lines)


def safe_json(text: str) -> str:
    """Return JSON that was written with characters outside ASCII, made safe.

    JSON's own escapes take the place of what is not, so that it reads back unchanged.
    Combining marks stay.
    """
    return re.sub(_UNSAFE_IN_JSON, _in_json, text)


def json_text(value: object) -> str:
    """Return a value as indented JSON of printable ASCII, with a newline at its end."""
    import json  # noqa: PLC0415

    return json.dumps(value, indent=2) + "\n"


def _in_json(match: re.Match[str]) -> str:
    import json  # noqa: PLC0415

    return json.dumps(match[0])[1:-1]


def is_harmless(text: str) -> bool:
    """Return whether a text is safe as it is, and that is quickly seen."""
    if text.isascii():
        return text.isprintable()
    return re.fullmatch(_HARMLESS, text) is not None


def _safe(text: str) -> str:
    if is_harmless(text):
        return text
    safe: list[str] = []
    marks = 0
    for character in re.sub(_VARIATION_SELECTORS, "", text):
        if not character.isprintable() or character in _INVISIBLE_LETTERS:
            safe.append(escape_character(character))
            marks = 0
        elif is_combining(character):
            marks += 1
            if marks <= MOST_MARKS:
                safe.append(character)
            elif marks <= _LAST_SHOWN_MARK:
                safe.append(escape_character(character))
            elif marks == _LAST_SHOWN_MARK + 1:
                safe.append("…")
        else:
            marks = 0
            safe.append(character)
    return "".join(safe)
