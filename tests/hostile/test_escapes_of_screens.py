"""On the screen, too: a megabyte in one line, markup in messages, what is copied."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from probetui.tui.services.clipboard import request
from tests.hostile.payloads import EVERYTHING, LONE, MEGABYTE, PAYLOADS, obeyed
from tests.tui.app_harness import screen_lines, screen_text
from tests.tui.test_hostile_text import HEIGHT, WIDTH, crooked, the_app

SCREENS = {
    "events": ("v", "W", "G"),
    "logs": ("l", "W", "G"),
    "describe": ("d", "W", "G"),
    "yaml": ("y", "W", "G"),
    "container": ("enter",),
    "output": ("enter", "enter"),
    "why": ("w",),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a megabyte of escapes", "a megabyte of marks"])
async def test_a_megabyte_in_one_line_breaks_no_screen(kind: str) -> None:
    app = the_app(MEGABYTE[kind])
    bad = {}
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        for name, keys in SCREENS.items():
            await pilot.press(*keys)
            await pilot.pause()
            bad[name] = crooked(screen_lines(app))
            await pilot.press("escape", "escape", "1")

    assert {name: lines for name, lines in bad.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [*PAYLOADS.values(), *LONE.values(), MEGABYTE["a megabyte"]],
    ids=[*PAYLOADS, *LONE, "a megabyte"],
)
async def test_a_message_is_shown_and_neither_obeyed_nor_read_as_markup(
    text: str,
) -> None:
    app = the_app("")
    async with app.run_test(size=(WIDTH, HEIGHT), notifications=True) as pilot:
        app.notify(text, markup=True)
        await pilot.pause()
        (toast,) = app.screen.query(Toast)
        said = toast._notification.message

        assert obeyed(said) == []
        assert crooked(screen_lines(app)) == []
        assert not toast._notification.markup
        assert app.is_running


async def test_markup_in_a_message_is_seen() -> None:
    app = the_app("")
    async with app.run_test(size=(WIDTH, HEIGHT), notifications=True) as pilot:
        app.notify("[@click=app.quit]x[/] [bold]")
        await pilot.pause()

        assert "[@click=app.quit]x[/] [bold]" in screen_text(app)


def test_what_goes_to_the_clipboard_by_the_terminal_is_base64_alone() -> None:
    for environment in ({}, {"TMUX": "x"}, {"TERM": "screen"}):
        asked = request(EVERYTHING[:5000], environment)

        assert asked is not None
        data = asked.partition("52;c;")[2].partition("\x07")[0]
        assert data.isascii()
        assert data.replace("+", "").replace("/", "").rstrip("=").isalnum()
