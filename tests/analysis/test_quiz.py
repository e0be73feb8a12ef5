"""The questions of lessons, on virtual time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from probetui.analysis.quiz import Prediction, Quiz, QuizResult, QuizScore
from probetui.cli.lessons import load_lesson
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.simulation import Simulation
from probetui.k8s.probe import ProbeType
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import DEFAULT_VERSION
from probetui.manifest.load import load_manifests
from probetui.presentation.container.table import probe_of
from tests.drive.recorded_simulation import simulation_factory

LOOK = timedelta(milliseconds=100)
LENGTH = timedelta(seconds=40)


class Pupil:
    """Follows a simulated lesson as the screen does, with one answer to everything."""

    def __init__(self, lesson: str, answer: Prediction | None, quiz: Quiz) -> None:
        loaded = load_lesson(lesson)
        pods = load_manifests([loaded.source]).pods
        self.simulation: Simulation = simulation_factory(
            *pods,
            scenario=read_scenario(loaded.script, pods),
            config=KubeletConfig(version=DEFAULT_VERSION),
        )()
        self.quiz = quiz
        self.results: list[QuizResult] = []
        self.asked: list[tuple[ProbeType, int]] = []
        end, read = self.simulation.now + LENGTH, 0
        while self.simulation.now < end:
            self.simulation.run_for(LOOK)
            journal = self.simulation.journal
            quiz.add_entries(journal[read:])
            read = len(journal)
            if quiz.result is not None:
                self.results.append(quiz.result)
                quiz.result = None
            snapshot = self.simulation.engine.snapshot(self.simulation.now)
            if quiz.find_question(snapshot):
                assert quiz.question is not None
                key = quiz.question.key
                probe = probe_of(snapshot.pods[0].containers[0], key.probe_type)
                assert probe is not None
                self.asked.append((key.probe_type, probe.result_run))
                quiz.answer(answer)


def test_the_question_comes_once_before_the_failure_that_kills() -> None:
    pupil = Pupil("liveness", Prediction.KILLED, Quiz())

    assert pupil.asked == [(ProbeType.LIVENESS, 2)]
    assert [result.came for result in pupil.results] == [Prediction.KILLED]
    assert list(pupil.quiz.goals) == ["1/3", "2/3", "killed"]


def test_a_pod_that_loses_its_traffic_is_asked_about_as_well() -> None:
    pupil = Pupil("readiness", Prediction.KILLED, Quiz())

    assert pupil.asked == [(ProbeType.READINESS, 1)]
    assert pupil.results == [QuizResult(Prediction.KILLED, Prediction.NOT_READY)]
    assert not pupil.results[0].is_right


def test_the_last_failure_may_not_come() -> None:
    pupil = Pupil("thresholds", Prediction.NOTHING, Quiz())

    assert pupil.results[0].came is Prediction.NOTHING
    assert pupil.results[0].is_right


@pytest.mark.parametrize(
    ("lesson", "right"), [("liveness", 1), ("readiness", 0), ("prestop", 1)]
)
def test_the_score_goes_on_through_the_lessons(lesson: str, right: int) -> None:
    score = QuizScore(2, 3)

    Pupil(lesson, Prediction.KILLED, Quiz(score=score))

    assert score == QuizScore(2 + right, 4)


def test_a_question_without_an_answer_does_not_count() -> None:
    pupil = Pupil("liveness", None, Quiz())

    assert pupil.asked
    assert pupil.results == []
    assert pupil.quiz.score == QuizScore()


def test_without_questions_goals_are_ticked_off_all_the_same() -> None:
    pupil = Pupil("liveness", Prediction.KILLED, Quiz(asks=False))

    assert pupil.asked == []
    assert list(pupil.quiz.goals) == ["1/3", "2/3", "killed"]
