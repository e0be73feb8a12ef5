"""The schedule of a CronJob, with the errors of the API server's parser.

Source: github.com/robfig/cron v3.0.0, parser.go, ParseStandard.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from probetui.manifest.problem import quote

_DESCRIPTORS = frozenset({
    "@annually", "@daily", "@hourly", "@midnight", "@monthly", "@weekly", "@yearly",
})  # fmt: skip
_EVERY = "@every "
_NUMBER = re.compile(r"[0-9]*\.?[0-9]*")
_UNIT = re.compile(r"[^.0-9]*")
_UNITS = frozenset({"ns", "us", "µs", "μs", "ms", "s", "m", "h"})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST_DIGITS = 18


class _Bounds(Struct, frozen=True):
    """The allowed values of one field of a schedule."""

    least: int
    most: int
    names: Mapping[str, int] = {}


def _named(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _named("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Bounds(0, 6, _named("sun mon tue wed thu fri sat", 0)),
)


def find_schedule_error(schedule: str) -> str:
    """Return the error in a schedule, empty without one."""
    for start in ("TZ=", "CRON_TZ="):
        if schedule.startswith(start):
            schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        return _descriptor_error(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        listed = " ".join(fields)
        return (
            f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{listed}]"
        )
    for text, bounds in zip(fields, _FIELDS, strict=True):
        for part in filter(None, text.split(",")):
            if error := _range_error(part, bounds):
                return error
    return ""


def _descriptor_error(text: str) -> str:
    if text in _DESCRIPTORS:
        return ""
    if not text.startswith(_EVERY):
        return f"unrecognized descriptor: {text}"
    error = _duration_error(text.removeprefix(_EVERY))
    return f"failed to parse duration {text}: {error}" if error else ""


def _duration_error(text: str) -> str:
    """Return Go's error of a duration, empty for one such as `1h30m`."""
    rest = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    if rest == "0":
        return ""
    if not rest:
        return f"time: invalid duration {quote(text)}"
    while rest:
        number = _NUMBER.match(rest)
        written = number[0] if number is not None else ""
        if not written.strip("."):
            return f"time: invalid duration {quote(text)}"
        rest = rest[len(written) :]
        match = _UNIT.match(rest)
        unit = match[0] if match is not None else ""
        if not unit:
            return f"time: missing unit in duration {quote(text)}"
        if unit not in _UNITS:
            return f"time: unknown unit {quote(unit)} in duration {quote(text)}"
        rest = rest[len(unit) :]
    return ""


def _range_error(text: str, bounds: _Bounds) -> str:
    """Return the error in a range such as `1-5/2`."""
    spread, *steps = text.split("/")
    ends = spread.split("-")
    start, end, step = bounds.least, bounds.most, 1
    try:
        if ends[0] not in {"*", "?"}:
            start = end = _number(ends[0], bounds.names)
            if len(ends) == 2:  # noqa: PLR2004  # from and to
                end = _number(ends[1], bounds.names)
            elif len(ends) > 2:  # noqa: PLR2004  # from and to
                return f"too many hyphens: {text}"
        if len(steps) == 1:
            step = _number(steps[0], {})
            end = bounds.most if len(ends) == 1 else end
        elif steps:
            return f"too many slashes: {text}"
    except ValueError as error:
        return str(error)
    if start < bounds.least:
        return f"beginning of range ({start}) below minimum ({bounds.least}): {text}"
    if end > bounds.most:
        return f"end of range ({end}) above maximum ({bounds.most}): {text}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {text}"
    return "" if step else f"step of range should be a positive number: {text}"


def _number(text: str, names: Mapping[str, int]) -> int:
    """Return the value of a number or name; errors have the parser's text."""
    if text.lower() in names:
        return names[text.lower()]
    if not _INTEGER.fullmatch(text) or len(text) > _MOST_DIGITS:
        is_number = _INTEGER.fullmatch(text) is not None
        why = "value out of range" if is_number else "invalid syntax"
        raise ValueError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}:"
            f" {why}"
        )
    number = int(text)
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number
