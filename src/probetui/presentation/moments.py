"""Instants as people type them: from the start, or from where they are."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,3}):(\d\d(?:\.\d+)?)", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_LONGEST = 10 * 365 * 86_400


def moment(text: str, started_at: datetime, now: datetime) -> datetime | None:
    """Return the instant that a text means, None for what means none.

    `1m30s`, `90` and `01:30` are after the start, `+10s` and `-10s` from now.
    """
    sign, rest = text[:1], text.strip().lstrip("+-")
    length = length_of(rest)
    if length is None:
        return None
    match sign:
        case "+":
            return now + length
        case "-":
            return now - min(length, now - started_at)
        case _:
            return started_at + length


def length_of(text: str) -> timedelta | None:
    """Return the length of time that a text means, None for what means none.

    `1m30s`, `500ms`, `90` and `01:30`.
    """
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        hours, minutes, seconds = clock.groups()
        total = int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
    elif re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII):
        total = float(text)
    else:
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            return None
        total = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return timedelta(seconds=total) if total <= _LONGEST else None
