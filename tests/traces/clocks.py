"""Comparison of times in two runs, relative to a common moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[float, float]
"""A time in the kubelet's run and one in ours, in seconds."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Common moments of both runs, from which times are counted.

    Attributes:
        zeros: such moments; two times are equal if they are relative to one of them.
        tolerance: how much times may differ, in seconds.
        ends: when the observations ended.
        deleted: when the pod was deleted; later times are counted from there.
    """

    zeros: Sequence[Pair]
    tolerance: float
    ends: Pair
    deleted: Pair | None = None

    def agree(self, theirs: float, mine: float) -> bool:
        """Return whether two times are equal."""
        zeros = self.zeros
        if self.deleted is not None and theirs >= self.deleted[0]:
            zeros = [self.deleted]
        return any(
            abs((theirs - zero) - (mine - my_zero)) <= self.tolerance
            for zero, my_zero in zeros
        )

    def is_cut(self, theirs: float) -> bool:
        """Return whether our observation may have ended before that time of theirs."""
        return any(
            theirs - zero + my_zero > self.ends[1] - self.tolerance
            for zero, my_zero in self.zeros
        )

    def is_cut_mine(self, mine: float) -> bool:
        """Return whether their observation may have ended before that time of ours."""
        return any(
            mine - my_zero + zero > self.ends[0] - self.tolerance
            for zero, my_zero in self.zeros
        )

    def format_times(self, theirs: float, mine: float) -> str:
        """Format a pair of times."""
        zero, my_zero = self.zeros[0]
        return f"at {mine - my_zero:+.1f}, the kubelet's at {theirs - zero:+.1f}"
