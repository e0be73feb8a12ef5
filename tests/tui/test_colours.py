"""Nothing is shown by colour alone, and every colour is legible."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from rich.style import Style
from textual.color import Color
from textual.widget import Widget

from probetui.engine.snapshot import Snapshot
from probetui.presentation.text.spans import Role
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.styled_text import STYLE_NAMES
from probetui.tui.themes import (
    LEAST_CONTRAST,
    LEAST_CONTRAST_OF_MARKS,
    OWN_THEMES,
    contrast,
)
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.history_scenes import steady, stopping, waiting
from tests.tui.scenes import SCENES, failing


async def test_every_state_can_be_distinguished_by_its_text_alone() -> None:
    texts = {}
    for name, scene in SCENES.items():
        app = an_app(scene())
        async with app.run_test(size=(80, 24)):
            texts[screen_text(app)] = name

    assert len(texts) == len(SCENES)


async def test_all_text_is_visible_without_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_colours = an_app(failing())
    async with with_colours.run_test(size=(80, 24)):
        expected = screen_text(with_colours)
    monkeypatch.setenv("NO_COLOR", "1")

    without = an_app(failing())
    async with without.run_test(size=(80, 24)):
        assert without.no_color
        assert screen_text(without) == expected


async def test_alarming_text_is_as_bright_as_any_without_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = an_app(failing())
    async with app.run_test(size=(80, 24)):
        table = app.screen.query_one(ContainerTable)
        plain = table._style(Role.PLAIN).color

        alarming = (Role.WARNING, Role.ERROR, Role.KILL, Role.RESTART)
        assert {table._style(role).color for role in alarming} == {plain}
        assert table._style(Role.MUTED).color != plain


async def test_an_ascii_screen_is_ascii() -> None:
    app = an_app(failing(), ascii=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("3", "k")
        await pilot.pause()

        assert screen_text(app).isascii()


@pytest.mark.parametrize(
    "theme",
    ["textual-dark", "textual-light", "solarized-light", "nord", "rose-pine-dawn"],
)
async def test_every_role_is_legible_everywhere(theme: str) -> None:
    app = an_app(failing(), theme=theme)
    unreadable = {}
    async with app.run_test(size=(80, 24)):
        table = app.screen.query_one(ContainerTable)
        for look in (*Role, "key", "focus"):
            for also in ("", " cursor"):
                style = table._style(f"{look}{also}")
                assert style.color is not None
                assert style.bgcolor is not None
                ratio = contrast(
                    Color.from_rich_color(style.color),
                    Color.from_rich_color(style.bgcolor),
                )
                if ratio < LEAST_CONTRAST:
                    unreadable[f"{look}{also}"] = round(ratio, 2)

    assert not unreadable


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([], id="the list has the focus"),
        pytest.param(["3"], id="the events have the focus"),
        pytest.param(["slash", "w", "e"], id="a filter is typed"),
        pytest.param(["colon", "s", "t"], id="a command is typed"),
        pytest.param(["question_mark"], id="the help"),
        pytest.param(["C"], id="a menu"),
        pytest.param(["ctrl+k"], id="a question"),
    ],
)
async def test_all_text_is_legible_in_themes_with_few_guarantees(
    keys: list[str],
) -> None:
    app = an_app(failing())
    unreadable = {}
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press(*keys)
        for severity in ("information", "warning", "error"):
            app.notify("words", title="A title", severity=severity)
        for theme in ("textual-light", "solarized-light", "atom-one-dark"):
            app.theme = theme
            await pilot.pause()
            await pilot.pause()
            for text, style in written(app):
                ratio = legibility(style)
                if ratio < LEAST_CONTRAST:
                    unreadable[theme, text] = round(ratio, 2)

    assert not unreadable


@pytest.mark.parametrize("theme", [theme.name for theme in OWN_THEMES])
@pytest.mark.parametrize("scene", [steady, stopping, waiting, failing])
async def test_every_text_and_mark_is_seen_in_every_theme_that_we_ship(
    theme: str, scene: Callable[[], Snapshot]
) -> None:
    app = an_app(scene(), theme=theme)
    unseen = {}
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("*")
        await pilot.pause()
        for text, style in painted(app):
            is_text = any(character.isalnum() for character in text)
            least = LEAST_CONTRAST if is_text else LEAST_CONTRAST_OF_MARKS
            if text.strip() and (ratio := legibility(style)) < least:
                unseen[text] = round(ratio, 2)

    assert not unseen


def painted(app: ProbetuiApp) -> Iterator[tuple[str, Style]]:
    """Yield all that is on the topmost screen; the screens below it are dimmed."""
    for widget in app.screen.query(Widget):
        if not widget.display or not widget.size or widget.children:
            continue
        for strip in widget.render_lines(widget.size.region):
            for text, style, _ in strip:
                if style is not None:
                    yield text, style


def written(app: ProbetuiApp) -> Iterator[tuple[str, Style]]:
    """Yield the words of the topmost screen."""
    for text, style in painted(app):
        if any(character.isalnum() for character in text):
            yield text, style


def legibility(style: Style) -> float:
    """Return the contrast; it is the same where the two colours are reversed."""
    assert style.color is not None
    assert style.bgcolor is not None
    foreground = Color.from_rich_color(style.color)
    background = Color.from_rich_color(style.bgcolor)
    return contrast(foreground.blend(background, 0.5 * bool(style.dim)), background)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_ansi_colours_are_not_replaced(theme: str) -> None:
    app = an_app(failing(), theme=theme)
    async with app.run_test(size=(80, 24)):
        style = app.screen.query_one(ContainerTable)._style("success")

    assert style.color is not None
    assert style.color.number == 2, "green, whatever that is"


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        pytest.param("#000000", "#ffffff", 21.0, id="black on white"),
        pytest.param("#777777", "#ffffff", 4.48, id="a grey just too light"),
        pytest.param("#123456", "#123456", 1.0, id="the same"),
    ],
)
def test_the_contrast_is_defined_as_in_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(Color.parse(one), Color.parse(other)) == pytest.approx(
        ratio, abs=0.01
    )


async def test_every_role_has_its_style() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)):
        table = app.screen.query_one(ContainerTable)
        styles = {look: table._style(look) for look in STYLE_NAMES}

    assert len(styles) == len(STYLE_NAMES)
    # Nothing happens on hold: what does has the loudest look.
    assert not styles["hold"].reverse
    assert styles["kill"].bold
    assert styles["underlined"].underline


@pytest.mark.parametrize(
    ("is_ascii", "corner"),
    [pytest.param(False, "\u250f", id="unicode"), pytest.param(True, "+", id="ascii")],
)
async def test_the_palette_has_the_frame_of_panes_and_menus(
    is_ascii: bool,  # noqa: FBT001  # a parameter of the test
    corner: str,
) -> None:
    app = an_app(failing(), ascii=is_ascii)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        (edge,) = [shown for shown in screen_lines(app) if " Commands " in shown]

        assert corner in edge.partition(" Commands ")[0]
        assert "esc closes" in screen_text(app)
        assert not is_ascii or screen_text(app).isascii()
