"""Amounts as Kubernetes writes them: `250m`, `64Mi`, `1500M`.

How an amount was written in the manifest is not kept; the shortest exact form is used.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = (
    ("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3),
    ("", 0), ("m", -3), ("u", -6), ("n", -9),
)  # fmt: skip
_STEP = 1024
_FINEST = Decimal("1e-9")


def quantity_text(amount: Decimal) -> str:
    """Return an amount in base units (cores, bytes) as a quantity.

    What is finer than Kubernetes counts is rounded up, as Kubernetes does.
    """
    candidates = [_decimal(amount)]
    if amount == amount.to_integral_value():
        candidates.append(_binary(int(amount)))
    return min(candidates, key=len)


def _decimal(amount: Decimal) -> str:
    for suffix, exponent in _DECIMAL:
        scaled = amount.scaleb(-exponent)
        if scaled == scaled.to_integral_value():
            return f"{int(scaled)}{suffix}" if scaled else "0"
    return f"{(amount / _FINEST).to_integral_value(ROUND_CEILING)}n"


def _binary(amount: int) -> str:
    step = 0
    while amount and amount % _STEP == 0 and step < len(_BINARY) - 1:
        amount //= _STEP
        step += 1
    return f"{amount}{_BINARY[step]}"
