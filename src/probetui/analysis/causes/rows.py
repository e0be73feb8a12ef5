"""A table of causes: each row finds one kind, and the first that does is the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause

Row = Callable[[WhyCase], Cause | None]
"""Returns the cause of its kind, None if that is not why."""


def first_of(rows: Sequence[Row], case: WhyCase) -> Cause | None:
    """Return the cause of the first row that finds one, None if none does."""
    for row in rows:
        if (cause := row(case)) is not None:
            return cause
    return None
