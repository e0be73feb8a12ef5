"""The screen with all events."""

from __future__ import annotations

import importlib
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.debugger.commands import PauseProbes
from probetui.engine.snapshot import Snapshot
from probetui.k8s.event import Event, EventType
from probetui.kubelet.journal import (
    EventEntry,
    StateEntry,
    StateField,
    TickAction,
    TickEntry,
)
from probetui.presentation.events.log import EventLineBuffer
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.event_pane import EventPane
from tests.ticks import NOW
from tests.tui.app_harness import (
    an_app,
    line_with,
    screen_lines,
    screen_text,
    turn_the_wheel,
)
from tests.tui.fake_session import FakeSession
from tests.tui.history_scenes import stopping
from tests.tui.scenes import failing, on_hold, unhealthy
from tests.tui.snapshots import DEMO, a_snapshot, demo, shop

SIZE = (80, 24)
TALL = (80, 40)


@pytest.mark.parametrize(
    ("keys", "noun"),
    [
        pytest.param("", "container", id="containers"),
        pytest.param("3", "event", id="events"),
        pytest.param("v", "event", id="all events"),
        pytest.param("vF", "event", id="as a cluster shows them"),
    ],
)
async def test_a_filter_without_matches_shows_how_to_clear_it(
    keys: str, noun: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press(*keys, "slash", *"zzz", "enter")
        await pilot.pause()

        assert f'No {noun} matches "zzz". esc clears the filter.' in screen_text(app)


def an_event(
    number: int, type_: EventType = EventType.NORMAL, message: str = ""
) -> EventEntry:
    message = message or f"event number {number:05} has happened"
    at = NOW + timedelta(seconds=number)
    event = Event(type_, "Tested", message, DEMO.uid, "", at, "liveness")
    return EventEntry(number, at, event)


def with_events(count: int) -> Snapshot:
    return a_snapshot(demo(), entries=[an_event(number) for number in range(count)])


def numbers(app: ProbetuiApp) -> list[int]:
    """Return the numbers of the events in the list on the screen."""
    words = "event number "
    return [
        int(line[line.index(words) + len(words) :][:5])
        for line in screen_lines(app)
        if words in line and "Tested" in line
    ]


def copied(app: ProbetuiApp) -> str:
    return app.clipboard


async def test_every_line_is_listed_from_the_beginning() -> None:
    app = an_app(with_events(1000))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v")
        await pilot.pause()

        assert "1000 shown of 1000" in screen_text(app)
        assert numbers(app)[-1] == 999


async def test_new_lines_are_added_once() -> None:
    session = FakeSession(with_events(10))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v")
        session.publish(session.snapshot, an_event(10))
        await pilot.pause()
        session.publish(session.snapshot, an_event(11))
        await pilot.pause()

        assert numbers(app)[-3:] == [9, 10, 11]
        assert "12 shown of 12" in screen_text(app)


@pytest.mark.parametrize("key", ["escape", "q"])
async def test_the_screen_is_left_for_the_panes(key: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", key)
        await pilot.pause()

        assert "1 Containers" in screen_text(app)
        assert app.is_running


async def test_the_selected_event_is_shown_with_the_effect_of_its_tick() -> None:
    app = an_app(on_hold())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", *"kk")
        await pilot.pause()

        shown = screen_text(app)
        assert "acted: run 3 of 3 -> stored result Failure" in shown
        assert "liveness tick #23" in shown


async def test_the_selected_event_is_shown_as_a_cluster_aggregates_it() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "k")
        await pilot.pause()

        assert "a cluster combines 2 of these into one:" in screen_text(app)
        assert "Warning  Unhealthy  2s (x2 over 7s)  kubelet" in screen_text(app)


async def test_the_list_keeps_its_height_for_any_selection() -> None:
    entries = [
        an_event(1),
        an_event(2, message="a long message " * 40),
        *(an_event(number) for number in range(3, 60)),
    ]
    app = an_app(a_snapshot(demo(), entries=entries))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "g")
        await pilot.pause()
        first = len(numbers(app))
        await pilot.press("j")
        await pilot.pause()

        assert len(numbers(app)) == first - 1, "the long one has no number"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        pytest.param("00042", [42], id="plain"),
        pytest.param("0001[0-2]", [10, 11, 12], id="regex"),
        pytest.param("~evnu00042", [42], id="fuzzy"),
    ],
)
async def test_a_filter_keeps_matching_lines(typed: str, shown: list[int]) -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "slash", *typed)
        await pilot.pause()

        assert numbers(app) == shown
        assert f"{len(shown)} of 100" in screen_lines(app)[-1]


async def test_an_inverse_filter_keeps_all_others() -> None:
    app = an_app(with_events(10))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "slash", *"!0000[1-8]")
        await pilot.pause()

        assert numbers(app) == [0, 9]


async def test_an_invalid_regular_expression_is_reported_while_it_is_typed() -> None:
    app = an_app(with_events(10))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "slash", *"event(")
        await pilot.pause()

        assert "not a regular expression" in screen_lines(app)[-1]
        assert numbers(app)[-1] == 9


async def test_a_filter_survives_new_lines_and_keeps_the_selection() -> None:
    session = FakeSession(with_events(100))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "slash", *"0[0-9]$|has", "enter", "g", "j")
        await pilot.pause()
        before = line_with(app, "┃>")
        session.publish(session.snapshot, an_event(100))
        await pilot.pause()

        assert line_with(app, "┃>") == before
        assert "1 new line, a follows" in screen_text(app)


async def test_a_line_stays_selected_when_a_filter_is_set_and_cleared() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "g", *["j"] * 10, "slash", *"00[0-9]0 ", "enter")
        await pilot.pause()
        under_filter = line_with(app, "┃>")
        await pilot.press("escape")
        await pilot.pause()

        assert "event number 00010" in under_filter
        assert line_with(app, "┃>") == under_filter


async def test_keys_go_to_matches_after_the_filter_is_cleared() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "slash", *"000[37]5", "enter", "escape", "g", "n")
        await pilot.pause()
        first = line_with(app, "┃>")
        await pilot.press("n")
        await pilot.pause()
        second = line_with(app, "┃>")
        await pilot.press("N")
        await pilot.pause()

        assert "00035" in first
        assert "00075" in second
        assert line_with(app, "┃>") == first


async def test_the_mouse_wheel_stops_following_and_new_lines_are_counted() -> None:
    session = FakeSession(with_events(100))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v")
        await pilot.pause()
        turn_the_wheel(app.screen.query_one(EventPane), -1)
        await pilot.pause()
        before = numbers(app)
        session.publish(session.snapshot, *map(an_event, range(100, 103)))
        await pilot.pause()
        stays = numbers(app)
        await pilot.press("a")
        await pilot.pause()

        assert stays == before
        assert numbers(app)[-1] == 102
        assert "follow on" in screen_text(app)


async def test_long_messages_are_wrapped_and_stay_in_their_column() -> None:
    message = " ".join(f"word{number}" for number in range(40))
    entries = [an_event(1, message=message), an_event(2)]
    app = an_app(a_snapshot(demo(), entries=entries))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "W")
        await pilot.pause()

        column = line_with(app, "word0 ").index("word0")
        assert line_with(app, "word39")
        assert line_with(app, "word9 ").index("word") == column


async def test_keys_move_by_entry_through_wrapped_lines() -> None:
    entries = [
        an_event(number, message=f"event number {number:05} " + "long " * 60)
        for number in range(50)
    ]
    app = an_app(a_snapshot(demo(), entries=entries))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "W", "g", "j", "j")
        await pilot.pause()
        third = line_with(app, "┃>")
        await pilot.press("pagedown")
        await pilot.pause()
        later = line_with(app, "┃>")
        await pilot.press("G")
        await pilot.pause()

        assert "00002" in third
        assert numbers_in(later) > 2
        assert "00049" in line_with(app, "┃>")


async def test_a_click_on_a_wrapped_line_selects_its_entry() -> None:
    entries = [
        an_event(number, message=f"event number {number:05} " + "long " * 60)
        for number in range(5)
    ]
    app = an_app(a_snapshot(demo(), entries=entries))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "W", "g")
        await pilot.pause()
        lines = screen_lines(app)
        second = next(y for y, line in enumerate(lines) if "00001" in line)
        await pilot.click(offset=(60, second + 1))
        await pilot.pause()

        assert "00001" in line_with(app, "┃>")


def numbers_in(line: str) -> int:
    words = "event number "
    return int(line[line.index(words) + len(words) :][:5])


async def test_lines_that_no_cluster_shows_can_be_hidden() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("colon", *"events cluster", "enter")
        await pilot.pause()

        assert "4 shown of 7" in screen_text(app)
        assert "  state " not in screen_text(app)


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("v", "F"), id="by key"),
        pytest.param(("colon", *"events folded", "enter"), id="by name"),
    ],
)
async def test_events_can_be_shown_aggregated_as_in_a_cluster(
    keys: tuple[str, ...],
) -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert "3 shown for 4 events" in screen_text(app)
        row = line_with(app, "2s (x2 over 7s)")
        assert "Warning Unhealthy  pod/demo     Liveness probe failed" in row


async def test_a_cluster_drops_what_exceeds_its_allowance_and_it_is_counted() -> None:
    entries = [
        an_event(number, EventType.WARNING, "always the same") for number in range(40)
    ]
    now = [
        replace(entry, at=NOW, event=replace(entry.event, at=NOW)) for entry in entries
    ]
    app = an_app(a_snapshot(demo(), entries=now))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v")
        await pilot.pause()
        every = screen_text(app)
        await pilot.press("F")
        await pilot.pause()

        assert "1 shown of 40" in every
        assert "a cluster drops this event" in every
        assert "15 dropped by the spam filter" in screen_text(app)


async def test_the_folded_list_is_filtered_too() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "F", "slash", *"backoff", "enter")
        await pilot.pause()

        assert "(1 of 3)" in screen_text(app)
        assert "Unhealthy" not in screen_text(app)


async def test_events_of_one_pod_can_be_shown_alone() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "0")
        await pilot.pause()
        alone = screen_text(app)
        await pilot.press("0")
        await pilot.pause()

        assert "only demo" in alone
        assert "shop/worker" not in alone
        assert "all pods" in screen_text(app)
        assert "shop/worker" in screen_text(app)


async def test_enter_goes_to_the_container_and_probe_of_the_tick() -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("j", "j", "j", "v", "k", "enter")
        await pilot.pause()

        assert "▌ demo/liveness" in screen_text(app)
        assert "   demo/liveness  [liveness]" in screen_text(app)


async def test_enter_goes_to_the_tick_itself() -> None:
    story = stopping()
    ticks = [entry for entry in story.entries if isinstance(entry, TickEntry)]
    killer = next(tick for tick in ticks if tick.action is TickAction.KILL)
    session = FakeSession(story)
    app = an_app(session)
    async with app.run_test(size=(200, 50)) as pilot:
        session.publish(story, unhealthy(killer))
        await pilot.press("v", "enter")
        await pilot.pause()

        assert f"tick #{killer.n} " in screen_text(app)
        output = killer.attempts[-1].output.strip()[:20]
        headline = screen_text(app).splitlines()[1:6]
        assert [row for row in headline if output in row]


async def test_enter_on_a_line_about_nothing_stays() -> None:
    entry = StateEntry(1, NOW, DEMO.uid, "", "", StateField.PHASE, "Pending", "Running")
    app = an_app(a_snapshot(demo(), entries=[entry]))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "enter")
        await pilot.pause()

        assert "1 shown of 1" in screen_text(app)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        pytest.param(
            ("v", "k", "c"),
            "08:21:05.1 Warning Unhealthy demo/liveness [2/3 ignored] Liveness probe",
            id="a line",
        ),
        pytest.param(
            ("v", "k", "C"),
            "  Warning  Unhealthy  2s (x2 over 7s)  kubelet  Liveness probe failed",
            id="as kubectl describes it",
        ),
        pytest.param(
            ("v", "c"), "state backoff shop/worker", id="what a cluster does not show"
        ),
        pytest.param(
            ("v", "F", "k", "c"), "2s (x2 over 7s)  Warning  Unhealthy", id="folded"
        ),
        pytest.param(
            ("v", "F", "k", "C"),
            "  Warning  Unhealthy  2s (x2 over 7s)  kubelet",
            id="folded, as kubectl describes it",
        ),
    ],
)
async def test_a_line_is_copied(keys: tuple[str, ...], words: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=TALL) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert words in copied(app)


async def test_a_key_changes_the_time_format() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "u")
        await pilot.pause()

        assert "time: since start" in screen_text(app)
        assert "+3m00.1s" in screen_text(app)


async def test_the_screen_can_be_tiny() -> None:
    app = an_app(a_snapshot(demo(), shop(), entries=failing().entries))
    async with app.run_test(size=(50, 12)) as pilot:
        await pilot.press("v")
        await pilot.pause()

        assert "✗ 1/3  2/3" in screen_text(app)
        assert "┏" not in screen_text(app)


async def test_another_log_replaces_the_lines() -> None:
    app = an_app(with_events(3))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v")
        await pilot.pause()
        screen = app.screen.query_one(EventPane)
        view_model = app.ui_state.view_model
        another = EventLineBuffer()
        another.extend(list(view_model.log)[:1])
        screen.read(
            another,
            view_model.counts,
            view_model.view,
        )

        assert screen.count() == 1


@pytest.fixture
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the guaranteed newest lines to twenty."""
    monkeypatch.setattr(EventLineBuffer.__init__, "__defaults__", (20,))


@pytest.mark.usefixtures("few_lines")
async def test_old_lines_are_dropped_with_a_message_if_there_are_too_many() -> None:
    session = FakeSession(with_events(15))
    app = an_app(session)
    async with app.run_test(size=(120, 40)) as pilot:
        session.publish(session.snapshot, *map(an_event, range(15, 30)))
        await pilot.pause()
        main = line_with(app, "Events")
        await pilot.press("v")
        await pilot.pause()

        assert "10 older dropped" in main
        assert "20 shown of 20, 10 older dropped" in screen_text(app)
        assert numbers(app)[0] == 10


@pytest.mark.usefixtures("few_lines")
async def test_the_selected_line_is_kept_while_older_ones_are_dropped() -> None:
    session = FakeSession(with_events(15))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "up", "up")
        before = app.screen.query_one(EventPane).chosen_line
        session.publish(session.snapshot, *map(an_event, range(15, 30)))
        await pilot.pause()
        after = app.screen.query_one(EventPane).chosen_line

    assert before is not None
    assert after == before


@pytest.mark.usefixtures("few_lines")
async def test_a_filter_still_matches_after_old_lines_are_dropped() -> None:
    session = FakeSession(with_events(15))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "slash", *"0001")
        await pilot.press("enter")
        session.publish(session.snapshot, *map(an_event, range(15, 30)))
        await pilot.pause()

        assert numbers(app) == list(range(10, 20))


async def test_ticks_are_buffered_while_a_user_reads() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "space")
        session.publish(replace(session.snapshot, is_paused=True))
        await pilot.pause()
        footer = screen_lines(app)[-1]

    assert session.sent == [PauseProbes()]
    assert "space resume" in footer


async def test_w_explains_the_tick_of_the_selected_line() -> None:
    story = stopping()
    ticks = [entry for entry in story.entries if isinstance(entry, TickEntry)]
    killer = next(tick for tick in ticks if tick.action is TickAction.KILL)
    session = FakeSession(story)
    app = an_app(session)
    async with app.run_test(size=TALL) as pilot:
        session.publish(story, unhealthy(killer))
        await pilot.press("v", "w")
        await pilot.pause()

        assert f"Tick #{killer.n}, liveness of demo" in screen_text(app)


async def test_w_on_a_line_without_a_container_explains_the_selected_container() -> (
    None
):
    app = an_app(with_events(0))
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v", "w")
        await pilot.pause()

        assert "Why  demo/liveness" in screen_text(app)


async def test_home_and_end_go_to_the_first_line_and_follow() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("v", "home")
        await pilot.pause()
        first = numbers(app)[0]
        await pilot.press("end")
        await pilot.pause()

        assert first == 0
        assert numbers(app)[-1] == 99
        assert "follow on" in screen_text(app)


async def test_the_current_keys_for_a_line_are_shown_below_it() -> None:
    app = an_app(failing(), keymap={"look.jump": "J"})
    async with app.run_test(size=TALL) as pilot:
        await pilot.press("v")
        await pilot.pause()

        assert "J jumps to the tick   c copies the line" in screen_text(app)


async def test_rows_are_whole_above_the_detail_where_there_is_room() -> None:
    gallery: Any = importlib.import_module("tools.gallery")

    shown = await gallery.draw(gallery.STATES["errored"], "events", (120, 40), "dark")

    assert not shown.measures.cut_beside_room
