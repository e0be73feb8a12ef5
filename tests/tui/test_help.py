"""The help screen: its contents, searching and leaving it."""

from __future__ import annotations

import re

import pytest

from probetui.debugger.commands import PauseProbes
from probetui.engine.inputs import Command
from probetui.tui.actions.key_labels import active_labels
from probetui.tui.screens.help import HelpScreen
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing

SIZE = (80, 24)
FRAMES = str.maketrans("┃█", "  ")


async def after(*keys: str) -> tuple[FakeSession, list[str]]:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        await pilot.pause()
        return session, screen_lines(app)


@pytest.mark.parametrize("opened_by", ["question_mark", "f1"])
async def test_every_line_of_the_help_can_be_reached(opened_by: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=(71, 16)) as pilot:
        labels = active_labels(app.screen.active_bindings)
        await pilot.press(opened_by)
        seen = set()
        for _ in range(2 * len(labels)):
            seen |= set(screen_text(app).split("\n"))
            await pilot.press("down")
        await pilot.pause()

    everything = "\n".join(seen)
    # The longest texts continue on a second line.
    assert all(label.tooltip[:50] in everything for label in labels)


async def test_the_first_page_has_ten_keys_and_the_marks() -> None:
    _, lines = await after("question_mark")

    page = "\n".join(line.translate(FRAMES) for line in lines)
    first, _, marks = page.partition(" LANES ")
    keys = re.findall(r"(\S+) {4,}[A-Z]", first.partition("TO BEGIN WITH")[2])
    assert sorted(keys) == sorted(
        [":", "/", "space", ".", "t", "i", "w", "v", "r", "q"]
    )
    assert "K kill   ▒ grace" in marks
    assert "k kill to come" in marks
    assert " MARKS  ✓ success" in marks


@pytest.mark.parametrize("width", [80, 100, 120])
async def test_a_column_of_the_help_begins_with_a_heading_or_a_key(width: int) -> None:
    app = an_app(failing())
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        top = screen_lines(app)[1][width // 2 :]

    # Keys are indented by three cells, headings by two, descriptions follow the keys.
    assert len(top) - len(top.lstrip()) <= 3


@pytest.mark.parametrize("isolated", [True, False])
async def test_the_help_says_what_processes_may_do(*, isolated: bool) -> None:
    app = an_app(failing(), isolated=isolated)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        text = " ".join(screen_text(app).translate(FRAMES).split())

    sentence = (
        "processes! plain processes are not isolated: the commands of the manifests can"
    )
    assert (sentence in text) is not isolated


async def test_a_letter_and_its_capital_are_listed_side_by_side() -> None:
    app = an_app(failing())
    async with app.run_test(size=(160, 60)) as pilot:
        await pilot.press("question_mark", "pagedown")
        await pilot.pause()
        shown = screen_text(app)

    assert "SMALL AND CAPITAL" in shown
    assert "r R      restart / clear back-off" in shown
    assert "o O      " in shown


async def test_the_panes_of_a_container_have_names_that_are_words_of_the_screen() -> (
    None
):
    _, lines = await after("enter", "question_mark")
    _, of_trace = await after("enter", "tab", "question_mark")

    assert "Keys for: the container" in lines[0]
    assert "Keys for: the decision trace" in of_trace[0]


async def test_keys_are_found_by_their_description() -> None:
    _, lines = await after("question_mark", "slash", *"PAUSE.ALL")

    shown = "\n".join(lines)
    assert "Pause all probes" in shown
    assert "Move one line up" not in shown
    assert "found 1 of" in shown


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        pytest.param((), "Keys for: containers ━━━━ esc closes ┓", id="all keys"),
        pytest.param(("slash", *"tick", "enter"), "Keys  found ", id="a search"),
    ],
)
async def test_the_help_shows_its_contents_on_the_smallest_screen(
    keys: tuple[str, ...], shown: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("question_mark", *keys)
        await pilot.pause()

        edge = screen_lines(app)[0]
        assert shown in edge
        assert "…" not in edge


@pytest.mark.parametrize(
    ("keys", "is_open", "is_searched"),
    [
        pytest.param(("escape",), False, False, id="escape"),
        pytest.param(("slash", *"tick", "enter"), True, True, id="search kept"),
        pytest.param(("slash", *"tick", "escape"), True, False, id="search left"),
        pytest.param(
            ("slash", *"tick", "enter", "escape"), True, False, id="search cleared"
        ),
        pytest.param(
            ("slash", *"tick", "enter", "escape", "escape"), False, False, id="closed"
        ),
        pytest.param(("slash", "q"), True, True, id="letters are text"),
    ],
)
async def test_escape_closes_the_help_step_by_step(
    keys: tuple[str, ...],
    is_open: bool,  # noqa: FBT001  # a column
    is_searched: bool,  # noqa: FBT001  # a column
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("question_mark", *keys)
        await pilot.pause()

        assert isinstance(app.screen, HelpScreen) is is_open
        assert ("  found " in screen_text(app)) is is_searched


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        pytest.param("space", [PauseProbes()], id="one that is listed"),
        pytest.param("f", [], id="one that works elsewhere"),
    ],
)
async def test_a_listed_key_can_be_run(key: str, sent: list[Command]) -> None:
    session, _ = await after("question_mark", key)

    assert session.sent == sent
