"""What a figure is to be, and whether it is."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Limit(NamedTuple):
    """A figure beside what it must stay below, both in the same unit."""

    what: str
    figure: float
    limit: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether it stays below."""
        return self.figure < self.limit

    def __str__(self) -> str:
        word = "met" if self.is_met else "NOT MET"
        limit = f"limit {self.limit:g} {self.unit}"
        return f"{self.what}: {self.figure:g} {self.unit}, {limit}: {word}"


def tell(*limits: Limit) -> None:
    """Print each with its limit; the process ends with 1 if one is not met."""
    for limit in limits:
        print(limit)
    if not all(limit.is_met for limit in limits):
        sys.exit(1)
