"""Resolve the port of a probe or hook to a number.

Source: pkg/probe/util.go, v1.32.10 and after k/k#139791, ResolveContainerPort.
"""

from __future__ import annotations

import re

from probetui.errors import GoError
from probetui.k8s.pod import Container
from probetui.kubelet.runtime.go_format import go_quote
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

_VALID = range(1, 1 << 16)


def resolve_port(
    port: int | str, container: Container, rules: KubeletRules = PORTED_RULES
) -> int:
    """Return the port to dial: a number, or the container port of that name.

    Raises `GoError` for what is neither, or is no port number. A name that is a
    number wins over the number; since 1.37 a text is never a number.
    """
    number = port if isinstance(port, int) else _look_up(port, container, rules)
    if number not in _VALID:
        raise GoError(f"invalid port number: {number}")
    return number


def _look_up(name: str, container: Container, rules: KubeletRules) -> int:
    for port in container.ports:
        if port.name == name:
            return port.container_port
    if rules.named_ports_only:
        raise GoError(f"port {go_quote(name)} not found")
    return parse_integer(name)


_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_INT64 = range(-(1 << 63), 1 << 63)
_INT64_DIGITS = 19


def parse_integer(text: str) -> int:
    """Parse a decimal integer of 64 bits; raise `GoError` with Go's text.

    Source: strconv/atoi.go, Atoi.
    """
    problem = "invalid syntax"
    if match := _INTEGER.fullmatch(text):
        sign, digits = match.groups()
        # Python reads at most a few thousand digits.
        if len(digits) <= _INT64_DIGITS and (value := int(sign + digits)) in _INT64:
            return value
        problem = "value out of range"
    raise GoError(f"strconv.Atoi: parsing {go_quote(text)}: {problem}")
