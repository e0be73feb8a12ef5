"""Words quoted for a shell, on one line whatever is in them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from probetui.kubelet.go_text import to_bytes

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shell_line(words: Iterable[str]) -> str:
    """Return words as a line that bash, zsh and ksh read back as these words.

    What cannot be printed is spelled in `$'…'`, so that a terminal has nothing to obey
    and a script of several lines can be pasted.
    """
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_spelled, word))}'"


def _spelled(character: str) -> str:
    if (escape := _ESCAPES.get(character)) is not None:
        return escape
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in to_bytes(character))
