"""The questions of a lesson: what the tick that decides will do, and what came."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, field

from probetui.analysis.next_failure import FailureEffect, predict_next_failure
from probetui.engine.snapshot import Snapshot
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import JournalEntry, TickAction, TickEntry
from probetui.kubelet.outcome import Result

_DECIDING = {FailureEffect.KILL, FailureEffect.NOT_READY}
_LEAST_RUN = 2
"""The failure that is asked about at the earliest: a run has been seen by then."""

_MOST_GOALS = 5
"""The highest threshold whose failures are goals, each of its own."""


class Prediction(StrEnum):
    """What can come of a tick, in the order of the answers."""

    NOTHING = "nothing"
    KILLED = "killed"
    NOT_READY = "not ready"


_OUTCOMES = {
    TickAction.KILL: Prediction.KILLED,
    TickAction.NOT_READY: Prediction.NOT_READY,
}


class QuizScore(Struct):
    """The answers of all lessons of one run of `demo`."""

    right: int = 0
    answered: int = 0


class Question(Struct, frozen=True):
    """A question about the tick of a probe after the one with the number `after`.

    `answer` is None until there is one.
    """

    key: ProbeKey
    after: int
    answer: Prediction | None = None


class QuizResult(Struct, frozen=True):
    """What was expected, and what came."""

    expected: Prediction
    came: Prediction

    @property
    def is_right(self) -> bool:
        """Whether they are the same."""
        return self.expected is self.came


class Quiz(Struct):
    """The questions and the goals of one lesson.

    It asks once for each probe and effect: before the failure that would kill the
    container or make it not ready. That is what the engine foretells of its snapshot.

    Attributes:
        asks: whether it asks anything; goals are ticked off all the same.
        score: the answers, to which the lessons before have added theirs.
        question: what is asked, None if nothing is.
        result: what came of the last answer.
        goals: what has been reached, such as `1/3`, in that order.
    """

    asks: bool = True
    score: QuizScore = field(default_factory=QuizScore)
    question: Question | None = None
    result: QuizResult | None = None
    goals: dict[str, None] = field(default_factory=dict)
    _asked: set[tuple[ProbeKey, FailureEffect]] = field(default_factory=set)

    def add_entries(self, entries: Iterable[JournalEntry]) -> None:
        """Take what has happened: goals that are reached, and what came of a tick."""
        for entry in entries:
            if isinstance(entry, TickEntry) and entry.attempts:
                self._add_goals(entry)
                if self.question is not None:
                    self._compare(self.question, entry)

    def find_question(self, snapshot: Snapshot) -> bool:
        """Ask about the next tick if it decides; return whether it is asked now."""
        if not self.asks or self.question is not None:
            return False
        for pod in snapshot.pods:
            for container in pod.containers:
                for probe in container.probes:
                    foretold = predict_next_failure(
                        pod.pod,
                        container,
                        probe,
                        snapshot.taken_at,
                        snapshot.rules,
                        acts=snapshot.acts,
                    )
                    asked = (probe.key, foretold.effect)
                    if (
                        foretold.effect in _DECIDING
                        and foretold.run >= _LEAST_RUN
                        and probe.last_run is not None
                        and asked not in self._asked
                    ):
                        self._asked.add(asked)
                        self.question = Question(probe.key, probe.last_run.sequence)
                        return True
        return False

    def answer(self, expected: Prediction | None) -> None:
        """Answer the question, which is dropped for None."""
        if self.question is not None and expected is not None:
            self.question = Question(self.question.key, self.question.after, expected)
        else:
            self.question = None

    def _compare(self, question: Question, tick: TickEntry) -> None:
        if tick.key != question.key or tick.sequence <= question.after:
            return
        self.question = None
        if question.answer is not None:
            came = _OUTCOMES.get(tick.action, Prediction.NOTHING)
            self.result = QuizResult(question.answer, came)
            self.score.answered += 1
            self.score.right += self.result.is_right

    def _add_goals(self, tick: TickEntry) -> None:
        run = tick.run
        if tick.result is Result.FAILURE and run.count < run.threshold <= _MOST_GOALS:
            self.goals[f"{run.count}/{run.threshold}"] = None
        if tick.action in _OUTCOMES:
            self.goals[_OUTCOMES[tick.action]] = None
