"""What a figure is to be, whether it is, and what cannot be faster on this machine."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Yardstick(NamedTuple):
    """The same figure of something bare, measured in the same run."""

    what: str
    figure: float


class Limit(NamedTuple):
    """A figure beside what it must stay below, all in the same unit.

    Where the yardstick does not stay below either, the machine is too slow to tell.
    """

    what: str
    figure: float
    limit: float
    unit: str
    yardstick: Yardstick | None = None

    @property
    def is_met(self) -> bool:
        """Whether it stays below."""
        return self.figure < self.limit

    @property
    def is_broken(self) -> bool:
        """Whether it does not, on a machine that could."""
        bare = self.yardstick
        return not self.is_met and (bare is None or bare.figure < self.limit)

    def __str__(self) -> str:
        word = "met" if self.is_met else "NOT MET"
        if not self.is_met and not self.is_broken:
            word = "not met, nor by the yardstick: the machine is too slow"
        beside = ""
        if self.yardstick is not None:
            beside = f", {self.yardstick.what} {self.yardstick.figure:g} {self.unit}"
        limit = f"limit {self.limit:g} {self.unit}"
        return f"{self.what}: {self.figure:g} {self.unit}{beside}, {limit}: {word}"


def tell(*limits: Limit) -> None:
    """Print each with its limit; the process ends with 1 if one is broken."""
    for limit in limits:
        print(limit)
    if any(limit.is_broken for limit in limits):
        sys.exit(1)


def times(figure: float, yardstick: float) -> float:
    """Return how many times a yardstick a figure is: what machines agree about."""
    return round(figure / yardstick, 3)
