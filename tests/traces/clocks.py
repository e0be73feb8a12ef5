"""Times of two runs, set against each other from a moment that both had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[float, float]
"""A time in the kubelet's run and one in ours, in seconds."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Moments that both runs had, from which times are counted.

    Attributes:
        zeros: such moments; two times are the same if they are by one of them.
        tolerance: seconds by which they may differ.
        ends: when the observations ended.
        deleted: when the pod was deleted, from where times are counted after that.
    """

    zeros: Sequence[Pair]
    tolerance: float
    ends: Pair
    deleted: Pair | None = None

    def agree(self, theirs: float, mine: float) -> bool:
        """Return whether something happened at the same time in both."""
        zeros = self.zeros
        if self.deleted is not None and theirs >= self.deleted[0]:
            zeros = [self.deleted]
        return any(
            abs((theirs - zero) - (mine - my_zero)) <= self.tolerance
            for zero, my_zero in zeros
        )

    def is_cut(self, theirs: float) -> bool:
        """Return whether our observation may have ended before we came to that."""
        return any(
            theirs - zero + my_zero > self.ends[1] - self.tolerance
            for zero, my_zero in self.zeros
        )

    def is_cut_mine(self, mine: float) -> bool:
        """Return whether theirs may have ended before they came to that."""
        return any(
            mine - my_zero + zero > self.ends[0] - self.tolerance
            for zero, my_zero in self.zeros
        )

    def tell(self, theirs: float, mine: float) -> str:
        """Say when something was in both."""
        zero, my_zero = self.zeros[0]
        return f"at {mine - my_zero:+.1f}, the kubelet's at {theirs - zero:+.1f}"
