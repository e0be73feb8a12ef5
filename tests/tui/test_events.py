"""The event log on the screen."""

from __future__ import annotations

import importlib
import re
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.engine.snapshot import Snapshot
from probetui.k8s.event import Event, EventType
from probetui.kubelet.journal import EventEntry, NoteEntry
from probetui.tui.panes.event_pane import EventPane
from tests.ticks import DEMO_KEY, LIVENESS, NOW, demo_ticks, history
from tests.tui.app_harness import (
    an_app,
    an_app_of_cards,
    line_with,
    screen_lines,
    screen_text,
    turn_the_wheel,
)
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, unhealthy
from tests.tui.snapshots import (
    DEMO,
    a_container_snapshot,
    a_pod_snapshot,
    a_snapshot,
    demo,
    shop,
)

SIZE = (80, 24)


def an_event(number: int, type_: EventType = EventType.NORMAL) -> EventEntry:
    message = f"event number {number:04} has happened"
    at = NOW + timedelta(seconds=number)
    event = Event(type_, "Tested", message, DEMO.uid, "", at, "liveness")
    return EventEntry(number, at, event)


def with_events(count: int) -> Snapshot:
    return a_snapshot(demo(), entries=[an_event(number) for number in range(count)])


def numbers(lines: list[str]) -> list[int]:
    """Return the numbers of the events on the screen."""
    words = "event number "
    return [
        int(line[line.index(words) + len(words) :][:4])
        for line in lines
        if words in line
    ]


async def test_the_newest_lines_are_visible() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE):
        shown = numbers(screen_lines(app))

    assert shown == list(range(100 - len(shown), 100))


@pytest.mark.parametrize(
    ("folder", "width", "begins"),
    [
        pytest.param(
            "", 240, "note  pod.yaml:9:48: spec.containers[0].live", id="room"
        ),
        pytest.param(
            "", 80, "note  pod.yaml:9:48: …livenessProbe.period", id="no room"
        ),
        pytest.param(
            "/home/me/my shop/manifests/",
            80,
            "note  …/pod.yaml:9:48: …livenessProbe",
            id="in a folder",
        ),
    ],
)
async def test_the_position_in_a_manifest_is_never_cut(
    folder: str, width: int, begins: str
) -> None:
    text = (
        f"{folder}pod.yaml:9:48: spec.containers[0].livenessProbe.periodSeconds: "
        "is -3, must be greater than or equal to 0"
    )
    note = NoteEntry(1, NOW, text, is_fault=True)
    app = an_app(a_snapshot(demo(), shop(), entries=[note]))
    async with app.run_test(size=(width, 40)):
        (shown,) = (line for line in screen_lines(app) if "pod.yaml" in line)

    assert begins in shown
    assert "livenessProbe.periodSeconds: is -3" in shown


async def test_the_log_follows() -> None:
    session = FakeSession(with_events(100))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(session.snapshot, an_event(100), an_event(101))
        await pilot.pause()

        assert numbers(screen_lines(app))[-1] == 101
        assert "3 Events  follow " in screen_text(app)


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("k",), id="up"),
        pytest.param(("pageup",), id="page up"),
        pytest.param(("g",), id="top"),
    ],
)
async def test_following_stops_when_older_lines_are_selected(
    keys: tuple[str, ...],
) -> None:
    session = FakeSession(with_events(100))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", *keys)
        await pilot.pause()
        before = numbers(screen_lines(app))
        session.publish(session.snapshot, *map(an_event, range(100, 103)))
        await pilot.pause()

        assert numbers(screen_lines(app)) == before
        assert "3 Events  follow off" in screen_text(app)
        assert "3 new lines, a follows" in screen_text(app)


@pytest.mark.parametrize("key", ["a", "end", "G"])
async def test_following_resumes_at_the_end(key: str) -> None:
    session = FakeSession(with_events(100))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "g")
        session.publish(session.snapshot, an_event(100))
        await pilot.pause()
        await pilot.press(key)
        await pilot.pause()

        assert numbers(screen_lines(app))[-1] == 100
        assert "new line" not in screen_text(app)
        assert "follow off" not in screen_text(app)


async def test_following_can_be_switched_off_in_place() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "a")
        await pilot.pause()

        assert "follow off" in screen_text(app)


async def test_following_stops_with_the_wheel() -> None:
    app = an_app(with_events(100))
    async with app.run_test(size=SIZE) as pilot:
        turn_the_wheel(app.screen.query_one(EventPane), -1)
        await pilot.pause()

        assert numbers(screen_lines(app))[-1] == 96
        assert "follow off" in screen_text(app)


async def test_no_event_is_lost_in_a_flood() -> None:
    session = FakeSession(with_events(0))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        for start in range(0, 1000, 100):
            events = [an_event(number) for number in range(start, start + 100)]
            session.publish(session.snapshot, *events)
        await pilot.pause()
        pane = app.screen.query_one(EventPane)

        assert pane.count() == 1000
        assert "Normal 1000" in screen_text(app)


async def test_faults_only_hides_all_but_warnings() -> None:
    story = failing()
    app = an_app(a_snapshot(demo(), shop(), entries=[*story.entries, an_event(0)]))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press("3", "f")
        await pilot.pause()
        faults = screen_text(app)
        await pilot.press("f")
        await pilot.pause()

        assert "warnings only" in faults
        assert "1/3  2/3" in faults
        assert "Tested" not in faults
        assert "Tested" in screen_text(app)


async def test_a_new_line_that_is_no_fault_is_not_counted_as_unseen() -> None:
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "f", "k")
        session.publish(session.snapshot, an_event(1))
        await pilot.pause()

        assert "new line" not in screen_text(app)


async def test_a_filter_of_the_events_leaves_the_lanes_alone() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "slash", *"back-off")
        await pilot.pause()

        assert "filter events /back-off" in screen_lines(app)[-1]
        assert "1 of 5" in screen_lines(app)[-1]
        assert "filter" not in line_with(app, "1 Containers")
        assert "▌ demo/liveness" in screen_text(app)


async def test_a_filter_of_the_lanes_filters_the_events_too() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"worker", "enter")
        await pilot.pause()
        filtered = screen_text(app)
        await pilot.press("escape")
        await pilot.pause()

        assert "3 Events  follow  of 1 container" in filtered
        assert "✗ 1/3" not in filtered
        assert "BACK-OFF" in filtered
        assert "✗ 1/3" in screen_text(app)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        pytest.param("1/3", "✗ 1/3  2/3", id="the headline"),
        pytest.param("no such file", "✗ 1/3  2/3", id="the message"),
        pytest.param("liveness .*1/3", "✗ 1/3  2/3", id="object and headline"),
    ],
)
async def test_a_filter_of_the_events_searches_what_is_seen(
    typed: str, shown: str
) -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("3", "slash", *typed, "enter")
        await pilot.pause()

        assert shown in screen_text(app)
        assert "(1 of 5)" in line_with(app, "3 Events")


async def test_a_filter_does_not_search_what_only_a_cluster_shows() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "slash", *"Unhealthy", "enter")
        await pilot.pause()

        assert "(0 of 5)" in line_with(app, "3 Events")


def a_pull_failure(number: int) -> EventEntry:
    at = NOW + timedelta(seconds=number)
    message = 'Failed to pull image "x": no such host'
    event = Event(EventType.WARNING, "Failed", message, DEMO.uid, "", at, "liveness")
    return EventEntry(number, at, event)


async def test_enter_unfolds_a_row_and_folds_it_again() -> None:
    app = an_app(a_snapshot(demo(), entries=[*map(a_pull_failure, range(1, 4))]))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("3")
        await pilot.pause()
        folded = screen_text(app)
        await pilot.press("enter")
        await pilot.pause()
        unfolded = screen_text(app)
        await pilot.press("enter")
        await pilot.pause()

        assert "PULL ×3" in folded
        assert "enter unfolds 3 rows" in folded
        assert "  Failed  " not in folded
        assert unfolded.count("  Failed  ") == 3
        assert "enter folds 3 rows" in unfolded
        assert "  Failed  " not in screen_text(app)


async def test_enter_on_a_row_that_is_not_folded_zooms_the_events() -> None:
    app = an_app(with_events(3))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "enter")
        await pilot.pause()

        assert "1 Containers" not in screen_text(app)


async def test_rows_in_sight_stay_while_a_row_above_moves_to_the_end() -> None:
    events = [an_event(number) for number in range(10, 60)]
    session = FakeSession(a_snapshot(demo(), entries=[a_pull_failure(1), *events]))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("3", "g", "pagedown", "pagedown")
        await pilot.pause()
        before = numbers(screen_lines(app))
        session.publish(session.snapshot, a_pull_failure(61))
        await pilot.pause()

        assert numbers(screen_lines(app)) == before


async def test_five_events_are_visible_at_80x24_with_any_number_of_containers() -> None:
    """Also beside a banner."""
    entries = [an_event(number) for number in range(100)]
    lost = NOW - timedelta(seconds=8)
    snapshot = a_snapshot(demo(), shop(), entries=entries, runtime_lost_since=lost)
    async with an_app_of_cards(snapshot).run_test(size=SIZE) as pilot:
        shown = numbers(screen_lines(pilot.app))

    assert shown[-5:] == list(range(95, 100))


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_a_run_of_failures_is_one_row_of_counts(size: tuple[int, int]) -> None:
    async with an_app(failing()).run_test(size=size) as pilot:
        line = line_with(pilot.app, "1/3  2/3")

    assert "✗ 1/3  2/3" in line
    assert "Liveness probe failed: cat" in line


async def test_the_object_is_omitted_if_there_is_only_one() -> None:
    tick = history(DEMO_KEY, LIVENESS, "|f", NOW)[-1]
    snapshot = a_snapshot(demo(), entries=[unhealthy(tick)])
    async with an_app(snapshot).run_test(size=SIZE) as pilot:
        line = line_with(pilot.app, "✗ 1/3 ")

    assert "demo/liveness" not in line


@pytest.mark.parametrize("size", [(50, 12), (80, 24), (120, 40)])
@pytest.mark.parametrize("keys", [(), ("v",)], ids=["main", "log"])
async def test_events_of_a_pod_name_no_object_if_only_one_container_runs(
    size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    of_the_pod = Event(EventType.WARNING, "Odd", "of the pod", DEMO.uid, "", NOW)
    app = an_app(
        a_snapshot(demo(), entries=[an_event(1), EventEntry(2, NOW, of_the_pod)])
    )
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        row = line_with(app, "of the pod")

    assert "demo" not in row


async def test_the_only_container_with_events_is_named_among_several() -> None:
    app = an_app(a_snapshot(demo(), shop(), entries=[an_event(1)]))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        lines = screen_lines(app)

    heading = next(line for line in lines if "MESSAGE" in line)
    assert "OBJECT" in heading


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        pytest.param(80, "service-12/frontends", id="whole at 80"),
        pytest.param(100, "service-12/frontends", id="whole at 100"),
        pytest.param(160, "service-12/frontends", id="whole at 160"),
    ],
)
async def test_an_object_is_not_cut_if_messages_leave_room(
    width: int, shown: str
) -> None:
    container = replace(DEMO.containers[0], name="frontends")
    pod = replace(DEMO, name="service-12", containers=(container,))
    event = Event(EventType.WARNING, "Odd", "at last", pod.uid, "", NOW, "frontends")
    app = an_app(
        a_snapshot(
            a_pod_snapshot(pod, a_container_snapshot(container)),
            shop(),
            entries=[EventEntry(1, NOW, event)],
        )
    )
    async with app.run_test(size=(width, 30)) as pilot:
        await pilot.pause()

        assert f" {shown} " in line_with(app, "at last")


async def test_changes_of_state_are_shown_while_all_rows_fit_or_a_key_wants() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 22)) as pilot:
        await pilot.pause()
        without_room = screen_text(app)
        await pilot.resize_terminal(80, 50)
        await pilot.pause()
        with_room = screen_text(app)
        await pilot.press("h")
        await pilot.pause()
        unwanted = screen_text(app)
        await pilot.press("h")
        await pilot.pause()

        assert "1 status change hidden" in without_room
        assert "hold released" not in without_room
        assert "hidden" not in with_room
        assert "hold released" in with_room
        assert "1 status change hidden" in unwanted
        assert "hidden" not in screen_text(app)


async def test_a_failure_grows_the_row_of_its_run() -> None:
    events = [unhealthy(tick) for tick in demo_ticks("|sfff")[-3:]]
    session = FakeSession(a_snapshot(demo(), entries=events[:1]))
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        for event in events[1:]:
            session.publish(session.snapshot, event)
        await pilot.pause()

        assert app.screen.query_one(EventPane).count() == 1
        assert "✗ 1/3  2/3  3/3" in screen_text(app)


async def test_events_can_be_limited_to_the_selected_pod() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("0", "j", "j")
        await pilot.pause()
        only_demo = screen_text(app)
        await pilot.press("0")
        await pilot.pause()
        all_pods = screen_text(app)

    assert "3 Events  follow  only demo" in only_demo
    assert "BACK-OFF" not in only_demo
    assert "only demo" not in all_pods
    assert "BACK-OFF 1m20s" in all_pods


async def test_as_many_status_changes_are_shown_as_have_room() -> None:
    gallery: Any = importlib.import_module("tools.gallery")

    shown = await gallery.draw(
        gallery.STATES["lesson-completed"], "main", (120, 40), "dark"
    )

    assert re.search(r"\d+ status changes hidden", shown.text)
    assert re.search(r"started +true -> false", shown.text)


async def test_events_of_containers_that_a_filter_hides_are_not_yet_to_come() -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"zzz")
        await pilot.pause()

        assert "No events of the containers that the filter keeps." in screen_text(app)
