"""Docker's instants, RFC 3339 with nanoseconds, as ours."""

from __future__ import annotations

from datetime import UTC, datetime


def instant(text: str) -> datetime | None:
    """Return an instant in microseconds; None for what is none, or never happened.

    What has not happened is Go's zero time, in the year 1.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.year == 1 or at.tzinfo is None else at.astimezone(UTC)
