"""Quantities as Kubernetes writes them: `250m`, `64Mi`, `1500M`.

How a quantity was written in the manifest is not kept; it is written in its shortest
exact form.

Source: k8s.io/apimachinery v0.32.10, pkg/api/resource/quantity.go.
"""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal

QUANTITY_PATTERN = re.compile(
    r"(?=.)(?P<number>[+-]?[0-9]*(?:\.[0-9]*)?)"
    r"(?P<suffix>|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,4})"
)
_DECIMAL = {
    "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "": 0, "m": -3, "u": -6, "n": -9,
}  # fmt: skip
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_KIBI = 1024
_FINEST = Decimal("1e-9")
_LARGEST = Decimal(2**63 - 1)
_MOST_DIGITS = 18
_LARGEST_WRITTEN = Decimal(10) ** (_MOST_DIGITS + _DECIMAL["E"])


def is_quantity(text: str) -> bool:
    """Return whether a text is a quantity such as `250m`, `1.5Gi` or `1e3`."""
    return QUANTITY_PATTERN.fullmatch(text) is not None


def parse_quantity(text: str) -> Decimal:
    """Return a quantity in base units (cores, bytes); any other text counts as 0.

    One of more digits than an int64 has is at most the largest int64, as is one that no
    suffix but an exponent can write.

    Source: quantity.go, ParseQuantity ("Cap at max size").
    """
    match = QUANTITY_PATTERN.fullmatch(text)
    if match is None:
        return Decimal(0)
    # Quirk, kept: what has no digit at all counts as 0.
    written = match["number"]
    number = Decimal(written) if written.strip("+-.") else Decimal(0)
    suffix = match["suffix"]
    if suffix in _DECIMAL:
        amount = number.scaleb(_DECIMAL[suffix])
    elif suffix in _BINARY:
        amount = number * (1 << 10 * _BINARY.index(suffix))
    else:
        amount = number.scaleb(int(suffix[1:]))
    digits = len(match["number"].lstrip("+-0").replace(".", ""))
    if abs(amount) > (_LARGEST if digits > _MOST_DIGITS else _LARGEST_WRITTEN):
        return _LARGEST.copy_sign(amount)
    return amount


def is_whole(amount: Decimal) -> bool:
    """Return whether an amount has no fraction."""
    return amount == amount.to_integral_value()


def canonical_quantity(text: str) -> str:
    """Return a quantity as Kubernetes' errors show it: `500m` for `0.5`.

    A suffix keeps its family, so that `1024Mi` becomes `1Gi` and `1e3` stays.
    """
    return _format(parse_quantity(text), _suffix(text))


def add_quantities(first: str, second: str) -> str:
    """Return a sum as Kubernetes writes it: in the family of the first, if not 0."""
    amount = parse_quantity(first) + parse_quantity(second)
    return _format(amount, _suffix(first if parse_quantity(first) else second))


def _suffix(text: str) -> str:
    match = QUANTITY_PATTERN.fullmatch(text)
    return match["suffix"] if match is not None else ""


def _format(amount: Decimal, suffix: str) -> str:
    if suffix not in _DECIMAL and suffix not in _BINARY:
        return _format_exponent(amount)
    if suffix in _BINARY[1:] and is_whole(amount) and abs(amount) >= _KIBI:
        return _format_binary(int(amount))
    return _format_decimal(amount)


def format_quantity(amount: Decimal) -> str:
    """Return an amount in base units (cores, bytes) as a quantity.

    What is finer than Kubernetes counts is rounded up, as Kubernetes does.
    """
    candidates = [_format_decimal(amount)]
    if amount == amount.to_integral_value():
        candidates.append(_format_binary(int(amount)))
    return min(candidates, key=len)


def _format_decimal(amount: Decimal) -> str:
    for suffix, exponent in _DECIMAL.items():
        scaled = amount.scaleb(-exponent)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}" if scaled else "0"
    return f"{(amount / _FINEST).to_integral_value(ROUND_CEILING)}n"


def _format_exponent(amount: Decimal) -> str:
    sign, digits, exponent = amount.as_tuple()
    written = "".join(map(str, digits)).lstrip("0")
    if not written:
        return "0"
    exponent = int(exponent) + len(written)
    written = written.rstrip("0")
    exponent -= len(written)
    written += "0" * (exponent % 3)
    exponent -= exponent % 3
    text = f"{'-' if sign else ''}{written}"
    return f"{text}e{exponent}" if exponent else text


def _format_binary(amount: int) -> str:
    step = 0
    while amount and amount % 1024 == 0 and step < len(_BINARY) - 1:
        amount //= 1024
        step += 1
    return f"{amount}{_BINARY[step]}"
