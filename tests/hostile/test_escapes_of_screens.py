"""Hostile text on the screen: a megabyte in one line, markup in messages, copies."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from probetui.tui.services.clipboard import request
from tests.hostile.payloads import EVERYTHING, LONE, MEGABYTE, PAYLOADS, obeyed
from tests.tui.app_harness import screen_lines, screen_text
from tests.tui.test_hostile_text import HEIGHT, WIDTH, malformed, the_app

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
async def test_a_megabyte_in_one_line_does_not_break_a_screen(kind: str) -> None:
    app = the_app(MEGABYTE[kind])
    bad = {}
    async with app.run_test(size=(WIDTH, HEIGHT)) as pilot:
        for name, keys in SCREENS.items():
            await pilot.press(*keys)
            await pilot.pause()
            bad[name] = malformed(screen_lines(app))
            await pilot.press("escape", "escape", "1")

    assert {name: lines for name, lines in bad.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    [*PAYLOADS.values(), *LONE.values(), MEGABYTE["a megabyte"]],
    ids=[*PAYLOADS, *LONE, "a megabyte"],
)
async def test_a_message_is_shown_and_neither_obeyed_nor_parsed_as_markup(
    text: str,
) -> None:
    app = the_app("")
    async with app.run_test(size=(WIDTH, HEIGHT), notifications=True) as pilot:
        app.notify(text, markup=True)
        await pilot.pause()
        (toast,) = app.screen.query(Toast)
        message_shown = toast._notification.message

        assert obeyed(message_shown) == []
        assert malformed(screen_lines(app)) == []
        assert not toast._notification.markup
        assert app.is_running


async def test_markup_in_a_message_is_visible() -> None:
    app = the_app("")
    async with app.run_test(size=(WIDTH, HEIGHT), notifications=True) as pilot:
        app.notify("[@click=app.quit]x[/] [bold]")
        await pilot.pause()

        # On two rows, as the header's badge stays visible.
        text = screen_text(app)
        assert "[@click=app.quit]x[/]" in text
        assert "[bold]" in text


def test_only_base64_is_sent_to_the_clipboard_of_the_terminal() -> None:
    for environment in ({}, {"TMUX": "x"}, {"TERM": "screen"}):
        asked = request(EVERYTHING[:5000], environment)

        assert asked is not None
        data = asked.partition("52;c;")[2].partition("\x07")[0]
        assert data.isascii()
        assert data.replace("+", "").replace("/", "").rstrip("=").isalnum()
