"""`$(VAR)` in the command of an exec probe.

Source: kubelet/container/helpers.go, v1.32.10, ExpandContainerCommandOnlyStatic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from probetui.k8s.environment import MAX_EXPANSION_BYTES, ExpansionTooLargeError, expand
from probetui.k8s.pod import EnvVar
from probetui.kubelet.runtime.go_format import to_bytes, to_text


def expand_command(command: Iterable[str], env: Iterable[EnvVar]) -> tuple[str, ...]:
    """Expand every element of a command with the container's own variables.

    Quirk, kept: a variable with `valueFrom` counts as known, with an empty value.

    Raises:
        ExpansionTooLargeError: the result is too large.
    """
    variables = {
        to_bytes(var.name): b"" if var.has_value_from else to_bytes(var.value)
        for var in env
    }
    return expand_arguments(command, variables)


def expand_arguments(
    elements: Iterable[str], variables: Mapping[bytes, bytes]
) -> tuple[str, ...]:
    """Expand every element of a command.

    Raises:
        ExpansionTooLargeError: the elements together are too large.
    """
    expanded: list[str] = []
    size = 0
    for word in elements:
        made = expand(to_bytes(word), variables)
        size += len(made) + 1
        if size > MAX_EXPANSION_BYTES:
            raise ExpansionTooLargeError
        expanded.append(to_text(made))
    return tuple(expanded)
