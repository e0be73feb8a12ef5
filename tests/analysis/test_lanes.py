"""Lanes at the boundaries of cells, and how much of them is kept.

What they look like is in `tests/presentation/test_lanes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from probetui.analysis import lanes as module
from probetui.analysis.lanes import (
    CellKind,
    ContainerLane,
    LaneAxis,
    LaneCell,
    Lanes,
    ProbeLane,
    TimedRun,
    instant,
)
from probetui.engine.snapshot import Snapshot
from probetui.k8s.pod import RestartPolicy
from probetui.k8s.probe import ExecAction, HTTPGetAction, ProbeKey, ProbeType
from probetui.k8s.runtime import ContainerID
from probetui.k8s.status import Running, Waiting
from probetui.kubelet.journal import (
    ContainerEntry,
    Exit,
    ExitCause,
    LastExit,
    LifecycleStep,
    PodGoneEntry,
    StoppingSnapshot,
    TickEntry,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet_rules import rules_of
from probetui.presentation.lanes import ASCII_LANES, lane_line
from probetui.presentation.text.spans import text_of
from tests.builders import a_container, a_key, at
from tests.ticks import a_tick, changed_tick
from tests.tui.history_scenes import steady, stopping, waiting

KEY = a_key()
ZERO = at(0).timestamp()


def epoch(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(
    ("now", "cell", "width", "start"),
    [
        pytest.param(1000, 5, 40, 855, id="30-cells-up-to-now"),
        pytest.param(1004.9, 5, 40, 855, id="within-a-cell"),
        pytest.param(1005, 5, 40, 860, id="in-the-next"),
        pytest.param(1000.9, 0.5, 40, 985.5, id="cells-shorter-than-a-second"),
        pytest.param(1000, 5, 1, 1000, id="one-cell"),
        pytest.param(1000, 5, 2, 1000, id="two-cells"),
        pytest.param(1000, 5, 3, 995, id="three-cells"),
    ],
)
def test_now_is_at_three_quarters_of_an_axis(
    now: float, cell: float, width: int, start: float
) -> None:
    assert LaneAxis.around(epoch(now), cell, width) == LaneAxis(start, cell, width, now)


@pytest.mark.parametrize(
    ("instant_at", "start"),
    [
        pytest.param(1100, 855, id="later"),
        pytest.param(855, 855, id="the-first-on-it"),
        pytest.param(854, 780, id="just-before-it"),
        pytest.param(850, 780, id="a-cell-before-it"),
        pytest.param(500, 430, id="long-before-it"),
    ],
)
def test_an_axis_goes_back_so_that_an_earlier_instant_has_as_much_room(
    instant_at: float, start: float
) -> None:
    axis = LaneAxis.around(epoch(1000), 5, 40, epoch(instant_at))

    assert (axis.start, axis.now) == (start, 1000)


@pytest.mark.parametrize(
    ("last", "start"), [(None, 855), (990, 845), (1000, 855), (1010, 855)]
)
def test_what_was_last_is_in_place_of_now_unless_it_is_yet_to_come(
    last: float | None, start: float
) -> None:
    assert LaneAxis.around(epoch(1000), 5, 40, last=last).start == start


def test_an_axis_has_its_cells_from_instant_to_instant() -> None:
    axis = LaneAxis(100, 5, 10, 130)

    assert axis.between(99, 99) == range(0)
    assert axis.between(99, 100) == range(1)
    assert axis.between(104.9, 105) == range(2)
    assert axis.between(145, 200) == range(9, 10)
    assert list(axis.between(150, 200)) == []
    assert axis.since(4) == LaneAxis(120, 5, 6, 130)


def ticks(letters: str, each: float = 1) -> Iterator[TickEntry]:
    """Yield ticks from second 0 on."""
    for number, letter in enumerate(letters):
        yield a_tick(KEY, at(number * each), letter)


def probe_lane(letters: str, each: float = 1) -> ProbeLane:
    lane = ProbeLane()
    for tick in ticks(letters, each):
        lane.add(tick)
    return lane


def drawn(cells: list[LaneCell]) -> str:
    return text_of(lane_line(cells, ASCII_LANES))


@pytest.mark.parametrize(("count", "first"), [(19, 0), (20, 0), (21, 2), (22, 2)])
def test_above_its_most_a_lane_loses_its_oldest_tenth(
    monkeypatch: pytest.MonkeyPatch, count: int, first: int
) -> None:
    monkeypatch.setattr(module, "MOST_STRETCHES", 20)
    monkeypatch.setattr(module, "MOST_STEPS", 20)
    monkeypatch.setattr(module, "MOST_LATENCIES", 20)
    container = ContainerLane()
    for number in range(count):
        container.add(a_step(number, STARTED if number % 2 else EXITED))

    probes = probe_lane(("sf" * count)[:count])

    assert probes.first == container.first == ZERO + first
    assert probes.last == container.last == ZERO + count - 1
    assert [run.at for run in probes.latencies()] == [
        ZERO + number for number in range(first, count)
    ]


def test_a_lane_has_how_long_probes_took_and_which_failed() -> None:
    lane = ProbeLane()
    for number, (letter, seconds) in enumerate([("s", 2.5), ("f", 0.5), ("f", 0)]):
        (attempt,) = a_tick(KEY, at(0), letter).attempts
        timed = replace(attempt, duration=timedelta(seconds=seconds))
        lane.add(a_tick(KEY, at(number), letter, attempts=(timed,)))

    assert lane.latencies() == [
        TimedRun(ZERO, 2.5, is_failure=False),
        TimedRun(ZERO + 1, 0.5, is_failure=True),
        TimedRun(ZERO + 2, 0, is_failure=True),
    ]
    assert lane.latencies(1) == lane.latencies()[-1:]


@pytest.mark.parametrize("is_by_user", [False, True])
def test_of_equal_ticks_in_a_cell_the_first_is_seen(*, is_by_user: bool) -> None:
    lane = ProbeLane()
    for second, injected in enumerate((is_by_user, not is_by_user)):
        lane.add(changed_tick(a_tick(KEY, at(second)), injected=injected))

    (cell,) = lane.cells(LaneAxis(ZERO, 5, 1, ZERO + 9))

    assert cell.is_by_user is is_by_user


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(0, "- - - ", id="all"),
        pytest.param(2, "- -   ", id="at-a-tick"),
        pytest.param(3, " -    ", id="between"),
        pytest.param(-5, "     -", id="up-to-the-first"),
        pytest.param(-6, "      ", id="before-it"),
    ],
)
def test_ticks_far_apart_are_each_in_a_cell(start: int, expected: str) -> None:
    lane = ProbeLane()
    for tick in ticks("sss", each=2):
        lane.add(changed_tick(tick, period_seconds=2))

    cells = lane.cells(LaneAxis(ZERO + start, 1, 6, ZERO + 100))

    assert "".join(" -"[cell.is_tick] for cell in cells) == expected


STARTED, EXITED = LifecycleStep.STARTED, LifecycleStep.EXITED
STOPPING = LifecycleStep.STOPPING


def a_step(seconds: float, what: LifecycleStep) -> ContainerEntry:
    return ContainerEntry(
        0, at(seconds), KEY.pod_uid, "app", ContainerID("sim://1"), 0, what
    )


def container_lane(*steps: tuple[float, LifecycleStep]) -> ContainerLane:
    lane = ContainerLane()
    for seconds, what in steps:
        lane.add(a_step(seconds, what))
    return lane


@pytest.mark.parametrize(
    ("status", "turns"),
    [
        pytest.param(Running(at(7)), [7], id="since-then"),
        pytest.param(Running(at(2)), [5], id="no-sooner-than-it-waited"),
        pytest.param(Running(), [9], id="by-now"),
        pytest.param(Waiting(), [], id="waits-on"),
    ],
)
def test_a_container_runs_by_its_status(
    status: Running | Waiting, turns: list[float]
) -> None:
    lane = ContainerLane()
    lane.add_status(at(5), Waiting())

    lane.add_status(at(9), status)

    assert lane.first == ZERO + 5
    assert lane.turns == [ZERO + second for second in turns]


def test_a_container_that_runs_when_it_is_first_seen_has_run_since_its_start() -> None:
    lane = ContainerLane()
    lane.add_status(at(5), Running(at(-3)))
    lane.add_status(at(6), Running(at(6)))

    assert lane.turns == [ZERO - 3]


def test_a_container_that_ends_waits_from_then_on_if_it_waits_later() -> None:
    lane = container_lane((0, STARTED), (5, EXITED))
    before = lane.token

    lane.add_status(at(9), Waiting())

    assert lane.life_at(at(5)) == ("waiting", ZERO + 5)
    assert lane.token != before


@pytest.mark.parametrize(
    ("seconds", "life"),
    [(-1, None), (0, "running"), (4.9, "running"), (5, "stopping"), (8, "ended")],
)
def test_a_part_of_a_life_begins_with_its_step(
    seconds: float, life: str | None
) -> None:
    lane = container_lane((0, STARTED), (5, STOPPING), (8, EXITED))

    known = lane.life_at(at(seconds))

    assert (None if known is None else known[0]) == life


def test_with_its_pod_all_that_has_begun_ends_and_nothing_twice() -> None:
    lanes = Lanes()
    lanes.add_entries([a_step(0, STARTED), *ticks("sss")])
    lanes.add_entries([PodGoneEntry(0, at(7), "another")])
    assert lanes.last == ZERO + 2

    lanes.add_entries(PodGoneEntry(0, at(second), KEY.pod_uid) for second in (9, 12))

    assert lanes.last == ZERO + 9
    assert lanes.turns(KEY.pod_uid, "app") == [ZERO, ZERO + 9]
    assert Lanes().last is None
    untouched = ContainerLane()
    untouched.end(at(3))
    assert untouched.last is None


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        pytest.param(0, "|----K%X    ", id="all"),
        pytest.param(5, "K%X         ", id="at-a-stop"),
        pytest.param(7, "X           ", id="at-its-end"),
        pytest.param(8, "            ", id="after-it"),
        pytest.param(-12, "            ", id="just-before-it"),
        pytest.param(-11, "           |", id="up-to-its-start"),
    ],
)
def test_a_life_is_drawn_from_its_start_to_its_end(start: int, expected: str) -> None:
    lane = container_lane((0, STARTED), (5, STOPPING), (7, EXITED))
    axis = LaneAxis(ZERO + start, 1, 12, ZERO + 100)

    cells = lane.cells(axis, [LaneCell(CellKind.CALM, is_tick=True)] * 12)

    assert drawn(cells) == expected


def ahead(scene: Snapshot, due: float, period: int, run: int = 1) -> str:
    """Return what is to come of a probe that is due so many seconds after a cell.

    Cells stand for five seconds, and it kills at three failures.
    """
    axis = LaneAxis.around(scene.taken_at, 5, 40)
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    due_at = instant(axis.begin(axis.now_index + 1) + due)
    changed = replace(
        probe,
        next_tick_at=due_at,
        last_result=Result.FAILURE,
        result_run=run,
        probe=replace(probe.probe, period_seconds=period),
    )
    container = replace(pod.containers[0], probes=(changed,))
    lanes = Lanes().cells(axis, scene, pod, container)
    return drawn([*lanes.probes[0]])[axis.now_index + 1 :]


@pytest.mark.parametrize(
    ("due", "period", "expected"),
    [
        pytest.param(0, 5, "2k", id="each-at-the-beginning-of-a-cell"),
        pytest.param(4.9, 5, "2k", id="each-at-its-end"),
        pytest.param(0, 10, "2 k", id="in-every-other"),
        pytest.param(0, 7, "2k", id="unevenly"),
        pytest.param(3, 7, "2 k", id="unevenly-over-a-boundary"),
        pytest.param(0, 4, "k", id="two-in-a-cell"),
        pytest.param(4, 1, "2k", id="the-kill-as-the-next-begins"),
        pytest.param(3, 1, "k", id="the-kill-just-before"),
    ],
)
def test_a_kill_to_come_is_in_its_own_cell(
    due: float, period: int, expected: str
) -> None:
    assert ahead(steady(), due, period).rstrip() == expected


def test_what_is_to_come_has_the_threshold_and_is_of_the_future() -> None:
    scene = steady()
    axis = LaneAxis.around(scene.taken_at, 5, 40)
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    patient = replace(probe, probe=replace(probe.probe, failure_threshold=5))
    container = replace(pod.containers[0], probes=(patient,))

    lanes = Lanes().cells(axis, scene, pod, container)

    cells = [cell for cell in lanes.probes[0][axis.now_index + 1 :] if cell.is_tick]
    assert cells == [
        *(
            LaneCell(CellKind.FAILING, level, 5, is_tick=True, is_future=True)
            for level in (3, 4)
        ),
        LaneCell(CellKind.KILL, is_tick=True, is_future=True),
    ]


def a_pull() -> Snapshot:
    """Return a container that waits for the back-off of its image."""
    scene = waiting()
    (pod,) = scene.pods
    later = scene.taken_at + timedelta(seconds=20)
    container = replace(pod.containers[0], backoff=None, next_pull_at=later)
    return replace(scene, pods=(replace(pod, containers=(container,)),))


def a_range() -> Snapshot:
    """Return a container whose restart may come within ten seconds."""
    scene = waiting()
    (pod,) = scene.pods
    backoff = pod.containers[0].backoff
    assert backoff is not None
    assert backoff.until is not None
    later = replace(backoff, latest=backoff.until + timedelta(seconds=10))
    container = replace(pod.containers[0], backoff=later)
    return replace(scene, pods=(replace(pod, containers=(container,)),))


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        pytest.param(stopping, "%%%%X", id="stops"),
        pytest.param(waiting, "~~~", id="backs-off"),
        pytest.param(a_range, "~~~==", id="backs-off-and-is-late"),
        pytest.param(a_pull, "~~~~", id="waits-for-a-pull"),
    ],
)
def test_what_is_to_come_of_a_container_is_of_the_future(
    scene: Callable[[], Snapshot], expected: str
) -> None:
    snapshot = scene()
    (pod,) = snapshot.pods
    axis = LaneAxis.around(snapshot.taken_at, 5, 40)

    lanes = Lanes().cells(axis, snapshot, pod, pod.containers[0])

    cells = [*lanes.container[axis.now_index + 1 :]]
    assert drawn(cells).rstrip() == expected
    assert all(cell.is_future for cell in cells[: len(expected)])


def test_a_probe_that_succeeds_goes_on_beyond_where_failures_would_kill() -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    well = replace(probe, last_result=Result.SUCCESS, result_run=3)
    container = replace(pod.containers[0], probes=(well,))
    axis = LaneAxis.around(scene.taken_at, 5, 40)

    lanes = Lanes().cells(axis, scene, pod, container)

    assert set(drawn([*lanes.probes[0]])[axis.now_index + 1 :]) == {"-"}


@pytest.mark.parametrize(
    ("period", "expected"),
    [(1, "79"), (2, "579"), (5, "34567"), (10, "3 4 5")],
)
def test_failures_to_come_grow_with_each(period: int, expected: str) -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    patient = replace(probe, probe=replace(probe.probe, failure_threshold=50))
    container = replace(pod.containers[0], probes=(patient,))
    scene = replace(scene, pods=(replace(pod, containers=(container,)),))

    assert ahead(scene, 0, period, run=2)[: len(expected)] == expected


@pytest.mark.parametrize("end", Exit)
@pytest.mark.parametrize("is_in_flight", [False, True])
def test_nothing_comes_after_the_tick_with_which_a_worker_leaves(
    end: Exit, *, is_in_flight: bool
) -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    leaving = replace(probe, last_result=Result.SUCCESS, upcoming_skip=end)
    if is_in_flight:
        leaving = replace(leaving, next_tick_at=None, in_flight_since=scene.taken_at)
    container = replace(pod.containers[0], probes=(leaving,))
    axis = LaneAxis.around(scene.taken_at, 1, 40)

    lanes = Lanes().cells(axis, scene, pod, container)

    assert drawn([*lanes.probes[0]])[axis.now_index :].strip() == "."


HTTP, COMMAND = HTTPGetAction(80), ExecAction(("true",))


@pytest.mark.parametrize(
    ("version", "handler", "has_ended", "is_deleted", "expected"),
    [
        pytest.param("1.36", HTTP, False, True, "-", id="runs-while-others-stop"),
        pytest.param("1.36", HTTP, True, True, "123", id="nothing-listens"),
        pytest.param("1.34", COMMAND, True, True, "!", id="nothing-to-run-it-in"),
        pytest.param("1.34", COMMAND, False, True, "-", id="a-command"),
        pytest.param("1.35", COMMAND, False, True, "!", id="commands-are-canceled"),
        pytest.param("1.36", COMMAND, False, False, "-", id="not-deleted"),
        pytest.param("1.36", HTTP, True, False, ".", id="its-exit-is-not-yet-seen"),
    ],
)
def test_the_last_result_does_not_go_on_where_a_container_or_its_pod_ends(
    version: str,
    handler: HTTPGetAction | ExecAction,
    *,
    has_ended: bool,
    is_deleted: bool,
    expected: str,
) -> None:
    scene = replace(steady(), rules=rules_of(version))
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    spec = replace(probe.probe, handler=handler, period_seconds=1)
    key = probe.key._replace(probe_type=ProbeType.READINESS)
    well = replace(probe, key=key, probe=spec, last_result=Result.SUCCESS, result_run=3)
    container = replace(pod.containers[0], probes=(well,))
    status = container.status
    assert status is not None
    if has_ended:
        of = ContainerID(status.container_id)
        end = LastExit(
            scene.taken_at, 0, ExitCause.DELETE, "", oom_killed=False, container_id=of
        )
        container = replace(container, last_exit=end)
    since = scene.taken_at if is_deleted else None
    pod = replace(pod, pod=replace(pod.pod, deletion_requested_at=since))
    axis = LaneAxis.around(scene.taken_at, 1, 40)

    lanes = Lanes().cells(axis, scene, pod, container)

    coming = drawn([*lanes.probes[0]])[axis.now_index + 5 :]
    first = drawn([*lanes.probes[0]])[axis.now_index :].strip()
    assert first.startswith(expected)
    assert set(coming) == {expected[-1]}


@pytest.mark.parametrize(
    ("has_sidecar", "expected"), [(False, "123"), (True, "123333")]
)
def test_what_is_gone_is_probed_until_the_others_of_its_pod_have_ended(
    *, has_sidecar: bool, expected: str
) -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    key = probe.key._replace(probe_type=ProbeType.READINESS)
    spec = replace(probe.probe, handler=HTTP, period_seconds=1)
    now = scene.taken_at
    well = replace(
        probe, key=key, probe=spec, last_result=Result.SUCCESS, next_tick_at=now
    )
    status = pod.containers[0].status
    assert status is not None
    of = ContainerID(status.container_id)
    end = LastExit(now, 0, ExitCause.DELETE, "", oom_killed=False, container_id=of)
    gone = replace(pod.containers[0], probes=(well,), last_exit=end)
    stop = StoppingSnapshot(now, 3, "pod", ExitCause.DELETE)
    other = replace(pod.containers[0], probes=(), stopping=stop)
    sidecars = (a_container("log", restart_policy=RestartPolicy.ALWAYS),)
    spec_of_pod = replace(
        pod.pod,
        deletion_requested_at=now,
        init_containers=sidecars if has_sidecar else (),
    )
    pod = replace(pod, pod=spec_of_pod, containers=(gone, other))
    axis = LaneAxis.around(now, 1, 40)

    lanes = Lanes().cells(axis, scene, pod, gone)

    coming = drawn([*lanes.probes[0]])[axis.now_index :].strip()
    assert coming[: len(expected)] == expected
    assert (len(coming) == len(expected)) is not has_sidecar


def test_a_tick_that_comes_late_is_drawn_beside_one_of_another_probe() -> None:
    scene = steady()
    (pod,) = scene.pods
    (probe,) = pod.containers[0].probes
    other = probe.key._replace(probe_type=ProbeType.READINESS)
    now = scene.taken_at
    probes = (probe, replace(probe, key=other))
    container = replace(pod.containers[0], probes=probes)

    def tick(key: ProbeKey, seconds: float, letter: str = "s") -> TickEntry:
        return a_tick(key, now - timedelta(seconds=seconds), letter, period_seconds=20)

    early = [tick(probe.key, 20), tick(other, 1)]
    late = tick(probe.key, 10, "f")
    kept, fresh = Lanes(), Lanes()
    kept.add_entries(early)
    of = LaneAxis.around(now, 1, 40), scene, pod, container
    kept.cells(*of)

    kept.add_entries([late])
    fresh.add_entries([*early, late])

    assert kept.cells(*of) == fresh.cells(*of)


@pytest.mark.parametrize(("grace", "expected"), [(30, "%%%%X"), (10, "X"), (0, "")])
def test_the_exit_to_come_is_at_the_end_of_the_grace_period(
    grace: int, expected: str
) -> None:
    scene = stopping()
    (pod,) = scene.pods
    stop = pod.containers[0].stopping
    assert stop is not None
    stop = replace(stop, grace_period_seconds=grace)
    container = replace(pod.containers[0], stopping=stop)
    axis = LaneAxis.around(scene.taken_at, 5, 40)

    lanes = Lanes().cells(axis, scene, pod, container)

    assert drawn([*lanes.container])[axis.now_index + 1 :].rstrip() == expected
