"""Lengths of time and instants in the few characters that a table has for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

_MILLISECOND = timedelta(milliseconds=1)
_TENTH = timedelta(milliseconds=100)
_SECOND = timedelta(seconds=1)
_TEN_SECONDS = timedelta(seconds=10)
_LAST_COUNTED_IN_SECONDS = 99
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def age(length: timedelta) -> str:
    """Return how long something has lasted: `9s`, `4m02s`, `1h02m`, `3d04h`."""
    seconds = max(length // _SECOND, 0)
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m{seconds % _MINUTE:02}s"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h{seconds % _HOUR // _MINUTE:02}m"
    return f"{seconds // _DAY}d{seconds % _DAY // _HOUR:02}h"


def countdown(length: timedelta) -> str:
    """Return how long something will last: `3.1s`, `71s`, `4m02s`; never below zero."""
    length = max(length, timedelta())
    if length < _TEN_SECONDS:
        tenths = length // _TENTH
        return f"{tenths // 10}.{tenths % 10}s"
    if length // _SECOND <= _LAST_COUNTED_IN_SECONDS:
        return f"{length // _SECOND}s"
    return age(length)


def took(length: timedelta) -> str:
    """Return how long a probe took: `34ms`, `1.2s`, `41s`."""
    if length < _SECOND:
        return f"{max(length // _MILLISECOND, 0)}ms"
    return countdown(length)


def stopwatch(length: timedelta) -> str:
    """Return how long something has run, to the tenth: `00:41.0`, `1:02:03.4`."""
    tenths = max(length // _TENTH, 0)
    seconds, tenth = divmod(tenths, 10)
    minutes, second = divmod(seconds, _MINUTE)
    hours, minute = divmod(minutes, _MINUTE)
    clock = f"{minute:02}:{second:02}.{tenth}"
    return f"{hours}:{clock}" if hours else clock


class TimeFormat(StrEnum):
    """How instants are written."""

    WALL = "wall"
    SINCE_START = "since start"
    AGO = "ago"

    @property
    def following(self) -> TimeFormat:
        """The format after this one, in a circle."""
        formats = list(TimeFormat)
        return formats[(formats.index(self) + 1) % len(formats)]


@dataclass(frozen=True, slots=True)
class Times:
    """How instants are written at one moment.

    `zone` None is the zone of this machine.
    """

    now: datetime
    started_at: datetime
    format: TimeFormat = TimeFormat.WALL
    zone: tzinfo | None = None

    def stamp(self, at: datetime) -> str:
        """Return an instant in at most ten characters: `08:21:05.1`, `+41.2s`."""
        match self.format:
            case TimeFormat.WALL:
                local = at.astimezone(self.zone)
                return f"{local:%H:%M:%S}.{local.microsecond // 100_000}"
            case TimeFormat.SINCE_START:
                return _since(at - self.started_at)
            case TimeFormat.AGO:
                return f"{countdown(self.now - at)} ago"

    def clock(self, at: datetime) -> str:
        """Return an instant to the second: `08:21:05`, `+41s`, `3.1s ago`."""
        match self.format:
            case TimeFormat.WALL:
                return f"{at.astimezone(self.zone):%H:%M:%S}"
            case TimeFormat.SINCE_START:
                return f"+{age(at - self.started_at)}"
            case TimeFormat.AGO:
                ahead = at - self.now
                if ahead > timedelta():
                    return f"in {countdown(ahead)}"
                return f"{countdown(-ahead)} ago"

    def wall(self, at: datetime) -> str:
        """Return an instant as a clock on the wall shows it: `08:21:05`."""
        return f"{at.astimezone(self.zone):%H:%M:%S}"


def _since(length: timedelta) -> str:
    tenths = max(length // _TENTH, 0)
    seconds, tenth = divmod(tenths, 10)
    if seconds < _MINUTE:
        return f"+{seconds}.{tenth}s"
    minutes, rest = divmod(seconds, _MINUTE)
    if seconds < _HOUR:
        return f"+{minutes}m{rest:02}.{tenth}s"
    return f"+{age(length)}"
