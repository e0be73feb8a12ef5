"""The pane with the output of the selected probe and its container."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from probetui.drive.logs import LogState
from probetui.k8s.runtime import LogLine
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from tests.ticks import SECOND
from tests.tui.app_harness import an_app_of_cards, line_with, screen_lines, screen_text
from tests.tui.fake_logs import FakeLogs
from tests.tui.fake_session import FakeSession
from tests.tui.reading_scenes import logs, restarted
from tests.tui.scenes import failing
from tests.tui.snapshots import a_snapshot

WIDE = (200, 50)


def the_app(keeper: FakeLogs | None) -> ProbetuiApp:
    return an_app_of_cards(restarted(), host=HostServices(logs=keeper))


async def test_outputs_and_log_are_visible_if_there_is_room() -> None:
    app = the_app(logs())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()

        shown = screen_text(app)
        assert "probe #23  08:21:05.1  ✗ exit 1 in 34ms" in shown
        assert "probe #21  08:20:55.1  ✓ exit 0 in 28ms" in shown
        assert "container log (follow)" in shown
        assert "request 37 took 12ms" in shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 20)])
async def test_no_log_is_read_if_it_is_not_visible(size: tuple[int, int]) -> None:
    keeper = logs()
    app = the_app(keeper)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        assert keeper.tails == []
        assert "4 Output" not in screen_text(app)


async def test_a_line_that_is_printed_is_shown() -> None:
    keeper = logs()
    app = the_app(keeper)
    async with app.run_test(size=WIDE) as pilot:
        keeper.tail.add(LogLine(None, "just now"))
        keeper.tail._notify_listener()
        await pilot.pause()

        assert "just now" in screen_text(app)


async def test_another_container_has_another_log() -> None:
    keeper = logs()
    app = the_app(keeper)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("j")
        await pilot.pause()

        assert "4 Output  shop/worker" in screen_text(app)
        assert "is waiting to start: CrashLoopBackOff" in screen_text(app)
        assert keeper.closed == [SECOND]


async def test_the_log_is_closed_when_the_screen_is_too_small_for_it() -> None:
    keeper = logs()
    app = the_app(keeper)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.resize_terminal(80, 24)
        await pilot.pause()

        assert keeper.closed == [SECOND]


async def test_a_session_without_logs_is_reported_in_place_of_the_pane() -> None:
    app = the_app(None)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        without = screen_text(app)
        await pilot.press("4")
        await pilot.pause()

        assert "4 Output" not in without
        assert "exit 1 in 34ms" in without, "what the probe printed is in the ticks"
        assert "This session has no logs, only probe output." in screen_text(app)


async def test_an_empty_log_is_reported() -> None:
    keeper = FakeLogs()
    app = the_app(keeper)
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()
        waiting = screen_text(app)
        keeper.tail.finish(LogState.ENDED)
        keeper.tail._notify_listener()
        await pilot.pause()

        assert "(No output yet.)" in waiting
        assert "container log (ended)" in screen_text(app)
        assert "(nothing printed)" in screen_text(app)


async def test_nothing_is_selected_without_a_pod() -> None:
    app = an_app_of_cards(a_snapshot(), host=HostServices(logs=FakeLogs()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()

        assert "4 Output" in screen_text(app)
        assert "No container selected." in screen_text(app)


async def test_a_waiting_container_shows_why_it_has_no_log() -> None:
    snapshot = failing()
    demo = snapshot.pods[0]
    container = replace(demo.containers[0], status=None)
    session = FakeSession(
        replace(snapshot, pods=(replace(demo, containers=(container,)),))
    )
    app = an_app_of_cards(session, host=HostServices(logs=FakeLogs()))
    async with app.run_test(size=WIDE) as pilot:
        await pilot.pause()

        assert "is waiting to start: no logs yet" in screen_text(app)


@pytest.mark.parametrize(
    ("key", "pane"), [("4", "output"), ("5", "life-trace"), ("3", "events")]
)
async def test_a_number_goes_to_its_pane(key: str, pane: str) -> None:
    app = the_app(logs())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(key)
        await pilot.pause()

        assert app.focused is not None
        assert app.focused.id == pane


@pytest.mark.parametrize(
    ("key", "words"), [("4", " logs   demo/liveness"), ("5", "5 Decision trace")]
)
async def test_a_pane_without_room_has_its_own_screen(key: str, words: str) -> None:
    app = the_app(logs())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await pilot.pause()

        assert words in screen_text(app)


async def test_tab_cycles_through_the_visible_panes() -> None:
    app = the_app(logs())
    focused = []
    async with app.run_test(size=WIDE) as pilot:
        for _ in range(5):
            await pilot.press("tab")
            focused.append(app.focused.id if app.focused else None)

    assert focused == ["detail", "output", "ticks", "events", "containers"]


@pytest.mark.parametrize(
    ("key", "words"), [("4", "4 Output"), ("5", "5 Decision trace"), ("3", "3 Events")]
)
async def test_a_pane_can_have_the_whole_screen(key: str, words: str) -> None:
    app = the_app(logs())
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press(key, "z")
        await pilot.pause()

        assert len(line_with(app, words).rstrip()) == WIDE[0]
        assert "1 Containers" not in screen_text(app)
        assert "q back" in screen_lines(app)[-1]
