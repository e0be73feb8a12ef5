"""Lines of spans: text with a role, which the screen turns into colours."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What a word means; the screen may colour it, never only that."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    SUCCESS = "success"
    WARNING = "warning"
    ERROR = "error"
    ACCENT = "accent"
    KILL = "kill"
    RESTART = "restart"
    HOLD = "hold"


class Span(NamedTuple):
    """Text of one role; it holds no line break and no control character."""

    text: str
    role: Role = Role.PLAIN
    is_underlined: bool = False
    is_reversed: bool = False


Line = tuple[Span, ...]
EMPTY: Line = ()

LABEL = 14
"""Cells of the first column: a label and at least one space."""
QUOTED = 2
"""Spaces before a line of what was printed."""


def line(*parts: str | Span) -> Line:
    """Return a line; bare texts get the plain role, empty ones are left out."""
    spans = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span.text)


def text_of(spans: Line) -> str:
    """Return a line without its roles."""
    return "".join(span.text for span in spans)


def muted(text: str) -> Span:
    """Return text that matters less."""
    return Span(text, Role.MUTED)


def strong(text: str) -> Span:
    """Return text that names the subject."""
    return Span(text, Role.STRONG)


def labelled(label: str, *parts: str | Span) -> Line:
    """Return a line with its label in the first column."""
    return line(muted(label.ljust(LABEL)), *parts)
