"""Words quoted for a shell, on one line whatever is in them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from probetui.kubelet.go_text import to_bytes
from probetui.safe_text import is_combining, safe_line

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shell_line(words: Iterable[str]) -> str:
    """Return words as a line that bash, zsh and ksh read back as these words.

    What is not safe to print is spelled in `$'…'`, so that a terminal has nothing to
    obey, nobody who prints it escapes it again, and a script of several lines can be
    pasted.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if safe_line(word, limit=None) == word:
        return shlex.quote(word)
    return f"$'{''.join(map(_spelled, word))}'"


def _spelled(character: str) -> str:
    if (escape := _ESCAPES.get(character)) is not None:
        return escape
    if safe_line(character) == character and not is_combining(character):
        return character
    return "".join(f"\\x{byte:02x}" for byte in to_bytes(character))
