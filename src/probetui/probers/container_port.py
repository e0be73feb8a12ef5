"""The number behind a probe's port.

Source: pkg/probe/util.go, v1.32.10, ResolveContainerPort.
"""

from __future__ import annotations

from probetui.errors import GoError
from probetui.k8s.pod import Container
from probetui.probers.go_text import parse_integer

_VALID = range(1, 1 << 16)


def resolve_port(port: int | str, container: Container) -> int:
    """Return the port to dial: a number, or the container port of that name.

    Raises `GoError` for what is neither, or is no port number. A name that is a
    number wins over the number.
    """
    number = port if isinstance(port, int) else _look_up(port, container)
    if number not in _VALID:
        raise GoError(f"invalid port number: {number}")
    return number


def _look_up(name: str, container: Container) -> int:
    for each in container.ports:
        if each.name == name:
            return each.container_port
    return parse_integer(name)
