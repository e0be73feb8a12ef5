"""Jump mode: a letter on every pane and container, which goes there."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.screens.jump import LETTERS, JumpScreen
from tests.tui.app_harness import an_app, screen_lines
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing
from tests.tui.snapshots import a_snapshot
from tests.tui.test_selection import a_pod, named

SIZE = (120, 40)


def three() -> FakeSession:
    return FakeSession(a_snapshot(a_pod("red"), a_pod("sea"), a_pod("sky")))


def letter_at(app: ProbetuiApp, name: str) -> str:
    """Return the letter on the row of a container, empty without one."""
    table = app.screen_stack[0].query_one(ContainerTable).region
    lines = screen_lines(app)[table.y : table.bottom]
    (row,) = (text for text in lines if f" {name} " in text[:30])
    return row[1].strip()


async def jump(pilot: Pilot[None]) -> None:
    await pilot.press("J")
    await pilot.pause()
    assert isinstance(pilot.app.screen, JumpScreen)


@pytest.mark.parametrize("name", ["red/api", "red/web", "sea/db", "sky/mail"])
async def test_the_letter_on_a_row_selects_its_container(name: str) -> None:
    app = an_app(three())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3")
        await jump(pilot)
        await pilot.press(letter_at(app, name))
        await pilot.pause()

        assert named(app).startswith(name)
        assert app.focused is not None
        assert app.focused.id == "containers"


async def test_every_pane_that_can_be_gone_to_has_a_letter() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await jump(pilot)
        titles = ("FAILING 2 of 3", "1 Containers", "Probes", "3 Events")
        marked = [
            text[0]
            for text in screen_lines(app)
            if text[2:].startswith(titles) or text[1:].strip().startswith(titles)
        ]
        await pilot.press(marked[-1])
        await pilot.pause()

        assert len(marked) == len(set(marked)) == 4
        assert set(marked) <= set(LETTERS)
        assert app.focused is not None
        assert app.focused.id == "events"


@pytest.mark.parametrize("key", ["escape", "q", "question_mark", "enter", "Z", "space"])
async def test_any_other_key_goes_nowhere(key: str) -> None:
    session = three()
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        before = named(app)
        await jump(pilot)
        await pilot.press(key)
        await pilot.pause()

        assert not isinstance(app.screen, JumpScreen)
        assert named(app) == before
        assert session.sent == []
        assert not app._exit


async def test_a_letter_stays_with_its_container_when_rows_move() -> None:
    session = three()
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await jump(pilot)
        letter = letter_at(app, "sky/mail")
        session.publish(a_snapshot(a_pod("sky"), a_pod("sea"), a_pod("red")))
        await pilot.pause()
        moved = letter_at(app, "sky/mail")
        await pilot.press(letter)
        await pilot.pause()

        assert moved == letter
        assert named(app).startswith("sky/mail")


async def test_a_letter_whose_container_is_gone_is_nobody_elses() -> None:
    session = three()
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        before = named(app)
        await jump(pilot)
        letter = letter_at(app, "sea/db")
        session.publish(a_snapshot(a_pod("red"), a_pod("sky")))
        await pilot.pause()
        await pilot.press(letter)
        await pilot.pause()

        assert named(app) == before


async def test_a_key_map_that_has_the_key_keeps_it() -> None:
    app = an_app(failing(), keymap={"look.why": "J", "move.jump": "no-key"})
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("J")
        await pilot.pause()

        assert type(app.screen).__name__ == "WhyScreen"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        pytest.param("po", "containers", id="po"),
        pytest.param("pods", "containers", id="pods"),
        pytest.param("ev", "EventsScreen", id="ev"),
        pytest.param("log", "LogsScreen", id="log"),
        pytest.param("node", "TextScreen", id="node"),
    ],
)
async def test_short_names_open_what_they_do_in_k9s(typed: str, shown: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "colon", *typed, "enter")
        await pilot.pause()
        focused = "" if app.focused is None else app.focused.id

        assert shown in {type(app.screen).__name__, focused}
