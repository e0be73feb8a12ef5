"""Simulations that go back, and on again."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from probetui.debugger.commands import RestartContainer
from probetui.drive.playback import simulated
from probetui.drive.playback.simulated import SimulatedSource
from probetui.drive.playback.source import is_change
from probetui.drive.scenario.behavior import (
    InstanceBehavior,
    ResultName,
    ResultPhase,
    ResultPhases,
    ScriptedResult,
)
from probetui.drive.scenario.script import Scenario
from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import JournalEntry, TickEntry, UserEntry
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.playing import beginning

FAILURES = ResultPhases((ResultPhase(ScriptedResult(ResultName.FAILURE)),))
POD = a_pod(
    a_container(liveness_probe=a_probe(period_seconds=2)),
    a_container("other", readiness_probe=a_probe(period_seconds=2)),
)
SCENARIO = Scenario(
    lives={
        "app": (
            InstanceBehavior(answers={ProbeType.LIVENESS: FAILURES}),
            InstanceBehavior(),
        )
    }
)


@pytest.fixture(params=[5, 40, 10_000], ids=["near", "far", "none"])
def course(request: pytest.FixtureRequest) -> SimulatedSource:
    """Return a course with checkpoints of different density."""
    return SimulatedSource(beginning(POD, scenario=SCENARIO), apart=request.param)


def run_until(course: SimulatedSource, seconds: float) -> None:
    while (due := course.next_at()) is not None and due <= at(seconds):
        course.turn()
    course.pass_until(at(seconds))


def ticks(course: SimulatedSource) -> list[TickEntry]:
    return [entry for entry in course.journal if isinstance(entry, TickEntry)]


def test_going_back_shows_what_there_was(course: SimulatedSource) -> None:
    run_until(course, 12)
    shown, journal = repr(course.snapshot()), list(course.journal)
    run_until(course, 50)

    course.seek_back(at(12))

    assert course.now == at(12)
    assert repr(course.snapshot()) == shown
    assert list(course.journal) == journal


def test_going_on_from_there_it_all_happens_again(course: SimulatedSource) -> None:
    run_until(course, 50)
    journal = list(course.journal)
    course.seek_back(at(12))

    run_until(course, 50)

    assert list(course.journal) == journal


def test_what_people_did_before_is_kept_and_what_they_did_later_is_not(
    course: SimulatedSource,
) -> None:
    for second in (10, 30):
        run_until(course, second)
        course.submit(RestartContainer(POD.uid, "other"))
    run_until(course, 50)

    course.seek_back(at(20))
    run_until(course, 50)

    users = [entry for entry in course.journal if isinstance(entry, UserEntry)]
    assert [user.at for user in users] == [at(10)]


def test_a_step_is_one_tick_and_time_stands_still_beside_it(
    course: SimulatedSource,
) -> None:
    run_until(course, 5)
    course.hold()
    before = len(ticks(course))

    seen = []
    for _ in range(4):
        course.step()
        seen.append(len(ticks(course)) - before)

    assert seen == [1, 2, 3, 4]
    assert course.now < at(10)
    assert course.snapshot().is_paused


def test_a_step_back_undoes_a_step(course: SimulatedSource) -> None:
    run_until(course, 5)
    course.hold()
    pictures = [repr(course.snapshot())]
    for _ in range(3):
        course.step()
        pictures.append(repr(course.snapshot()))

    undone: list[str] = []
    while len(undone) < 3:
        mark = course.last_tick_position()
        assert mark is not None
        course.seek_position(mark)
        course.hold()
        undone.append(repr(course.snapshot()))

    assert undone == pictures[2::-1]


def test_steps_back_come_to_the_beginning_and_no_further(
    course: SimulatedSource,
) -> None:
    run_until(course, 10)
    count = len(ticks(course))

    steps = 0
    while (mark := course.last_tick_position()) is not None:
        course.seek_position(mark)
        course.hold()
        steps += 1

    assert ticks(course) == []
    assert 0 < steps <= count


def test_what_goes_back_is_not_heard_a_second_time() -> None:
    heard: list[object] = []
    course = SimulatedSource(
        beginning(POD), lambda item, now: heard.append((item, now)), apart=20
    )
    run_until(course, 20)
    count = len(heard)

    course.seek_back(at(10))
    kept = course.position
    run_until(course, 20)

    assert count == course.position
    assert len(heard) == count + (count - kept)


def test_changes_are_what_the_table_of_containers_shows(
    course: SimulatedSource,
) -> None:
    run_until(course, 30)

    kinds: dict[str, JournalEntry] = {
        type(entry).__name__: entry for entry in course.journal if is_change(entry)
    }

    assert set(kinds) == {"StateEntry", "ContainerEntry"}
    assert not any(isinstance(kind, TickEntry) for kind in kinds.values())
    assert course.now - at(0) == timedelta(seconds=30)


def test_from_the_beginning_a_step_comes_to_the_first_tick(
    course: SimulatedSource,
) -> None:
    course.step()

    assert len(ticks(course)) == 1


def test_a_state_that_takes_long_to_keep_is_kept_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated, "_LARGE_BYTES", 1 << 10)
    course = SimulatedSource(beginning(POD, scenario=SCENARIO), apart=5)

    run_until(course, 1200)

    kept = course._checkpoints
    sizes = [len(checkpoint.state.pickled) for checkpoint in kept]
    gaps = [b.position - a.position for a, b in itertools.pairwise(kept)]
    assert min(sizes) > 1 << 10
    assert gaps
    assert all(gap >= 5 * (size >> 10) for gap, size in zip(gaps, sizes, strict=False))
