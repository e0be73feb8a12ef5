"""Figures of benchmarks with their limits and yardsticks."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Yardstick(NamedTuple):
    """The same figure of a minimal program, measured in the same run."""

    what: str
    figure: float


class Limit(NamedTuple):
    """A figure and its upper limit, in the same unit.

    If the yardstick exceeds the limit too, the machine is too slow for a result.
    """

    what: str
    figure: float
    limit: float
    unit: str
    yardstick: Yardstick | None = None

    @property
    def is_met(self) -> bool:
        """Whether the figure is below the limit."""
        return self.figure < self.limit

    @property
    def is_broken(self) -> bool:
        """Whether the figure exceeds a limit that the yardstick meets."""
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


def report_limits(*limits: Limit) -> None:
    """Print all figures with their limits; exit with 1 if a limit is exceeded."""
    for limit in limits:
        print(limit)
    if any(limit.is_broken for limit in limits):
        sys.exit(1)


def times(figure: float, yardstick: float) -> float:
    """Return a figure as a multiple of its yardstick, to compare across machines."""
    return round(figure / yardstick, 3)
