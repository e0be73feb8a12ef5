"""Words with a role: what is to be shown, before anything is said about looks."""

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
    HOLD = "hold"


class Span(NamedTuple):
    """Text of one role; it holds no line break and no control character."""

    text: str
    role: Role = Role.PLAIN
    is_underlined: bool = False


Line = tuple[Span, ...]
EMPTY: Line = ()


def line(*parts: str | Span) -> Line:
    """Return a line; bare texts get the plain role, empty ones are left out."""
    spans = (Span(each) if isinstance(each, str) else each for each in parts)
    return tuple(each for each in spans if each.text)


def text_of(spans: Line) -> str:
    """Return a line without its roles."""
    return "".join(each.text for each in spans)


def muted(text: str) -> Span:
    """Return text that matters less."""
    return Span(text, Role.MUTED)


def strong(text: str) -> Span:
    """Return text that names what is looked at."""
    return Span(text, Role.STRONG)
