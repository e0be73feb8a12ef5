"""Selectors and range selectors of PromQL, with any label value.

Source: prometheus/promql/parser, v2.42, strings as Go's strconv.Quote writes them;
github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_SPECIAL = frozenset("\\.+*?()|[]{}^$")


def quoted(value: str) -> str:
    """Return a string literal; control characters are escaped."""
    text = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(map(_escaped, text)) + '"'


def is_one_of(values: Iterable[str]) -> str:
    """Return a string literal of a regular expression that these match, no others."""
    return quoted("|".join(map(literal, values)))


def literal(value: str) -> str:
    """Return a regular expression that matches this value alone."""
    return "".join(f"\\{each}" if each in _SPECIAL else each for each in value)


def matchers(labels: Mapping[str, str]) -> list[str]:
    """Return the matchers that labels with these values have."""
    return [f"{name}={quoted(value)}" for name, value in labels.items()]


def selector(name: str, wanted: Iterable[str], seconds: float | None = None) -> str:
    """Return a selector of a metric, of a range with `seconds`.

    Ranges are in whole milliseconds.
    """
    text = f"{name}{{{','.join(wanted)}}}"
    return text if seconds is None else f"{text}[{range_of(seconds)}]"


def range_of(seconds: float) -> str:
    """Return a duration as PromQL writes it."""
    return f"{max(round(seconds * 1000), 1)}ms"


def _escaped(character: str) -> str:
    if character == "\n":
        return "\\n"
    return character if character >= " " else f"\\x{ord(character):02x}"
