"""Durations and instants: parsed as people type them, formatted as tables have them.

Source: Go's time.ParseDuration, which Kubernetes uses, of which ms, s, m and h are
read; a number without a unit is seconds.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

MAX_DURATION = timedelta(days=3650)

# Not compiled here, but on first use: every command imports this module.
_CLOCK = r"(?:([0-9]+):)?([0-9]{1,3}):([0-9][0-9](?:\.[0-9]+)?)"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_PARTS = rf"(?:{_NUMBER}(?:ms|s|m|h))+"
_PART = r"([0-9.]+)(ms|s|m|h)"
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def parse_duration(text: str, *, limit: timedelta = MAX_DURATION) -> timedelta | None:
    """Read `1m30s`, `500ms` or `90`; None for anything else, or beyond the limit."""
    if re.fullmatch(_NUMBER, text):
        return _duration(float(text), limit)
    if not re.fullmatch(_PARTS, text):
        return None
    parts = re.findall(_PART, text)
    return _duration(
        sum(float(number) * _SECONDS[unit] for number, unit in parts), limit
    )


def parse_clock_duration(text: str) -> timedelta | None:
    """Read a duration, or one as clocks show it: `01:30`, `1:00:30.5`."""
    clock = re.fullmatch(_CLOCK, text)
    if clock is None:
        return parse_duration(text)
    hours, minutes, seconds = clock.groups()
    total = int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)
    return _duration(total, MAX_DURATION)


_MILLISECOND = timedelta(milliseconds=1)
_TENTH = timedelta(milliseconds=100)
_SECOND = timedelta(seconds=1)
_TEN_SECONDS = timedelta(seconds=10)
_LAST_COUNTED_IN_SECONDS = 99
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def parse_instant(text: str, started_at: datetime, now: datetime) -> datetime | None:
    """Read an instant, None if the text is none.

    `1m30s`, `90` and `01:30` are after the start, `+10s` and `-10s` from now.
    """
    sign, rest = text[:1], text.strip().lstrip("+-")
    length = parse_clock_duration(rest)
    if length is None:
        return None
    match sign:
        case "+":
            return now + length
        case "-":
            return now - min(length, now - started_at)
        case _:
            return started_at + length


def _duration(seconds: float, limit: timedelta) -> timedelta | None:
    try:
        duration = timedelta(seconds=seconds)
    except OverflowError:
        return None
    return duration if duration <= limit else None


def format_age(length: timedelta) -> str:
    """Return how long something has lasted: `9s`, `4m02s`, `1h02m`, `3d04h`."""
    seconds = max(length // _SECOND, 0)
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m{seconds % _MINUTE:02}s"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h{seconds % _HOUR // _MINUTE:02}m"
    return f"{seconds // _DAY}d{seconds % _DAY // _HOUR:02}h"


def format_brief_age(length: timedelta) -> str:
    """Return how long something has lasted in at most three cells: `97s`, `4m`, `3d`.

    From a thousand days on it takes more.
    """
    seconds = max(length // _SECOND, 0)
    if seconds <= _LAST_COUNTED_IN_SECONDS:
        return f"{seconds}s"
    if seconds // _MINUTE <= _LAST_COUNTED_IN_SECONDS:
        return f"{seconds // _MINUTE}m"
    if seconds // _HOUR <= _LAST_COUNTED_IN_SECONDS:
        return f"{seconds // _HOUR}h"
    return f"{seconds // _DAY}d"


def format_countdown(length: timedelta) -> str:
    """Return how long something will last: `3.1s`, `71s`, `4m02s`; never below zero."""
    length = max(length, timedelta())
    if length < _TEN_SECONDS:
        tenths = length // _TENTH
        return f"{tenths // 10}.{tenths % 10}s"
    if length // _SECOND <= _LAST_COUNTED_IN_SECONDS:
        return f"{length // _SECOND}s"
    return format_age(length)


def format_duration(length: timedelta) -> str:
    """Return how long a probe took: `34ms`, `1.2s`, `41s`."""
    if length < _SECOND:
        return f"{max(length // _MILLISECOND, 0)}ms"
    return format_countdown(length)


def format_stopwatch(length: timedelta) -> str:
    """Return how long something has run, to the tenth: `00:41.0`, `1:02:03.4`."""
    tenths = max(length // _TENTH, 0)
    seconds, tenth = divmod(tenths, 10)
    minutes, second = divmod(seconds, _MINUTE)
    hours, minute = divmod(minutes, _MINUTE)
    clock = f"{minute:02}:{second:02}.{tenth}"
    return f"{hours}:{clock}" if hours else clock
