"""Kubernetes quantities, as far as rules look at them: are they one, and how big."""

from __future__ import annotations

import re
from decimal import Decimal

FORM = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?P<suffix>|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,4})"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_DECIMAL |= {"P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def is_quantity(text: str) -> bool:
    """Tell whether a text is a quantity such as `250m`, `1.5Gi` or `1e3`."""
    return FORM.fullmatch(text) is not None


def amount(text: str) -> Decimal:
    """Return the number that a quantity means; what is none counts as 0."""
    match = FORM.fullmatch(text)
    if match is None:
        return Decimal(0)
    number, suffix = Decimal(match["number"]), match["suffix"]
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    if suffix in _DECIMAL:
        return number.scaleb(_DECIMAL[suffix])
    return number.scaleb(int(suffix[1:]))
