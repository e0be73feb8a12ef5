"""Lines of spans: text with roles, which the screen maps to colours."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """The meaning of a span; the screen may colour it, but never by colour alone."""

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
    """Text with one role, without line breaks and control characters.

    What is faint goes on or is still to come; it says nothing that others do not.
    """

    text: str
    role: Role = Role.PLAIN
    is_underlined: bool = False
    is_reversed: bool = False
    is_faint: bool = False


Line = tuple[Span, ...]
EMPTY: Line = ()

LABEL = 14
"""The width, in cells, of the first column: a label and at least one space."""
QUOTED = 2
"""The number of spaces before a line of output."""


def line(*parts: str | Span) -> Line:
    """Return a line; strings get the plain role, empty parts are left out."""
    spans = (Span(part) if isinstance(part, str) else part for part in parts)
    return tuple(span for span in spans if span.text)


def text_of(spans: Line) -> str:
    """Return a line without its roles."""
    return "".join(span.text for span in spans)


def muted(text: str) -> Span:
    """Return a span of less importance."""
    return Span(text, Role.MUTED)


def strong(text: str) -> Span:
    """Return a span that names the subject."""
    return Span(text, Role.STRONG)


HINT = "hint "
"""The label of what solves a problem."""

NEXT = "next: "
"""The label of what comes."""


def labelled(label: str, *parts: str | Span) -> Line:
    """Return a line with its label in the first column."""
    return line(muted(label.ljust(LABEL)), *parts)
