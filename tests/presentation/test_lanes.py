"""Lanes: what they draw for ticks, lives, and what comes next.

They are drawn in ASCII, where the height of a failure is a digit: `-` is a success, `_`
the time after it, `.` no probe, `K` a kill, `k` one to come, `%` the grace period, `X`
an exit, `~` a wait, `=` the range of a restart, `|` a start.
"""

from __future__ import annotations

import importlib
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.analysis.lanes import (
    MOST_LATENCIES,
    CellKind,
    ContainerLanes,
    LaneAxis,
    LaneCell,
    Lanes,
    ProbeLane,
    TimedRun,
    fitting_cell_seconds,
    instant,
    worst,
)
from probetui.engine.snapshot import Snapshot
from probetui.kubelet.journal import TickEntry
from probetui.presentation.lanes import (
    ASCII_LANES,
    UNICODE_LANES,
    LaneMarks,
    LatencyCell,
    axis_line,
    lane_line,
    lane_span,
    plot_lines,
    slowest_probes,
)
from probetui.presentation.text.spans import Role, text_of
from tests.ticks import NOW, changed_tick, demo_ticks
from tests.tui.history_scenes import steady, stopping, waiting

# Imported by name: beside the module that it imports is a folder of the same name.
gallery: Any = importlib.import_module("tools.gallery")

WIDTH = 40


def drawn_ticks(letters: str, cell_seconds: float = 5.0, width: int = WIDTH) -> str:
    """Return the past of a probe that ticks every five seconds, the last one now."""
    lane = ProbeLane()
    for tick in demo_ticks(letters):
        lane.add(changed_tick(tick, period_seconds=5))
    axis = LaneAxis.around(NOW, cell_seconds, width)
    return text_of(lane_line(lane.cells(axis), ASCII_LANES)).strip()


def drawn(snapshot: Snapshot, cell_seconds: float = 5.0) -> tuple[str, str]:
    """Return the lanes of a scene's container and of its only probe."""
    lanes = Lanes()
    lanes.add_entries(snapshot.entries)
    axis = LaneAxis.around(snapshot.taken_at, cell_seconds, WIDTH)
    (pod,) = snapshot.pods
    cells = lanes.cells(axis, snapshot, pod, pod.containers[0])
    (probe,) = cells.probes
    shown = (lane_line(lane, ASCII_LANES) for lane in (cells.container, probe))
    container, liveness = map(text_of, shown)
    return container, liveness


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        pytest.param("ssss", "----", id="successes are flat"),
        pytest.param("ssfff", "--123", id="failures grow with their run"),
        pytest.param("fffff", "12333", id="no higher than the threshold"),
        pytest.param("sses", "--!-", id="an error is marked"),
        pytest.param("shhg", "-...", id="what does not probe has no height"),
        pytest.param("ffs", "12-", id="a success ends a run"),
    ],
)
def test_a_lane_has_one_cell_for_each_tick(letters: str, expected: str) -> None:
    assert drawn_ticks(letters) == expected


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        pytest.param("ss", "-____-", id="after a success"),
        pytest.param("sff", "-____111112", id="after a failure"),
        pytest.param("ffe", "1111122222!", id="an error leaves the line as it was"),
    ],
)
def test_a_result_is_held_until_the_next_tick(letters: str, expected: str) -> None:
    assert drawn_ticks(letters, cell_seconds=1) == expected


def test_only_failures_are_counted_towards_a_threshold() -> None:
    lane = ProbeLane()
    for tick in demo_ticks("swegff"):
        lane.add(changed_tick(tick, period_seconds=5))

    cells = lane.cells(LaneAxis.around(NOW, 5.0, WIDTH))

    heights = [(cell.level, cell.threshold) for cell in cells if cell.is_tick]
    assert heights == [(0, 0)] * 4 + [(1, 3), (2, 3)]


def test_what_a_user_did_is_told_from_what_the_kubelet_did() -> None:
    lane = ProbeLane()
    first, second, third, fourth = demo_ticks("ssss")
    lane.add(first)
    lane.add(changed_tick(second, injected=True))
    lane.add(changed_tick(third, delay=timedelta(seconds=1)))
    lane.add(fourth)

    cells = lane.cells(LaneAxis.around(NOW, 5.0, WIDTH))

    ticked = [cell.is_by_user for cell in cells if cell.is_tick]
    assert ticked == [False, True, True, False]


def test_a_result_is_held_for_two_periods_at_the_most() -> None:
    lane = ProbeLane()
    for tick in demo_ticks("sf"):
        lane.add(changed_tick(tick, period_seconds=2))
    axis = LaneAxis.around(NOW + timedelta(seconds=10), 1.0, WIDTH)

    drawn = text_of(lane_line(lane.cells(axis), ASCII_LANES))

    assert drawn.strip() == "-____11111"


def test_what_began_before_the_axis_is_seen_on_it() -> None:
    lane = ProbeLane()
    for tick in demo_ticks("s" * 100 + "f"):
        lane.add(changed_tick(tick, period_seconds=5))

    line = text_of(lane_line(lane.cells(LaneAxis.around(NOW, 5, 8)), ASCII_LANES))

    assert line == "-----1  "


@pytest.mark.parametrize(
    ("span", "width", "cell"),
    [
        pytest.param(1, 40, 0.5, id="the shortest"),
        pytest.param(15, 40, 0.5, id="just in"),
        pytest.param(15.1, 40, 1.0, id="no longer"),
        pytest.param(3_000, 40, 300.0, id="an hour"),
        pytest.param(1e9, 40, 1800.0, id="longer than any"),
        pytest.param(2, 1, 2.0, id="one cell"),
    ],
)
def test_a_session_has_the_shortest_cells_in_which_it_fits(
    span: float, width: int, cell: float
) -> None:
    assert fitting_cell_seconds(span, width) == cell


def test_a_cell_ends_where_the_next_one_begins_and_no_later_than_now() -> None:
    axis = LaneAxis.around(NOW, 5, WIDTH)

    assert axis.end_of(0).timestamp() == axis.start + 5 == axis.begin(1)
    assert axis.end_of(axis.now_index) == NOW
    assert axis.end_of(WIDTH - 1) == NOW
    assert axis.end == axis.begin(WIDTH)
    assert instant(axis.now) == NOW
    assert axis.index(axis.end) == WIDTH


def test_a_cell_shows_the_worst_of_its_ticks() -> None:
    assert drawn_ticks("ssfsssss", cell_seconds=10) == "-1--"


def test_a_day_of_equal_ticks_is_one_stretch() -> None:
    lane = ProbeLane()
    (tick,) = demo_ticks("s")
    for number in range(10_000):
        at = NOW - timedelta(seconds=10_000 - number)
        lane.add(changed_tick(tick, started_at=at))

    assert len(lane._stretches) == 1  # what the room it takes depends on
    axis = LaneAxis.around(NOW, 300, 40)
    past = text_of(lane_line(lane.cells(axis), ASCII_LANES)).strip()
    assert set(past) == {"-"}


@pytest.mark.parametrize("cell_seconds", [0.5, 1, 2, 5, 10, 30, 60])
def test_no_failure_is_lost_however_long_a_cell_is(cell_seconds: float) -> None:
    assert "3" in drawn_ticks("sssssssfff", cell_seconds)


def test_a_probe_that_fails_is_seen_to_be_killed_next() -> None:
    container, liveness = drawn(steady())

    assert container == "      |------12K%%%%%X------12k         "
    assert liveness == "       ------123......------12k         "


def test_a_kill_comes_by_as_many_failures_as_are_missing() -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    patient = replace(probe, probe=replace(probe.probe, failure_threshold=5))
    container = replace(pod.containers[0], probes=(patient,))
    scene = replace(scene, pods=(replace(pod, containers=(container,)),))

    _, liveness = drawn(scene)

    assert liveness == "       ------123......------1234k       "


@pytest.mark.parametrize(
    ("threshold", "seconds", "expected"),
    [
        pytest.param(3, 0.4, "12k         ", id="its failure kills"),
        # Its failure and the next one share a cell.
        pytest.param(5, 0.4, "124k        ", id="its failure counts"),
        pytest.param(6, 60, "125k        ", id="it takes longer than its period"),
    ],
)
def test_what_comes_is_seen_while_a_probe_is_in_flight(
    threshold: int, seconds: float, expected: str
) -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    probe = replace(
        probe,
        probe=replace(probe.probe, failure_threshold=threshold),
        in_flight_since=scene.taken_at - timedelta(seconds=seconds),
        next_tick_at=None,
    )
    container = replace(pod.containers[0], probes=(probe,))
    scene = replace(scene, pods=(replace(pod, containers=(container,)),))

    _, liveness = drawn(scene)

    assert liveness == f"       ------123......------{expected}"


def test_the_past_alone_has_the_same_cells_and_nothing_to_come() -> None:
    scene = steady()
    lanes = Lanes()
    lanes.add_entries(scene.entries)
    axis = LaneAxis.around(scene.taken_at, 5.0, WIDTH)
    (pod,) = scene.pods
    name = pod.containers[0].container.name

    past = lanes.past(axis, pod.pod.uid, name)

    shown = [
        text_of(lane_line(lane, ASCII_LANES)) for lane in (past.container, *past.probes)
    ]
    assert shown == [
        "      |------12K%%%%%X------12          ",
        "       ------123......------12          ",
    ]
    assert lanes.probes(pod.pod.uid, name) == [pod.containers[0].probes[0].key]
    assert lanes.past(axis, pod.pod.uid, "other").probes == []


def test_a_kill_is_followed_by_its_grace_period_and_the_exit() -> None:
    container, liveness = drawn(stopping())

    assert container == "    |------12K%%%%%X------12K%%%%%X     "
    assert liveness == "     ------123......------123.          "


def test_a_restart_after_a_back_off_is_a_range_and_no_instant() -> None:
    scene = waiting()
    (pod,) = scene.pods
    backoff = pod.containers[0].backoff
    assert backoff is not None
    assert backoff.until is not None
    later = replace(backoff, latest=backoff.until + timedelta(seconds=10))
    container = replace(pod.containers[0], backoff=later)
    scene = replace(scene, pods=(replace(pod, containers=(container,)),))

    lane, _ = drawn(scene)

    assert lane == "    |------12K%%%%%X.-------X~~~~==     "


def test_a_container_waits_from_its_exit_on_not_from_now_on() -> None:
    lane, _ = drawn(waiting(), 1.0)

    _, after_exit = lane.split("X")
    assert set(after_exit.rstrip()) == {"~"}


def test_nothing_comes_while_probes_are_paused() -> None:
    container, liveness = drawn(replace(steady(), is_paused=True))

    now = LaneAxis.around(steady().taken_at, 5, WIDTH).now_index
    assert not container[now + 1 :].strip()
    assert not liveness[now + 1 :].strip()


def test_what_is_worse_hides_what_is_better() -> None:
    calm, failing = LaneCell(CellKind.CALM), LaneCell(CellKind.FAILING, 1, 3)
    worse, kill = LaneCell(CellKind.FAILING, 2, 3), LaneCell(CellKind.KILL)

    assert worst([failing, calm]) is failing
    assert worst([failing, worse, calm]) is worse
    assert worst([kill, worse]) is kill
    assert worst([]).kind is CellKind.EMPTY


@pytest.mark.parametrize(
    ("level", "role"), [(1, Role.WARNING), (2, Role.WARNING), (3, Role.ERROR)]
)
def test_a_failure_is_red_only_at_the_threshold(level: int, role: Role) -> None:
    cell = LaneCell(CellKind.FAILING, level, 3, is_tick=True)

    assert lane_span(cell, UNICODE_LANES).role is role


def test_what_is_held_or_still_to_come_is_faint() -> None:
    tick = LaneCell(CellKind.FAILING, 1, 3, is_tick=True)

    assert not lane_span(tick, UNICODE_LANES).is_faint
    assert lane_span(replace(tick, is_tick=False), UNICODE_LANES).is_faint
    assert lane_span(replace(tick, is_future=True), UNICODE_LANES).is_faint


@pytest.mark.parametrize("marks", [UNICODE_LANES, ASCII_LANES])
def test_a_kill_to_come_is_weaker_than_one_that_came(marks: LaneMarks) -> None:
    kill = LaneCell(CellKind.KILL)

    came, to_come = (
        lane_span(replace(kill, is_future=is_future), marks)
        for is_future in (False, True)
    )

    assert (came.text, came.role, came.is_reversed) == ("K", Role.KILL, True)
    assert (to_come.text, to_come.role, to_come.is_reversed) == ("k", Role.ERROR, False)


def test_an_injected_result_is_not_drawn_as_the_kubelets() -> None:
    cell = LaneCell(CellKind.FAILING, 1, 3, is_tick=True, is_by_user=True)

    assert lane_span(cell, UNICODE_LANES).role is Role.ACCENT


def test_the_axis_says_how_far_away_cells_are() -> None:
    axis = LaneAxis.around(NOW, 2, WIDTH)

    assert text_of(axis_line(axis)) == "      -40s      -20s       now      +20s"


def test_cells_stay_where_they_are_between_two_frames() -> None:
    first = LaneAxis.around(NOW, 5, WIDTH)
    second = LaneAxis.around(NOW + timedelta(seconds=1), 5, WIDTH)

    assert first.start == second.start


def test_short_cells_and_their_labels_move_once_a_second() -> None:
    first = LaneAxis.around(NOW, 0.5, WIDTH)
    second = LaneAxis.around(NOW + timedelta(seconds=0.5), 0.5, WIDTH)

    assert first.start == second.start
    assert axis_line(first) == axis_line(second)
    assert first.now_index + 1 == second.now_index


def test_an_earlier_instant_is_brought_into_sight() -> None:
    long_ago = NOW - timedelta(hours=1)

    axis = LaneAxis.around(NOW, 1, WIDTH, at=long_ago)

    assert 0 <= axis.index(long_ago.timestamp()) < WIDTH


def test_while_nothing_comes_the_last_thing_stays_in_sight() -> None:
    last = NOW.timestamp()

    soon = LaneAxis.around(NOW + timedelta(seconds=9), 1.0, WIDTH, last=last)
    late = LaneAxis.around(NOW + timedelta(hours=9), 1.0, WIDTH, last=last)

    assert soon.start == late.start
    assert soon.now_index < WIDTH < late.now_index
    assert 0 <= late.index(last) < WIDTH


@pytest.mark.parametrize(
    ("seconds_ago", "life"),
    [
        pytest.param(1, "running", id="now"),
        pytest.param(50, "stopping", id="in the grace period"),
        pytest.param(75, "running", id="before"),
    ],
)
def test_a_lane_knows_what_a_container_did_at_an_instant(
    seconds_ago: float, life: str
) -> None:
    snapshot = steady()
    lanes = Lanes()
    lanes.add_entries(snapshot.entries)
    (pod,) = snapshot.pods
    at = snapshot.taken_at - timedelta(seconds=seconds_ago)

    found = lanes.life_at(pod.pod.uid, pod.containers[0].container.name, at)

    assert found is not None
    assert found[0] == life
    assert found[1] <= at.timestamp()


def test_before_its_lane_nothing_is_known_of_a_container() -> None:
    assert Lanes().life_at("uid", "app", NOW) is None


def test_the_newest_latencies_are_kept_with_what_failed() -> None:
    lane = ProbeLane()
    for tick in demo_ticks("h" + "sf" * MOST_LATENCIES):
        lane.add(tick)

    kept = lane.latencies()
    assert 0 < len(kept) <= MOST_LATENCIES
    assert [latency.is_failure for latency in kept[-2:]] == [False, True]
    assert lane.latencies(2) == kept[-2:]
    assert kept[-1].at == NOW.timestamp()


def test_of_several_latencies_in_a_cell_the_longest_is_drawn() -> None:
    axis = LaneAxis.around(NOW, 5.0, WIDTH)
    now = NOW.timestamp()
    known = [
        TimedRun(now - 1e6, 9.0, is_failure=True),
        TimedRun(now - 0.2, 0.5, is_failure=False),
        TimedRun(now - 0.1, 0.25, is_failure=True),
    ]

    slowest = slowest_probes(known, axis, 1)

    assert [cell for cell in slowest if cell] == [LatencyCell(0.5, is_failure=False)]


def without_ticks(lanes: ContainerLanes) -> list[list[LaneCell]]:
    """Return all cells; those drawn anew only assume where equal ticks have been."""
    return [
        [replace(cell, is_tick=False) for cell in cells]
        for cells in (lanes.container, *lanes.probes)
    ]


@pytest.mark.parametrize("cell_seconds", [0.5, 2, 5])
@pytest.mark.parametrize("pods", ["shop", "flapping", "errored"])
def test_cells_that_are_kept_are_those_that_would_be_drawn(
    pods: str, cell_seconds: float
) -> None:
    session = gallery.session_of(pods)
    kept, read = Lanes(), 0
    for _ in range(150):
        session.run_for(timedelta(seconds=0.9))
        fresh = Lanes()
        kept.add_entries(session.journal[read:])
        fresh.add_entries(session.journal)
        read = len(session.journal)
        snapshot = session.snapshot
        axis = LaneAxis.around(snapshot.taken_at, cell_seconds, WIDTH)
        for pod in snapshot.pods:
            for container in pod.containers:
                of = axis, snapshot, pod, container
                assert without_ticks(kept.cells(*of)) == without_ticks(fresh.cells(*of))


def test_a_tick_that_began_before_the_last_frame_is_drawn_in_the_next() -> None:
    scene = steady()
    (pod,) = scene.pods
    last = next(tick for tick in reversed(scene.entries) if isinstance(tick, TickEntry))
    began = scene.taken_at - timedelta(seconds=1)
    late = changed_tick(last, started_at=began, run=3)
    kept, fresh = Lanes(), Lanes()
    kept.add_entries(scene.entries)
    axis = LaneAxis.around(scene.taken_at, 0.5, WIDTH)
    kept.cells(axis, scene, pod, pod.containers[0])

    kept.add_entries([late])
    fresh.add_entries([*scene.entries, late])
    axis = LaneAxis.around(scene.taken_at + timedelta(seconds=1), 0.5, WIDTH)
    of = axis, scene, pod, pod.containers[0]

    assert without_ticks(kept.cells(*of)) == without_ticks(fresh.cells(*of))


def test_below_a_kill_in_a_plot_are_the_digits_of_the_threshold() -> None:
    kill = LaneCell(CellKind.KILL, is_future=True)

    plot = plot_lines([kill], ASCII_LANES, 4, 3)

    assert [text_of(row) for row in plot] == ["k", "3", "3", "3"]
