"""Lanes on the main screen: past, now and future of all containers."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.lanes import LaneAxis, Lanes
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import NoteEntry
from probetui.presentation.lanes import (
    ASCII_LANES,
    UNICODE_LANES,
    LaneMarks,
    lane_line,
)
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from probetui.tui.options import ScreenOptions
from probetui.tui.panes.container_table import ContainerTable
from probetui.tui.panes.lane_view import styled_lane
from probetui.tui.styled_text import StyledLine, styled_line
from tests.tui.app_harness import (
    an_app,
    an_app_of_cards,
    line_with,
    screen_lines,
    screen_text,
)
from tests.tui.fake_session import FakeSession
from tests.tui.history_scenes import steady, stopping, waiting
from tests.tui.reading_scenes import logs
from tests.tui.scenes import empty, failing, gated, running
from tests.tui.snapshots import DEMO, a_snapshot
from tests.tui.test_containers import many, pods
from tests.tui.test_events import an_event, numbers

# Imported by name: beside the module that it imports is a folder of the same name.
gallery: Any = importlib.import_module("tools.gallery")

Compare = Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]

SIZE = (120, 40)


async def test_a_key_shows_lanes_and_the_same_key_the_cards_again() -> None:
    app = an_app_of_cards(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before = screen_text(app)
        await pilot.press("L")
        await pilot.pause()
        lanes = screen_text(app)
        await pilot.press("L")
        await pilot.pause()

        assert "READY START" in before
        assert "now" in lanes
        assert "READY START" not in lanes
        assert screen_text(app) == before


async def test_the_past_and_the_kill_to_come_are_on_one_axis() -> None:
    app = an_app_of_cards(steady(), ascii=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("L")
        await pilot.pause()
        heading = line_with(app, "now")
        (row,) = [line for line in screen_lines(app) if "> demo/liveness" in line]

    now = heading.index("now") + len("now") - 1
    assert "1" in row[:now]
    assert row[now + 1 :].count("k") == 1


async def test_keys_change_how_much_time_a_cell_stands_for() -> None:
    app = an_app_of_cards(steady())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("L")
        await pilot.pause()
        first = line_with(app, "per cell")
        await pilot.press("minus", "minus")
        await pilot.pause()
        longer = line_with(app, "per cell")
        await pilot.press("plus", "plus")
        await pilot.pause()

        assert "1s per cell" in first
        assert "5s per cell" in longer
        assert "1s per cell" in line_with(app, "per cell")


async def test_without_lanes_these_keys_do_nothing() -> None:
    app = an_app_of_cards(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before = screen_text(app)
        await pilot.press("minus", "plus")
        await pilot.pause()

        assert screen_text(app) == before


async def test_an_older_tick_is_marked_in_its_lane() -> None:
    app = an_app_of_cards(steady())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("L", "left", "left")
        await pilot.pause()
        strips = app.screen._compositor.render_strips()
        (row,) = [strip for strip in strips if "▌ demo/liveness" in strip.text]
        marked = [
            segment.text
            for segment in row
            if segment.style is not None and segment.style.reverse
        ]

        assert len("".join(marked)) == 1


async def test_the_axis_goes_back_to_a_tick_that_is_long_ago() -> None:
    app = an_app_of_cards(steady())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("L", *["left"] * 20)
        await pilot.pause()

        assert "now" not in line_with(app, "NAME")


async def test_keys_go_to_kills_and_restarts_and_back_to_now() -> None:
    app = an_app(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        now = screen_text(app)
        instants = []
        for key in ("N", "N", "n"):
            await pilot.press(key)
            await pilot.pause()
            instants.append(line_with(app, "probetui").partition(" AT ")[2][:8])
        await pilot.press("end")
        await pilot.pause()

        assert instants == ["08:20:30", "08:19:55", "08:20:30"]
        assert screen_text(app) == now


async def test_an_instant_of_the_past_stands_where_now_stood() -> None:
    app = an_app(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        assert "KILL IN 3.1s" in line_with(app, "FAILING")
        await pilot.press("N", "N")
        await pilot.pause()

        assert "AT 08:19:55 (1m11s ago)" in line_with(app, "probetui")
        assert "CONTAINER KILLED, PROBE ON HOLD" in line_with(app, "FAILING 3 of 3")
        assert "Stopping 0s" in line_with(app, "▌ demo/liveness")
        assert "08:19:55" in line_with(app, "Decision")
        assert "tick #9" in screen_text(app)


async def test_before_the_first_turn_there_is_none() -> None:
    app = an_app(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("N", "N", "N")
        await pilot.pause()

        assert [notification.message for notification in app._notifications] == [
            "There is no earlier kill, restart or flip."
        ]


async def test_with_a_filter_the_same_keys_go_to_its_matches() -> None:
    app = an_app(failing(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("slash", *"shop", "enter")
        await pilot.press("n")
        await pilot.pause()

        assert " AT " not in screen_text(app)
        assert app.ui_state.subject is not None
        assert app.ui_state.subject.pod.pod.name == "shop"


@pytest.mark.parametrize(
    ("pane", "row"),
    [
        pytest.param("#containers", 2, id="a container"),
        pytest.param("#ticks", 1, id="a probe"),
    ],
)
async def test_a_click_on_a_lane_looks_at_that_instant(pane: str, row: int) -> None:
    app = an_app(steady(), motion=False)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        heading = line_with(app, "-20s")
        twenty_ago = heading.index("-20s") + len("-20s") - 1
        await pilot.click(pane, offset=(twenty_ago, row))
        await pilot.pause()
        then = line_with(app, "probetui")
        await pilot.click(pane, offset=(heading.index("now") + 2, row))
        await pilot.pause()

        assert " AT 08:20:45 (21s ago)" in then
        assert " AT " not in line_with(app, "probetui")


async def test_the_past_stays_on_the_axis_while_probes_are_paused_for_long() -> None:
    paused = replace(steady(), is_paused=True)
    hours = timedelta(hours=3)
    app = an_app(replace(paused, taken_at=paused.taken_at + hours), ascii=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        (row,) = [line for line in screen_lines(app) if "> demo/liveness" in line]

    assert "222" in row


async def test_only_lanes_in_sight_are_drawn() -> None:
    drawn: set[int] = set()

    class Counting(ContainerTable):
        def row(self, index: int) -> StyledLine:
            drawn.add(index)
            return super().row(index)

    session = FakeSession(many(range(500)))
    app = an_app_of_cards(session)
    async with app.run_test(size=SIZE) as pilot:
        app.screen.query_one(ContainerTable).__class__ = Counting
        await pilot.press("L")
        session.publish(many(range(500)))
        await pilot.pause()

        assert 0 < len(drawn) < 40


@pytest.mark.parametrize("size", [(40, 10), (60, 16), (80, 24), (100, 30), (200, 60)])
@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(empty, id="empty"),
        pytest.param(failing, id="failing"),
        pytest.param(waiting, id="waiting"),
    ],
)
async def test_lanes_fit_into_every_size(
    scene: Callable[[], object], size: tuple[int, int]
) -> None:
    app = an_app_of_cards(scene())
    async with app.run_test(size=size) as pilot:
        await pilot.press("L")
        await pilot.pause()

        assert len(screen_lines(app)) == size[1]
        assert "Containers" in screen_text(app) or size < (60, 16)


async def test_lanes_can_be_shown_from_the_start() -> None:
    app = an_app(steady())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        text = screen_text(app)

        assert "per cell" in text
        # The card is above the list, the list above its probes, and these above why.
        plot = "liveness of demo/liveness"
        heads = ("liveness  [liveness]", "Containers", plot, "Why", "Events")
        places = [text.index(head) for head in heads]
        assert places == sorted(places)


@pytest.mark.sweep
class TestPictures:
    @pytest.mark.parametrize(
        "size",
        [
            pytest.param((80, 24), id="80x24"),
            pytest.param((120, 40), id="120x40"),
            pytest.param((200, 60), id="200x60"),
        ],
    )
    def test_a_container_that_fails(
        self, picture: Compare, size: tuple[int, int]
    ) -> None:
        assert picture(an_app_of_cards(steady()), size, ("L",))

    @pytest.mark.parametrize(
        "scene",
        [
            pytest.param(stopping, id="stopping"),
            pytest.param(waiting, id="waiting"),
            pytest.param(failing, id="several"),
        ],
    )
    def test_other_states(self, picture: Compare, scene: Callable[[], object]) -> None:
        assert picture(an_app_of_cards(scene()), SIZE, ("L",))

    def test_ascii(self, picture: Compare) -> None:
        assert picture(an_app_of_cards(stopping(), ascii=True), SIZE, ("L",))


async def test_five_events_are_seen_beside_a_hundred_containers_at_80x24() -> None:
    entries = [an_event(number) for number in range(50)]
    snapshot = a_snapshot(*pods(*range(100)), entries=entries)
    async with an_app(snapshot).run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        assert numbers(screen_lines(pilot.app))[-5:] == list(range(45, 50))


async def test_why_is_not_cut_beside_empty_rows() -> None:
    async with an_app(gated()).run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        text = screen_text(pilot.app)

        assert "the kubelet has not come to it" in text


@pytest.mark.parametrize("cursor", [None, 0, 30, 99], ids=str)
@pytest.mark.parametrize("also", ["", "cursor"], ids=["a row", "the chosen row"])
@pytest.mark.parametrize(
    "marks", [UNICODE_LANES, ASCII_LANES], ids=["unicode", "ascii"]
)
def test_a_lane_of_a_row_looks_as_its_spans_do(
    marks: LaneMarks, also: str, cursor: int | None
) -> None:
    snapshot = steady()
    lanes, (pod,) = Lanes(), snapshot.pods
    lanes.add_entries(snapshot.entries)
    axis = LaneAxis.around(snapshot.taken_at, 2, 60)
    cells = lanes.cells(axis, snapshot, pod, pod.containers[0]).container
    spans = styled_line(lane_line(cells, marks, cursor), also)

    drawn = styled_lane(cells, marks, cursor, also)

    looks = [
        [(character, look) for text, look in line for character in text]
        for line in (drawn, spans)
    ]
    assert looks[0] == looks[1]
    assert len(drawn) > 3


async def why_of(snapshot: Snapshot, size: tuple[int, int], *keys: str) -> list[str]:
    """Return the rows of the reason, with its title in the first one."""
    app = an_app(snapshot)
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        pane = app.screen.query_one("#why")
        return [
            row.strip()
            for row in screen_lines(app)[pane.region.y :][: pane.size.height]
        ]


async def test_why_is_the_chain_of_causes_with_what_comes_next_below() -> None:
    title, *chain = await why_of(steady(), (120, 40))

    assert title.startswith("Why")
    assert chain[0].startswith(
        "demo/liveness is up, and its liveness probe failed 2 of 3"
    )
    assert chain[1].startswith("└ the probe gave exit 1 after 34ms")
    assert chain[2].startswith("next: One more failure, and it is killed, at 08:21:")
    assert chain[3].startswith("08:21:05.1  second failure in a row")


async def test_beside_the_events_the_chain_of_causes_is_whole() -> None:
    rows = await why_of(steady(), (160, 45))
    chain = " ".join(" ".join(row[:61] for row in rows[1:]).split())

    assert "…" not in chain
    assert "cat: can't open '/tmp/healthy': No such file or directory" in chain
    assert chain.endswith("3 are needed, so nothing was done.")


async def test_on_one_row_why_does_not_repeat_what_the_probe_printed() -> None:
    (row,) = await why_of(steady(), (80, 24))

    assert row.startswith("Why  08:21:05.1  second failure in a row; 3 are needed")


async def test_on_one_row_a_well_container_has_its_last_tick() -> None:
    (row,) = await why_of(running(), (80, 24))

    assert "success" in row


async def test_cards_have_the_reason_of_the_last_tick() -> None:
    shown = await why_of(steady(), (120, 40), "L")

    assert "second failure in a row" in shown[1]


@pytest.mark.parametrize("size", [(160, 45), (200, 60)])
async def test_events_stand_beside_why_and_output_where_there_is_room(
    size: tuple[int, int],
) -> None:
    app = an_app(steady(), host=HostServices(logs=logs()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        why, output, events, trace, facts = (
            app.screen.query_one(f"#{name}").region
            for name in ("why", "output", "events", "trace", "facts")
        )
        assert why.x == output.x == 0
        assert events.x == why.right == output.right
        # On the larger one settings and the decision trace are below them.
        assert events.y == why.y
        assert events.bottom == output.bottom
        assert trace.bottom == facts.bottom


async def test_what_the_probe_printed_is_there_without_logs() -> None:
    app = an_app(steady())
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.pause()

        output = app.screen.query_one("#output").region
        shown = screen_lines(app)[output.y + 1]
        assert shown.strip().startswith("probe #")
        assert "container log" not in screen_text(app)


async def test_a_tall_terminal_has_the_decision_trace_and_its_key_goes_there() -> None:
    app = an_app(steady(), host=HostServices(logs=logs()))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("5")
        await pilot.pause()

        events, trace, output = (
            app.screen.query_one(f"#{name}").region
            for name in ("events", "trace", "output")
        )
        assert app.focused is not None
        assert app.focused.id == "trace"
        assert (trace.x, trace.y) == (events.x, events.bottom)
        assert events.bottom == output.bottom
        assert "threshold 3" in screen_text(app)


async def test_a_warning_of_the_start_marks_the_row_of_its_pod() -> None:
    note = NoteEntry(1, failing().taken_at, "warning: no limits", pod_uid=DEMO.uid)
    session = FakeSession(failing())
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        session.publish(failing(), note)
        await pilot.pause()

        assert "demo/liveness ~ " in line_with(app, "▌ demo/liveness")
        assert "~" not in line_with(app, "shop/worker").split("Back-off")[0]
        told = line_with(app, "no limits")
        assert told.split()[1:] == ["demo", "!", "warning", "no", "limits"]


async def test_a_container_without_probes_has_its_instances_and_waits() -> None:
    session = gallery.session_of("back-off")
    session.run_for(timedelta(seconds=30.4))
    app = ProbetuiApp(session, options=ScreenOptions(motion=False))
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        text = screen_text(app)

    assert "Instances of back-off/app  and the waits after them" in text
    assert "restarted at once" in text
    assert "10s of back-off, restarted after 13s" in text
    assert "now: in 9.0s to 20s" in text
    assert "2m40s, and so on up to 5m00s" in text
    assert "#5 from 00:01:21" in text
    # The settings and the latest status have the place of the decision.
    assert "Settings and status" in text
    assert "Restart Count:  2" in text
    assert "Decision trace" not in text
    assert "5 Pod  back-off" in text
    assert "ContainersReady" in text


async def test_below_the_waits_is_what_decides_over_the_next_restart() -> None:
    back_off = await _drawn("lesson-back-off", (120, 40))
    completed = await _drawn("lesson-init-container", (200, 60), "g")

    assert "Always: each exit is followed by a restart; exit 1 restarts it" in back_off
    assert "none at first, then 10s, twice as long each time, 5m00s at most" in back_off
    assert "exits more than 10 minutes after its start, and by R" in back_off
    assert "20% of the time: 6.0s of 30s" in back_off
    assert "until it exits with 0; exit 0 does not restart it" in completed
    assert "twice as long" not in completed
    assert "2 app     Running 11s, once schema has exited with 0" in completed


async def test_beside_a_plot_is_what_its_probe_has_counted() -> None:
    text = await _drawn("lesson-past", (120, 40))

    assert re.search(r"succeeded +20 ", text)
    assert re.search(r"noticed in +2s to 4s ", text)
    assert re.search(r"median +5ms ", text)


async def test_what_the_headline_says_is_not_the_only_reason_given() -> None:
    text = await _drawn("two-of-three", (100, 30))

    assert text.count("the server itself reports a failure") == 1
    assert "next: One more failure, and it is killed" in text


async def _drawn(name: str, size: tuple[int, int], *keys: str) -> str:
    state = gallery.STATES[name]
    state = state._replace(keys=(*state.keys, *keys))
    shown = await gallery.draw(state, "main", size, "dark")
    text: str = shown.text
    return text


async def test_a_cause_that_has_no_room_ends_in_an_ellipsis() -> None:
    text = await _drawn("twelve", (160, 45))

    assert "exceeded (Client.Timeout exceeded while awaiting…" in text
    assert "skipped: on hold until the container has… " in await _drawn(
        "killing", (160, 45)
    )
    assert "Warning 55" in text
