"""`$(VAR)` in the command of an exec probe.

Source: kubelet/container/helpers.go, v1.32.10, ExpandContainerCommandOnlyStatic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from probetui.k8s.expansion import MOST_BYTES, ExpansionTooLargeError, expand
from probetui.k8s.pod import EnvVar
from probetui.kubelet.go_text import to_bytes, to_text


def expand_command(command: Iterable[str], env: Iterable[EnvVar]) -> tuple[str, ...]:
    """Expand every element of a command with the container's own variables.

    Quirk, kept: a variable with `valueFrom` counts as known, with an empty value.

    Raises:
        ExpansionTooLargeError: too much comes of it.
    """
    variables = {
        to_bytes(each.name): b"" if each.has_value_from else to_bytes(each.value)
        for each in env
    }
    return expand_words(command, variables)


def expand_words(
    words: Iterable[str], variables: Mapping[bytes, bytes]
) -> tuple[str, ...]:
    """Expand every element of a command.

    Raises:
        ExpansionTooLargeError: too much comes of all of them.
    """
    expanded: list[str] = []
    size = 0
    for word in words:
        made = expand(to_bytes(word), variables)
        size += len(made) + 1
        if size > MOST_BYTES:
            raise ExpansionTooLargeError
        expanded.append(to_text(made))
    return tuple(expanded)
