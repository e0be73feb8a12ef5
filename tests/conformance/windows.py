"""Windows: the part of an observation that an expectation is about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import Observation, Span, Status

ROUNDING = 0.5
"""How many seconds may be missing from a period that must be observed in full."""


OPEN_END = Span.at(math.inf)
NO_TIME = Span.at(-math.inf)
"""The end of a window whose closing moment is not reached: the window is empty."""


class UnmetError(Exception):
    """An expectation does not hold because a moment or a period is missing."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of one expectation.

    `within` is an upper bound, already stretched by the slack; `period` (`for`) is not
    stretched. `is_after` is true if the window opens at a moment of its own.
    """

    observation: Observation
    opening: Span
    closing: Span
    within: float | None
    period: float | None
    gen: int
    is_after: bool

    @classmethod
    def of(
        cls, expectation: Mapping[str, Any], observation: Observation, slack: float
    ) -> Window:
        """Return the window that an expectation describes.

        Raises:
            UnmetError: the moment at which it opens was not reached.
        """
        gen = expectation.get("gen", 0)
        opening = Span.at(0)
        if "after" in expectation:
            opening = reached(expectation["after"], observation, gen)
        closing = OPEN_END
        if "before" in expectation:
            closing = when(expectation["before"], observation, gen) or NO_TIME
        within = expectation.get("within")
        return cls(
            observation=observation,
            opening=opening.plus(expectation.get("plus", 0)),
            closing=closing,
            within=None if within is None else within * slack,
            period=expectation.get("for"),
            gen=gen,
            is_after="after" in expectation,
        )

    def has(self, t: float) -> bool:
        """Return whether a time may lie in the window."""
        bounds = (bound for bound in (self.within, self.period) if bound is not None)
        return self.opening.earliest <= t <= self.closing.latest and self.elapsed(
            t
        ) <= min(bounds, default=math.inf)

    def elapsed(self, t: float) -> float:
        """Return the least number of seconds since the window opened."""
        return t - self.opening.latest

    def statuses(self) -> Iterator[tuple[float, Status]]:
        """Yield statuses with the time from which they count.

        In a window with a moment of its own these are the one that was in force when
        it opened, which counts from there, and all later ones.
        """
        found = self.observation.of_generation(self.gen)
        if not self.is_after:
            yield from ((status.t, status) for status in found)
            return
        opens = self.opening.earliest
        before = [index for index, status in enumerate(found) if status.t < opens]
        for status in found[before[-1] if before else 0 :]:
            yield max(status.t, opens), status


def reached(moment: str, observation: Observation, gen: int = 0) -> Span:
    """Return when a moment was.

    Raises:
        UnmetError: it was not reached.
    """
    span = when(moment, observation, gen)
    if span is None:
        raise UnmetError(f"never reached {moment}")
    return span


def check_observed(
    observation: Observation, period: float | None, since: float = 0
) -> None:
    """Check that a period was observed in full; None is no period.

    Raises:
        UnmetError: it was not.
    """
    if period is not None and observation.end + ROUNDING < since + period:
        raise UnmetError(f"observed only until {observation.end:.1f}")
