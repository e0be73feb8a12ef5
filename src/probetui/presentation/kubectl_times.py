"""Lengths of time as kubectl prints them.

Source: k8s.io/apimachinery util/duration/duration.go, v0.32.10, HumanDuration.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from probetui.kubelet.event_recorder import ClusterEvent

_SECOND = timedelta(seconds=1)
_MINUTE, _HOUR, _DAY = 60, 3600, 24 * 3600
_SECONDS_UNTIL = 2 * _MINUTE
_SECONDS_BESIDE_MINUTES_UNTIL = 10 * _MINUTE
_MINUTES_UNTIL = 3 * _HOUR
_MINUTES_BESIDE_HOURS_UNTIL = 8 * _HOUR
_HOURS_UNTIL = 2 * _DAY
_HOURS_BESIDE_DAYS_UNTIL = 8 * _DAY
_YEAR = 365 * _DAY
_DAYS_UNTIL = 2 * _YEAR
_DAYS_BESIDE_YEARS_UNTIL = 8 * _YEAR


def human_duration(length: timedelta) -> str:
    """Return a length of time in its one or two largest units: `31s`, `3m11s`, `5h`.

    What is more than a second in the future is `<invalid>`, the rest of it `0s`.
    """
    if length <= -2 * _SECOND:
        return "<invalid>"
    seconds = max(length // _SECOND, 0)
    if seconds < _SECONDS_UNTIL:
        return f"{seconds}s"
    if seconds < _SECONDS_BESIDE_MINUTES_UNTIL:
        return _units(seconds, _MINUTE, "m", 1, "s", 60)
    if seconds < _MINUTES_UNTIL:
        return f"{seconds // _MINUTE}m"
    if seconds < _MINUTES_BESIDE_HOURS_UNTIL:
        return _units(seconds, _HOUR, "h", _MINUTE, "m", 60)
    if seconds < _HOURS_UNTIL:
        return f"{seconds // _HOUR}h"
    if seconds < _HOURS_BESIDE_DAYS_UNTIL:
        return _units(seconds, _DAY, "d", _HOUR, "h", 24)
    if seconds < _DAYS_UNTIL:
        return f"{seconds // _DAY}d"
    if seconds < _DAYS_BESIDE_YEARS_UNTIL:
        return _units(seconds, _YEAR, "y", _DAY, "d", 365)
    return f"{seconds // _YEAR}y"


def event_age(event: ClusterEvent, now: datetime) -> str:
    """Return an event's age: `31s`, or `31s (x9 over 3m11s)` for more than one.

    Source: k8s.io/kubectl describe/describe.go, v0.32.10, DescribeEvents.
    """
    first = since(event.first_seen_at, now)
    if event.count <= 1:
        return first
    return f"{since(event.last_seen_at, now)} (x{event.count} over {first})"


def since(at: datetime, now: datetime) -> str:
    """Return how long ago an instant was; the API keeps whole seconds of it."""
    return human_duration(now - at.replace(microsecond=0))


def rfc1123(at: datetime) -> str:
    """Return an instant as `kubectl describe` writes it, in UTC."""
    utc = at.astimezone(UTC)
    # Not by strftime's %a and %b: they follow the locale.
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[utc.weekday()]
    month = (
        "Jan", "Feb", "Mar", "Apr", "May", "Jun",
        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    )[utc.month - 1]  # fmt: skip
    return f"{day}, {utc:%d} {month} {utc:%Y %H:%M:%S} +0000"


def _units(
    seconds: int, large: int, name: str, small: int, small_name: str, most: int
) -> str:
    """Return so many of the large unit and, if there is a rest, of the small one."""
    rest = seconds // small % most
    return f"{seconds // large}{name}" + (f"{rest}{small_name}" if rest else "")
