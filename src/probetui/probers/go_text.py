"""Go's numbers: decimal integers read from text."""

from __future__ import annotations

import re

from probetui.errors import GoError
from probetui.kubelet.go_text import go_quote

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_INT64 = range(-(1 << 63), 1 << 63)
_INT64_DIGITS = 19


def parse_integer(text: str) -> int:
    """Read a decimal integer of 64 bits; raises `GoError` with Go's words.

    Source: strconv/atoi.go, Atoi.
    """
    problem = "invalid syntax"
    if found := _INTEGER.fullmatch(text):
        sign, digits = found.groups()
        # Python reads at most a few thousand digits.
        if len(digits) <= _INT64_DIGITS and (value := int(sign + digits)) in _INT64:
            return value
        problem = "value out of range"
    raise GoError(f"strconv.Atoi: parsing {go_quote(text)}: {problem}")
