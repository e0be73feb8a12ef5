"""The main screen as a whole: layout, the keys of the footer, messages."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.main import grid_rows
from tests.tui.app_harness import an_app_of_cards, line_with, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import SCENES, failing, paused, pulling, running

SIZES = [(80, 24), (100, 30), (120, 40), (160, 45), (200, 60)]


@pytest.mark.parametrize(
    ("height", "containers", "instances", "rows"),
    [
        pytest.param(20, 5, 1, "", id="too low for all"),
        pytest.param(30, 5, 2, "9 3 6 1fr", id="the card decides"),
        pytest.param(30, 8, 2, "11 3 6 1fr", id="the list decides"),
        pytest.param(30, 5, 9, "9 3 6 1fr", id="two instances in a low terminal"),
        pytest.param(40, 5, 1, "12 3 5 1fr", id="one instance"),
        pytest.param(40, 5, 9, "12 3 7 1fr", id="more room for card and instances"),
        pytest.param(40, 1, 3, "4 6 7 1fr", id="why stands below a short list"),
        pytest.param(40, 90, 3, "16 3 7 1fr", id="no more than its part"),
        pytest.param(90, 20, 3, "23 3 7 1fr", id="events get the rest"),
    ],
)
def test_list_and_ticks_have_limited_rows_and_events_get_the_rest(
    height: int, containers: int, instances: int, rows: str
) -> None:
    assert grid_rows(height, containers, instances) == rows


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_list_card_and_events_are_visible_at_every_size(
    size: tuple[int, int],
) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        panes = {pane.id: pane.size for pane in app.screen.query(Pane) if pane.display}

    is_wide = size[0] >= 100
    assert {"containers", "detail", "events"} <= set(panes)
    assert panes["containers"].width == (66 if is_wide else size[0])
    assert panes["events"].width == size[0]
    assert {"ticks", "why"} <= set(panes) or not is_wide
    assert panes["events"].height >= 7


@pytest.mark.parametrize("width", [160, 200])
async def test_there_is_no_log_pane_without_logs(width: int) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(width, 45)) as pilot:
        await pilot.pause()

        assert not app.screen.query_one("#output").display
        assert app.screen.query_one("#detail").size.width == width - 66 - 1


async def test_only_the_focused_pane_has_a_frame_and_nothing_moves() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        on_containers = screen_lines(app)
        await pilot.press("3")
        await pilot.pause()
        on_events = screen_lines(app)

    assert sum("┏" in line for line in on_containers) == 1
    assert sum("┏" in line for line in on_events) == 1
    assert not any(set("╭╮╰╯│") & set(line) for line in on_events)
    column = on_containers[1].index("1 Containers")
    assert on_events[1].index("1 Containers") == column
    assert on_events[3][:66].strip() == on_containers[3][:66].strip("┃ ")


def key_places(app: ProbetuiApp) -> dict[str, int]:
    """Return the columns of the keys of the footer, by their label."""
    footer = screen_lines(app)[-1]
    words = (
        "help",
        "cmd",
        "filter",
        "step",
        "probe",
        "inject",
        "why",
        "events",
        "quit",
    )
    return {word: footer.find(word) for word in words if f" {word}" in footer}


@pytest.mark.sweep
@pytest.mark.parametrize(
    "other", [paused, pulling, SCENES["on_hold"], SCENES["back_off"]]
)
@pytest.mark.parametrize("width", [80, 120, 200])
async def test_keys_of_the_footer_keep_their_place_when_the_state_changes(
    width: int, other: object
) -> None:
    assert callable(other)
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=(width, 40)) as pilot:
        await pilot.pause()
        before = key_places(app)
        session.publish(other())
        await pilot.pause()
        await pilot.pause()
        after = key_places(app)

    assert {"help", "quit", "step"} <= set(before)
    assert after == before


async def test_a_disabled_key_cannot_be_clicked() -> None:
    session = FakeSession(running())
    app = an_app_of_cards(session)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        session.publish(pulling())
        await pilot.pause()
        await pilot.pause()
        x = screen_lines(app)[-1].index("restart")
        await pilot.click("#keys", offset=(x, 0))
        await pilot.pause()

    assert session.sent == []


@pytest.mark.sweep
@pytest.mark.parametrize("width", range(60, 240, 7))
async def test_the_footer_cuts_no_word(width: int) -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(width, 24)) as pilot:
        await pilot.pause()
        footer = screen_lines(app)[-1]

    assert "…" not in footer
    assert footer.rstrip().endswith("q quit")


def messages(app: ProbetuiApp) -> list[str]:
    return [str(toast.render()) for toast in app.screen.query(Toast)]


async def test_messages_take_a_row_each_over_the_header_and_two_at_most() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        for text in ("one", "two", "two", "three", "three"):
            app.notify(text)
            await pilot.pause()
        await pilot.pause()
        toasts = [toast.region for toast in app.screen.query(Toast)]
        lines = screen_lines(app)

        assert messages(app) == ["two", "three"]
        assert [(toast.y, toast.height) for toast in toasts] == [(0, 1), (1, 1)]
        assert lines[0].endswith(" two ")
        assert "1 Containers" in lines[1]


async def test_a_message_does_not_hide_the_badge_of_the_header() -> None:
    text = "plain processes are not isolated, and you are root"
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        badge = screen_lines(app)[0].partition("]")[0] + "]"
        app.notify(text)
        await pilot.pause()
        lines = screen_lines(app)

        assert badge.endswith(" [LIVE 1x]")
        assert lines[0].startswith(badge)
        assert messages(app) == ["plain processes are not isolated,\nand you are root"]
        assert lines[0].rstrip().endswith(" plain processes are not isolated,")

        app.notify(text)
        await pilot.pause()
        assert len(messages(app)) == 1, "the same one again"


async def test_a_message_too_long_for_two_rows_takes_the_whole_width() -> None:
    app = an_app_of_cards(failing())
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.notify("word " * 20)
        await pilot.pause()

        (toast,) = app.screen.query(Toast)
        assert toast.region.height == 2
        assert toast.region.width > 70


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
async def test_no_title_or_column_head_is_cut_in_any_state(
    size: tuple[int, int], scene: object
) -> None:
    assert callable(scene)
    app = an_app_of_cards(scene())
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        assert "1 Containers" in line_with(app, "Containers")
        assert "Events" in screen_text(app)
        assert "…" not in screen_lines(app)[0]
        assert "…" not in line_with(app, " NAME ")[:66]
