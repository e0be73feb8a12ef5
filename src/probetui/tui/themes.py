"""Themes: Textual's, four of our own, and the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from probetui.suggestions import nearest_hint
from probetui.tui.services.terminal_background import AS_LIGHT_AS_DARK, luminance

# Blue is good and orange is bad, which nearly everybody can distinguish; the hues are
# those that Okabe and Ito proposed for colour-blind readers.
BLUE_ORANGE_DARK = Theme(
    "blue-orange-dark",
    primary="#56b4e9",
    secondary="#0072b2",
    warning="#f0e442",
    error="#e07b00",
    success="#56b4e9",
    accent="#cc79a7",
    foreground="#e8e8e8",
    background="#14171a",
    surface="#1d2226",
    panel="#22282d",
    dark=True,
    variables={
        "role-success": "#56b4e9",
        "role-warning": "#f5ec70",
        "role-error": "#e8820c",
        "role-accent": "#d48fb5",
    },
)
BLUE_ORANGE_LIGHT = Theme(
    "blue-orange-light",
    primary="#5aaee0",
    secondary="#0072b2",
    warning="#8a7000",
    error="#8a2f00",
    success="#005a8e",
    accent="#8a3a68",
    foreground="#1a1a1a",
    background="#fbfbf8",
    surface="#f4f4f0",
    panel="#eeeeea",
    dark=False,
    variables={
        "role-success": "#0067a8",
        "role-warning": "#836a00",
        "role-error": "#6e2000",
        "role-accent": "#8a3a68",
    },
)
# Success is a quiet green, counting failures is orange, and red is reserved for kills,
# exits and back-off. Commands and keys are cyan. The three differ in lightness and in
# their share of blue, so that red-green colour-blind readers can distinguish them.
PROBETUI_DARK = Theme(
    "probetui-dark",
    primary="#5cc8dc",
    secondary="#3a5566",
    warning="#ffa040",
    error="#ff6464",
    success="#82b591",
    accent="#5cc8dc",
    foreground="#dadde2",
    background="#0e1013",
    surface="#181b20",
    panel="#23272e",
    dark=True,
    variables={
        "role-success": "#78b8a0",
        "role-warning": "#ffa040",
        "role-error": "#ff6b6b",
        "role-accent": "#5cc8dc",
        "role-key": "#5cc8dc",
    },
)
PROBETUI_LIGHT = Theme(
    "probetui-light",
    primary="#00758c",
    secondary="#8fb3bd",
    warning="#e07000",
    error="#c8102e",
    success="#3f7a52",
    accent="#00758c",
    foreground="#24282e",
    background="#e6e8eb",
    surface="#f7f8f9",
    panel="#d8dce1",
    dark=False,
    variables={
        "role-success": "#2f6b52",
        "role-warning": "#955800",
        "role-error": "#a00030",
        "role-accent": "#00657a",
        "role-key": "#00657a",
    },
)
OWN_THEMES = (PROBETUI_DARK, PROBETUI_LIGHT, BLUE_ORANGE_DARK, BLUE_ORANGE_LIGHT)

DARK, LIGHT = PROBETUI_DARK.name, PROBETUI_LIGHT.name
"""The default themes, by the terminal's background."""

_COLORS = frozenset(
    {
        "primary",
        "secondary",
        "warning",
        "error",
        "success",
        "accent",
        "foreground",
        "background",
        "surface",
        "panel",
        "boost",
    }
)
_BOOLEANS = frozenset({"dark", "ansi"})
_FRACTIONS = frozenset({"luminosity_spread", "text_alpha"})
_STYLE_SUFFIXES = ("text-style", "link-style", "link-style-hover")
_STYLES = frozenset(
    {"none", "not", "bold", "b", "italic", "i", "underline", "u", "reverse", "r", "dim"}
)
_PERCENTAGE = re.compile(r"\d{1,3}%")
_FIELDS = tuple(field.name for field in fields(Theme))


def theme_names(others: Iterable[Theme] = ()) -> tuple[str, ...]:
    """Return the names of all themes, in order; `others` are those of the user."""
    named = (*OWN_THEMES, *others)
    return tuple(sorted({*BUILTIN_THEMES, *(theme.name for theme in named)}))


def theme_for_background(*, is_light: bool) -> str:
    """Return the theme for a terminal with that background."""
    return LIGHT if is_light else DARK


def read_theme(name: str, content: object) -> tuple[Theme | None, list[str]]:
    """Parse a theme; return it, or None and its problems.

    Args:
        name: the default name.
        content: the fields of a Textual theme.
    """
    if not isinstance(content, Mapping):
        return None, ["is not a mapping of colours"]
    values = {"name": name, **content}
    problems = list(_problems(values))
    return (None, problems) if problems else (Theme(**values), [])


def _problems(values: Mapping[Any, Any]) -> Iterable[str]:
    if "primary" not in values:
        yield "has no primary"
    for field, value in values.items():
        if field not in _FIELDS:
            hint = nearest_hint(str(field), _FIELDS)
            yield f'"{field}" is not a colour{hint}'
        elif field in _COLORS and not _is_color(value):
            yield f'{field}: "{value}" is not a colour; write #rrggbb'
        elif field in _BOOLEANS and not isinstance(value, bool):
            yield f'{field}: "{value}" is not true or false'
        elif field in _FRACTIONS and not _is_fraction(value):
            yield f'{field}: "{value}" is not a number from 0 to 1'
        elif field == "name" and not (isinstance(value, str) and value):
            yield f'name: "{value}" is not a name'
        elif field == "variables":
            yield from _problems_of_variables(value)


def _problems_of_variables(values: object) -> Iterable[str]:
    if not isinstance(values, Mapping):
        yield "variables: is not a mapping of names to values"
        return
    # The names are the same for all themes.
    known = [*Theme("", primary="red").to_color_system().generate(), *ROLES]
    for name, value in values.items():
        if name not in known:
            hint = nearest_hint(str(name), known)
            yield f'variables: "{name}" is not a variable{hint}'
        elif name.endswith(_STYLE_SUFFIXES):
            if not set(str(value).split()) <= _STYLES:
                yield f'variables: {name}: "{value}" is not a style, as "bold"'
        elif not _is_color_expression(value) or (
            name in ROLES and not _is_color(value)
        ):
            yield f'variables: {name}: "{value}" is not a colour; write #rrggbb'


def _is_fraction(value: object) -> bool:
    return type(value) in {int, float} and 0 <= float(str(value)) <= 1


def _is_color_expression(value: object) -> bool:
    """Return whether a value is a colour, `auto` or `initial`, with any opacity."""
    color, _, part = str(value).partition(" ")
    is_fraction = not part or _PERCENTAGE.fullmatch(part) is not None
    return is_fraction and (color in {"auto", "initial"} or _is_color(color))


def _is_color(value: object) -> bool:
    try:
        Color.parse(str(value))
    except ColorParseError:
        return False
    return True


LEAST_CONTRAST = 4.5
"""The contrast that WCAG 2 requires of text."""

_SOURCES = {
    "plain": "foreground",
    "success": "text-success",
    "warning": "text-warning",
    "error": "text-error",
    "accent": "text-accent",
    "key": "text-primary",
}
LEAST_CONTRAST_OF_MARKS = 3.0
"""The contrast that WCAG 2 requires of what is no text, such as marks in lanes."""

_FAINTEST, _FAINT_STEPS = 0.5, 10

ROLES = tuple(f"role-{name}" for name in _SOURCES)
"""The variables of roles, which a theme may define."""

TINTS = ("warning", "error", "accent")
"""The roles that tint the selected row and its card."""

_MUTED_BLEND = 0.6
_CURSOR_BLEND_DARK, _CURSOR_BLEND_LIGHT = 0.15, 0.1
_BLEND_STEPS = 10


def role_variables(theme: Mapping[str, str]) -> dict[str, str]:
    """Return the style sheet variables of roles (`role-success` ...) for a theme.

    A theme may define them itself. A theme of the terminal's own colours keeps those,
    because they are unknown.
    """
    background = Color.parse(theme["background"])
    if background.ansi is not None:
        own = {f"role-{name}": theme[source] for name, source in _SOURCES.items()}
        default = dict.fromkeys(("role-muted", *_cursor_names()), "ansi_default")
        return {**own, **default}
    foreground, surface = (
        Color.parse(theme["foreground"]),
        Color.parse(theme["surface"]),
    )
    wanted = {
        name: Color.parse(theme.get(f"role-{name}", theme[source]))
        for name, source in _SOURCES.items()
    }
    wanted["muted"] = background.blend(foreground, _MUTED_BLEND)
    hues = (Color.parse(theme["primary"]), *(wanted[name] for name in TINTS))
    is_light = luminance(*surface.normalized) > AS_LIGHT_AS_DARK
    blend = _CURSOR_BLEND_LIGHT if is_light else _CURSOR_BLEND_DARK
    cursors = [surface.blend(hue, blend) for hue in hues]
    boosted = background + Color.parse(theme["boost"])
    behind = (background, surface, Color.parse(theme["panel"]), boosted, *cursors)
    readable = {
        f"role-{name}": _readable(color, behind).hex for name, color in wanted.items()
    }
    names = zip(_cursor_names(), (cursor.hex for cursor in cursors), strict=True)
    return {**readable, **dict(names)}


def without_hues(roles: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of roles for a screen without colours.

    Alarming roles are as bright as plain text: the greys of their colours would be
    darker than those of calm roles.
    """
    alarming = ("role-warning", "role-error", "role-accent", "role-key")
    return {**roles, **dict.fromkeys(alarming, roles["role-plain"])}


def _cursor_names() -> tuple[str, ...]:
    """Return the variables for the selected row's background: calm, then tinted."""
    return ("role-cursor", *(f"role-cursor-{name}" for name in TINTS))


def contrast(first: Color, second: Color) -> float:
    """Return the contrast ratio of two colours as WCAG 2 defines it, 1 to 21."""
    darker, lighter = sorted(luminance(*color.normalized) for color in (first, second))
    return (lighter + 0.05) / (darker + 0.05)


def faint(color: Color, behind: Color) -> Color:
    """Return a fainter colour, by half if it is still seen on that background."""
    for step in range(_FAINT_STEPS, 0, -1):
        candidate = color.blend(behind, _FAINTEST * step / _FAINT_STEPS)
        if contrast(candidate, behind) >= LEAST_CONTRAST_OF_MARKS:
            return candidate
    return color


def _readable(color: Color, behind: Sequence[Color]) -> Color:
    extreme = behind[0].get_contrast_text(1.0)
    for step in range(_BLEND_STEPS):
        candidate = color.blend(extreme, step / _BLEND_STEPS)
        if all(contrast(candidate, backdrop) >= LEAST_CONTRAST for backdrop in behind):
            return candidate
    return extreme
