"""`$(NAME)` in text, and how much may come of it.

Source: third_party/forked/golang/expansion/expand.go, v1.32.10, Expand.
"""

from __future__ import annotations

from collections.abc import Mapping

MOST_BYTES = 1 << 20
"""What variables, or a command, may come to: Linux starts no program with more."""

_OPERATOR = b"$"


class ExpansionTooLargeError(ValueError):
    """A text that expands to more than `MOST_BYTES`."""

    def __init__(self) -> None:
        super().__init__(f"expands to more than {MOST_BYTES >> 20} MiB")


def expand(text: bytes, variables: Mapping[bytes, bytes]) -> bytes:
    """Replace `$(NAME)` once, left to right; unknown names stay as written.

    Quirk, kept: the byte after a `$` that starts nothing is written as the character
    of that number, so the first byte of a multi-byte character is garbled.

    Raises:
        ExpansionTooLargeError: too much comes of it.
    """
    done = bytearray()
    rest = 0
    while (operator := text.find(_OPERATOR, rest)) >= 0 and operator + 1 < len(text):
        done += text[rest:operator]
        written, rest = _expand_at(text, operator + 1, variables)
        done += written
        if len(done) > MOST_BYTES:
            raise ExpansionTooLargeError
    done += text[rest:]
    if len(done) > MOST_BYTES:
        raise ExpansionTooLargeError
    return bytes(done)


def _expand_at(
    text: bytes, start: int, variables: Mapping[bytes, bytes]
) -> tuple[bytes, int]:
    """Return what is written for the `$` before `start`, and where to go on."""
    match text[start : start + 1]:
        case b"$":
            return _OPERATOR, start + 1
        case b"(":
            end = text.find(b")", start)
            if end < 0:
                return b"$(", start + 1
            name = text[start + 1 : end]
            return variables.get(name, text[start - 1 : end + 1]), end + 1
        case other:
            return _OPERATOR + chr(other[0]).encode(), start + 1
