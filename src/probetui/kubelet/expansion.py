"""`$(VAR)` in the command of an exec probe.

Source: third_party/forked/golang/expansion/expand.go, v1.32.10, Expand, and
kubelet/container/helpers.go, ExpandContainerCommandOnlyStatic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from probetui.k8s.pod import EnvVar
from probetui.kubelet.go_text import to_bytes, to_text

_OPERATOR = b"$"


def expand_command(command: Iterable[str], env: Iterable[EnvVar]) -> tuple[str, ...]:
    """Expand every element of a command with the container's own variables.

    Quirk, kept: a variable with `valueFrom` counts as known, with an empty value.
    """
    variables = {
        to_bytes(each.name): b"" if each.has_value_from else to_bytes(each.value)
        for each in env
    }
    return tuple(to_text(expand(to_bytes(each), variables)) for each in command)


def expand(text: bytes, variables: Mapping[bytes, bytes]) -> bytes:
    """Replace `$(NAME)` once, left to right; unknown names stay as written.

    Quirk, kept: the byte after a `$` that starts nothing is written as the character
    of that number, so the first byte of a multi-byte character is garbled.
    """
    done = bytearray()
    rest = 0
    while (operator := text.find(_OPERATOR, rest)) >= 0 and operator + 1 < len(text):
        done += text[rest:operator]
        written, rest = _expand_at(text, operator + 1, variables)
        done += written
    return bytes(done + text[rest:])


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
