"""The picker of saved sessions: a list, and the lanes of the one under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from textual.pilot import Pilot

from probetui.presentation.text.spans import Line, line
from probetui.tui.session_picker import Choice, SessionPicker
from tests.tui.app_harness import screen_text

SIZE = (100, 24)
CHOICES = [Choice(f"11-29 11:1{day} web-{day}", f"{day} kills") for day in range(3)]


async def no_rest() -> None:
    """Glance at once."""


async def until_shown(pilot: Pilot[int | None], text: str) -> None:
    while text not in screen_text(pilot.app):
        await pilot.pause(0.01)


def a_picker(
    glances: list[int] | None = None, rest: Callable[[], Awaitable[None]] = no_rest
) -> SessionPicker:
    """Return a picker of three sessions, with a glance at each."""

    def glance(index: int, width: int) -> Sequence[Line]:
        if glances is not None:
            glances.append(index)
        return [line(f"lanes of {index} in {width}")]

    return SessionPicker(CHOICES, glance, is_ascii=False, rest=rest)


async def test_every_session_is_listed_and_the_newest_one_glanced_at() -> None:
    app = a_picker()
    async with app.run_test(size=SIZE) as pilot:
        await until_shown(pilot, "lanes of 0 in")
        text = screen_text(app)

    assert all(choice.name in text and choice.note in text for choice in CHOICES)


async def test_only_the_session_on_which_the_cursor_rests_is_read() -> None:
    glances: list[int] = []
    rested = asyncio.Event()

    async def rest() -> None:
        await rested.wait()

    app = a_picker(glances, rest)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("j", "j")
        rested.set()
        await until_shown(pilot, "lanes of 2 in")

    assert glances == [2]


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        pytest.param(("enter",), 0, id="the newest"),
        pytest.param(("j", "enter"), 1, id="an older one"),
        pytest.param(("3",), 2, id="by its number"),
        pytest.param(("escape",), None, id="esc"),
        pytest.param(("q",), None, id="q"),
        pytest.param(("ctrl+c",), None, id="^c"),
    ],
)
async def test_a_session_is_chosen_or_none(
    keys: tuple[str, ...], chosen: int | None
) -> None:
    app = a_picker()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

    assert app.return_value == chosen


async def test_a_small_terminal_says_so() -> None:
    app = a_picker()
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.pause()

        assert "Terminal too small" in screen_text(app)
