"""Frozen values as JSON and back: what msgspec does, with the record's times.

An object has the fields of its struct that are not at their defaults. A member of a
union says in `is` which one it is. Instants are RFC 3339 with microseconds, lengths of
time milliseconds, bytes base64. Names are those of `probetui.values`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import msgspec

from probetui.values import TimeSpan

_MILLISECOND = timedelta(milliseconds=1)
_YEARS = range(1900, 2600)
_LONGEST = timedelta(days=300 * 365)
_MOST_BITS = 64
"""Arithmetic on longer durations, or before or after these years, may overflow."""

_LONGEST_SHOWN = 60
_LONGEST_REASON = 400


class DamageError(ValueError):
    """Why something in a record cannot be read."""


def encode_value(value: object) -> Any:
    """Return a value as JSON in which instants and lengths of time are left.

    `encode_time` is for these: `format.mask_json` looks at every text in any case.
    """
    return msgspec.to_builtins(
        value, builtin_types=(datetime, timedelta), enc_hook=_thaw
    )


def encode_time(value: datetime | timedelta) -> str | float:
    """Return an instant or a length of time as JSON."""
    if isinstance(value, datetime):
        return format_timestamp(value)
    return value / _MILLISECOND


def decode_value(kind: Any, json: Any) -> Any:
    """Return the value of an annotated type that `encode_value` made this of.

    Raises:
        DamageError: it is not one; says which field cannot be read.
    """
    try:
        _check_integers(json)
        return msgspec.convert(json, kind, dec_hook=_decode_time)
    except RecursionError:
        raise DamageError("it is nested too deeply") from None
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise DamageError(shorten_reason(error)) from None


def shorten_reason(error: Exception) -> str:
    """Return an error's message; of one that repeats a long text, both ends."""
    reason = str(error)
    if len(reason) > _LONGEST_REASON:
        half = _LONGEST_REASON // 2
        reason = f"{reason[:half]}...{reason[-half:]}"
    return reason


def parse_session_instant(text: str) -> datetime:
    """Parse an instant that a session can have had, RFC 3339 with a time zone.

    Raises:
        ValueError: there is none such, or it cannot be printed in every time zone.
    """
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None or instant.year not in _YEARS:
        raise ValueError(f"{_shown(text)} is no instant of a session")
    return instant


def format_timestamp(at: datetime) -> str:
    """Return an instant as RFC 3339 in UTC, with all six digits of the second."""
    # Nearly all are in UTC; to ask takes a third of the time of a conversion.
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    text = in_utc.isoformat(timespec="microseconds")
    return text.removesuffix("+00:00") + "Z"


def _thaw(value: object) -> object:
    """Return what msgspec writes for a mapping that cannot be changed."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(type(value).__name__)


def _decode_time(kind: type, json: Any) -> datetime | timedelta:
    return _parse_length(json) if kind is TimeSpan else _parse_instant(json)


def _parse_instant(json: Any) -> datetime:
    if type(json) is not str:
        raise ValueError(f"{_shown(json)} is no instant")
    return parse_session_instant(json)


def _parse_length(json: Any) -> timedelta:
    if type(json) not in {int, float}:
        raise ValueError(f"{_shown(json)} is no length of time")
    try:
        length = timedelta(milliseconds=json)
    except OverflowError:
        length = timedelta.max
    if abs(length) > _LONGEST:
        raise ValueError(f"{_shown(json)} milliseconds are too long")
    return length


def _check_integers(json: Any) -> None:
    """Raise a `DamageError` for an integer that is longer than those of Kubernetes."""
    if type(json) is int:
        if json.bit_length() > _MOST_BITS:
            raise DamageError(f"{_shown(json)} has more than {_MOST_BITS} bits")
    elif type(json) is dict:
        for item in json.values():
            _check_integers(item)
    elif type(json) is list:
        for item in json:
            _check_integers(item)


def _shown(json: Any) -> str:
    text = repr(json)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
