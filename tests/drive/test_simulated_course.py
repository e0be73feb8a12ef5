"""Simulations that go back, and on again."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from probetui.drive import simulated_course
from probetui.drive.course import is_change
from probetui.drive.scenario import Scenario
from probetui.drive.scripted_lives import Life, Spell, Spells
from probetui.drive.scripted_results import ResultName, ScriptedResult
from probetui.drive.simulated_course import SimulatedCourse
from probetui.k8s.probe import ProbeType
from probetui.kubelet.inputs import RestartContainer
from probetui.kubelet.journal import Entry, TickEntry, UserEntry
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.playing import beginning

FAILURES = Spells((Spell(ScriptedResult(ResultName.FAILURE)),))
POD = a_pod(
    a_container(liveness_probe=a_probe(period_seconds=2)),
    a_container("other", readiness_probe=a_probe(period_seconds=2)),
)
SCENARIO = Scenario(
    lives={"app": (Life(answers={ProbeType.LIVENESS: FAILURES}), Life())}
)


@pytest.fixture(params=[5, 40, 10_000], ids=["near", "far", "none"])
def course(request: pytest.FixtureRequest) -> SimulatedCourse:
    """Return a course with checkpoints of different density."""
    return SimulatedCourse(beginning(POD, scenario=SCENARIO), apart=request.param)


def run_until(course: SimulatedCourse, seconds: float) -> None:
    while (due := course.next_at()) is not None and due <= at(seconds):
        course.turn()
    course.pass_until(at(seconds))


def ticks(course: SimulatedCourse) -> list[TickEntry]:
    return [each for each in course.journal if isinstance(each, TickEntry)]


def test_going_back_shows_what_there_was(course: SimulatedCourse) -> None:
    run_until(course, 12)
    shown, journal = repr(course.snapshot()), list(course.journal)
    run_until(course, 50)

    course.go_back(at(12))

    assert course.now == at(12)
    assert repr(course.snapshot()) == shown
    assert list(course.journal) == journal


def test_going_on_from_there_it_all_happens_again(course: SimulatedCourse) -> None:
    run_until(course, 50)
    journal = list(course.journal)
    course.go_back(at(12))

    run_until(course, 50)

    assert list(course.journal) == journal


def test_what_people_did_before_is_kept_and_what_they_did_later_is_not(
    course: SimulatedCourse,
) -> None:
    for second in (10, 30):
        run_until(course, second)
        course.submit(RestartContainer(POD.uid, "other"))
    run_until(course, 50)

    course.go_back(at(20))
    run_until(course, 50)

    users = [each for each in course.journal if isinstance(each, UserEntry)]
    assert [each.at for each in users] == [at(10)]


def test_a_step_is_one_tick_and_time_stands_still_beside_it(
    course: SimulatedCourse,
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


def test_a_step_back_undoes_a_step(course: SimulatedCourse) -> None:
    run_until(course, 5)
    course.hold()
    pictures = [repr(course.snapshot())]
    for _ in range(3):
        course.step()
        pictures.append(repr(course.snapshot()))

    undone: list[str] = []
    while len(undone) < 3:
        mark = course.last_mark()
        assert mark is not None
        course.go_to(mark)
        course.hold()
        undone.append(repr(course.snapshot()))

    assert undone == pictures[2::-1]


def test_steps_back_come_to_the_beginning_and_no_further(
    course: SimulatedCourse,
) -> None:
    run_until(course, 10)
    count = len(ticks(course))

    steps = 0
    while (mark := course.last_mark()) is not None:
        course.go_to(mark)
        course.hold()
        steps += 1

    assert ticks(course) == []
    assert 0 < steps <= count


def test_what_goes_back_is_not_heard_a_second_time() -> None:
    heard: list[object] = []
    course = SimulatedCourse(
        beginning(POD), lambda item, now: heard.append((item, now)), apart=20
    )
    run_until(course, 20)
    count = len(heard)

    course.go_back(at(10))
    kept = course.position
    run_until(course, 20)

    assert count == course.position
    assert len(heard) == count + (count - kept)


def test_changes_are_what_the_table_of_containers_shows(
    course: SimulatedCourse,
) -> None:
    run_until(course, 30)

    kinds: dict[str, Entry] = {
        type(each).__name__: each for each in course.journal if is_change(each)
    }

    assert set(kinds) == {"StateEntry", "ContainerEntry"}
    assert not any(isinstance(each, TickEntry) for each in kinds.values())
    assert course.now - at(0) == timedelta(seconds=30)


def test_from_the_beginning_a_step_comes_to_the_first_tick(
    course: SimulatedCourse,
) -> None:
    course.step()

    assert len(ticks(course)) == 1


def test_a_state_that_takes_long_to_keep_is_kept_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated_course, "_LARGE_BYTES", 1 << 10)
    course = SimulatedCourse(beginning(POD, scenario=SCENARIO), apart=5)

    run_until(course, 1200)

    kept = course._checkpoints
    sizes = [len(each.state.pickled) for each in kept]
    gaps = [b.position - a.position for a, b in itertools.pairwise(kept)]
    assert min(sizes) > 1 << 10
    assert gaps
    assert all(gap >= 5 * (size >> 10) for gap, size in zip(gaps, sizes, strict=False))
