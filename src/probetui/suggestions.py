"""What to type instead, or next: the nearest known word, what removes pods."""

from __future__ import annotations

from collections.abc import Iterable

FIELD_CUTOFF = 0.7
"""For names of fields, of which there are so many that some are always similar."""

_LONGEST_WORD = 100
"""Characters: comparing takes time with their square."""


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.5) -> str:
    """Return the known word that was most likely meant, empty if none is similar.

    Upper and lower case count as the same.

    Args:
        word: what was written.
        known: the words there are.
        cutoff: how similar it must be, from 0 to 1, as in `difflib`.
    """
    if len(word) > _LONGEST_WORD:
        return ""
    # Late: only a misspelt word needs it, and every command imports this module.
    from difflib import get_close_matches  # noqa: PLC0415

    names = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), names, n=1, cutoff=cutoff)
    return names[close[0]] if close else ""


def removal_command(names: str) -> str:
    """Return the command that removes pods, for a sentence.

    Args:
        names: the pods, as sentences list them: `web, shop`.
    """
    return f"`probetui down {names.replace(',', '')}`"


def nearest_hint(word: str, known: Iterable[str]) -> str:
    """Return ` (nearest: NAME)` for an error message, empty if no word is similar."""
    name = nearest(word, known)
    return f" (nearest: {name})" if name else ""
