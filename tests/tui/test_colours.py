"""No colour is the only sign, and every colour can be read (UX-50)."""

from __future__ import annotations

import pytest
from textual.color import Color

from probetui.presentation.spans import Role
from probetui.tui.inks import LOOKS
from probetui.tui.role_colours import LEAST_CONTRAST, contrast
from probetui.tui.widgets.container_table import ContainerTable
from tests.tui.scenes import SCENES, failing
from tests.tui.seeing import an_app, screen_text


async def test_every_state_can_be_told_from_every_other_by_its_text_alone() -> None:
    texts = {}
    for name, scene in SCENES.items():
        app = an_app(scene())
        async with app.run_test(size=(80, 24)):
            texts[screen_text(app)] = name

    assert len(texts) == len(SCENES)


async def test_no_text_is_lost_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    with_colours = an_app(failing())
    async with with_colours.run_test(size=(80, 24)):
        expected = screen_text(with_colours)
    monkeypatch.setenv("NO_COLOR", "1")

    without = an_app(failing())
    async with without.run_test(size=(80, 24)):
        assert without.no_color
        assert screen_text(without) == expected


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
async def test_every_role_can_be_read_in_every_place(theme: str) -> None:
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


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_the_terminals_own_colours_are_left_to_the_terminal(theme: str) -> None:
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
def test_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(Color.parse(one), Color.parse(other)) == pytest.approx(
        ratio, abs=0.01
    )


async def test_every_look_has_its_style() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)):
        table = app.screen.query_one(ContainerTable)
        styles = {each: table._style(each) for each in LOOKS}

    assert len(styles) == len(LOOKS)
    assert styles["hold"].reverse
    assert styles["kill"].bold
    assert styles["underlined"].underline
