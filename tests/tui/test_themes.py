"""Colours that are legible and distinguishable with every colour vision."""

from __future__ import annotations

from dataclasses import asdict, fields
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color
from textual.css.tokenize import tokenize_values
from textual.theme import BUILTIN_THEMES, Theme

from probetui.tui.themes import (
    LEAST_CONTRAST,
    OWN_THEMES,
    TINTS,
    contrast,
    read_theme,
    role_variables,
    theme_names,
)
from probetui.tui.themes import ROLES as ROLES_OF_THEMES
from tests.tui.app_harness import an_app
from tests.tui.scenes import failing

THEMES = [
    pytest.param(theme, id=theme.name)
    for theme in (*BUILTIN_THEMES.values(), *OWN_THEMES)
    if not theme.ansi
]
ROLES = ("plain", "success", "warning", "error", "accent", "key", "muted")
LEAST_DIFFERENCE = 15
"""CIE76; 2.3 is just noticeable, 15 are clearly different colours."""

# Red, green and blue for three kinds of colour vision, at full severity.
# Source: Machado, Oliveira and Fernandes 2009, table of matrices.
DEFICIENCIES = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def variables(theme: Theme) -> dict[str, str]:
    generated = {**theme.to_color_system().generate(), **theme.variables}
    return {**generated, **role_variables(generated)}


@pytest.mark.parametrize("theme", THEMES)
def test_every_role_of_every_theme_is_legible(theme: Theme) -> None:
    found = variables(theme)
    cursors = ("role-cursor", *(f"role-cursor-{name}" for name in TINTS))
    names = ("background", "panel", "surface", *cursors)
    behind = [Color.parse(found[name]) for name in names]
    behind.append(behind[0] + Color.parse(found["boost"]))

    unreadable = {
        role: round(ratio, 2)
        for role in ROLES
        for color in behind
        if (ratio := contrast(Color.parse(found[f"role-{role}"]), color))
        < LEAST_CONTRAST
    }

    assert not unreadable


def linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def lab(color: Color, kind: str) -> tuple[float, float, float]:
    """Return a colour for a kind of colour vision, in CIE L*a*b* for D65."""
    rgb = [linear(channel) for channel in color.normalized]
    perceived = [
        min(max(sum(a * b for a, b in zip(row, rgb, strict=True)), 0), 1)
        for row in DEFICIENCIES[kind]
    ]
    red, green, blue = perceived
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    fx, fy, fz = (
        value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
        for value in (x, y, z)
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def difference(one: Color, other: Color, kind: str) -> float:
    return float(
        sum((a - b) ** 2 for a, b in zip(lab(one, kind), lab(other, kind), strict=True))
        ** 0.5
    )


@pytest.mark.parametrize("kind", DEFICIENCIES)
@pytest.mark.parametrize(
    "theme",
    [pytest.param(theme, id=theme.name) for theme in OWN_THEMES],
)
def test_calm_counting_and_killed_are_distinguishable_with_every_colour_vision(
    theme: Theme, kind: str
) -> None:
    found = variables(theme)
    colors = {
        role: Color.parse(found[f"role-{role}"])
        for role in ("success", "warning", "error")
    }

    alike = {
        (one, other): round(how_far, 1)
        for one, other in combinations(colors, 2)
        if (how_far := difference(colors[one], colors[other], kind)) < LEAST_DIFFERENCE
    }

    assert not alike


def test_red_and_green_are_not_distinguishable() -> None:
    red, green = Color.parse("#c06050"), Color.parse("#8a8a3a")

    assert difference(red, green, "deuteranopia") < LEAST_DIFFERENCE


def test_own_themes_and_terminal_themes_have_names() -> None:
    mine = Theme("mine", primary="#ff0000")

    assert {"blue-orange-dark", "blue-orange-light", "ansi-dark", "mine"} <= set(
        theme_names([mine])
    )


def test_a_theme_is_parsed() -> None:
    theme, problems = read_theme("mine", {"primary": "#ff0000", "dark": False})

    assert problems == []
    assert theme == Theme("mine", primary="#ff0000", dark=False)


@pytest.mark.parametrize(
    "theme",
    [
        pytest.param(theme, id=theme.name)
        for theme in (*BUILTIN_THEMES.values(), *OWN_THEMES)
    ],
)
def test_every_theme_can_be_written_as_a_file(theme: Theme) -> None:
    written = {key: value for key, value in asdict(theme).items() if value is not None}

    assert read_theme("mine", written) == (theme, [])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param([], "is not a mapping", id="a list"),
        pytest.param({}, "has no primary", id="nothing"),
        pytest.param({"primry": "red"}, "(nearest: primary)", id="no such colour"),
        pytest.param(
            {"primary": "rad"}, 'primary: "rad" is not a colour', id="no colour"
        ),
        pytest.param(
            {"primary": "red", "dark": 1}, "is not true or false", id="no truth"
        ),
        pytest.param(
            {"primary": "red", "variables": {"role-eror": "red"}},
            '"role-eror" is not a variable (nearest: role-error)',
            id="no such variable",
        ),
        pytest.param(
            {"primary": "red", "variables": {"border": "blue } x {"}},
            'border: "blue } x {" is not a colour',
            id="a variable that is no colour",
        ),
        pytest.param(
            {"primary": "red", "variables": {"link-style": "big"}},
            '"big" is not a style',
            id="a variable that is no style",
        ),
        pytest.param(
            {"primary": "red", "text_alpha": 2}, "from 0 to 1", id="too large"
        ),
    ],
)
def test_an_invalid_theme_is_refused_with_the_reason(
    content: object, problem: str
) -> None:
    theme, problems = read_theme("mine", content)

    assert theme is None
    assert any(problem in message for message in problems)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(["red", "#12f", "auto 50%", "bold", "ansi_red", "$x", "", "a b"]),
    st.lists(st.just("red"), max_size=1),
)
NAMES = sorted(field.name for field in fields(Theme))
CONTENT = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3)
VARIABLES = st.dictionaries(
    st.sampled_from([*ROLES_OF_THEMES, "border", "link-style", "text", "no-such"]),
    VALUES,
    max_size=3,
)


@given(CONTENT, VARIABLES)
def test_a_theme_is_refused_or_can_be_used(
    content: dict[str, object], more: dict[str, object]
) -> None:
    theme, problems = read_theme(
        "mine", {"primary": "red", "variables": more} | content
    )

    assert bool(problems) is (theme is None)
    if theme is not None:
        tokenize_values(variables(theme))


async def test_themes_are_selected_by_name() -> None:
    mine = Theme("mine", primary="#ff0000")
    app = an_app(failing(), themes=[mine], theme="blue-orange-dark")
    async with app.run_test(size=(80, 24)) as pilot:
        first = app.theme
        await pilot.press("colon", *"theme", "space", *"mine", "enter")
        await pilot.pause()
        await pilot.pause()

        assert first == "blue-orange-dark"
        assert app.theme == "mine"
