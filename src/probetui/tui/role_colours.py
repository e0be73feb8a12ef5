"""A colour for each role, from whatever theme is chosen, that can be read.

Themes promise no contrast. A theme's own colour is taken as it is where it can be read
on every background that a word may stand on, and mixed with black or white until it
can be where it cannot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.color import Color

from probetui.tui.background import luminance

LEAST_CONTRAST = 4.5
"""What WCAG 2 asks for text."""

_SOURCES = {
    "plain": "foreground",
    "success": "text-success",
    "warning": "text-warning",
    "error": "text-error",
    "accent": "text-accent",
    "key": "text-primary",
}
ROLES = tuple(f"role-{each}" for each in _SOURCES)
"""Variables that a theme may have of its own."""

_MUTED = 0.6
_CURSOR = 0.25
_STEPS = 10


def role_variables(theme: Mapping[str, str]) -> dict[str, str]:
    """Return style sheet variables, `role-success` and so on, for a theme's own.

    A theme may have colours for roles among its own variables. One of the terminal's
    own colours keeps them: nobody knows what they are.
    """
    background = Color.parse(theme["background"])
    if background.ansi is not None:
        own = {f"role-{each}": theme[source] for each, source in _SOURCES.items()}
        return {**own, "role-muted": "ansi_default", "role-cursor": "ansi_default"}
    foreground = Color.parse(theme["foreground"])
    cursor = background.blend(Color.parse(theme["primary"]), _CURSOR)
    others = (Color.parse(theme[each]) for each in ("panel", "surface"))
    behind = (background, cursor, *others, background + Color.parse(theme["boost"]))
    wanted = {
        each: Color.parse(theme.get(f"role-{each}", theme[source]))
        for each, source in _SOURCES.items()
    }
    wanted["muted"] = background.blend(foreground, _MUTED)
    readable = {
        f"role-{each}": _readable(color, behind).hex for each, color in wanted.items()
    }
    return {**readable, "role-cursor": cursor.hex}


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted(luminance(*each.normalized) for each in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def _readable(color: Color, behind: Sequence[Color]) -> Color:
    extreme = behind[0].get_contrast_text(1.0)
    for step in range(_STEPS):
        candidate = color.blend(extreme, step / _STEPS)
        if all(contrast(candidate, each) >= LEAST_CONTRAST for each in behind):
            return candidate
    return extreme
