"""The characters that frames are drawn with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """The edges and corners of one kind of frame."""

    top_left: str
    top_right: str
    bottom_left: str
    bottom_right: str
    horizontal: str
    vertical: str
    thumb: str


LIGHT = Frame("╭", "╮", "╰", "╯", "─", "│", "█")
HEAVY = Frame("┏", "┓", "┗", "┛", "━", "┃", "█")
ASCII_LIGHT = Frame("+", "+", "+", "+", "-", "|", "#")
ASCII_HEAVY = Frame("#", "#", "#", "#", "=", "#", "@")


def frame(*, is_focused: bool, is_ascii: bool) -> Frame:
    """Return the frame of a pane; the focused one is heavier, not only brighter."""
    if is_ascii:
        return ASCII_HEAVY if is_focused else ASCII_LIGHT
    return HEAVY if is_focused else LIGHT
