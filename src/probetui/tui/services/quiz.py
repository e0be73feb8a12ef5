"""Ask the questions of a lesson, and tell what came of the answers."""

from __future__ import annotations

from probetui.analysis.quiz import Prediction, Quiz, QuizResult
from probetui.debugger.commands import PauseProbes, ResumeProbes
from probetui.tui.screens.dialogs import QuizScreen
from probetui.tui.state import StatefulApp

_NOTES = {
    Prediction.NOTHING: "the container goes on as it is",
    Prediction.KILLED: "the kubelet stops the container",
    Prediction.NOT_READY: "no Service sends it anything",
}


class QuizMaster:
    """Follows a lesson; probes are paused while a question waits for its answer."""

    def __init__(self, app: StatefulApp, quiz: Quiz) -> None:
        self._app = app
        self._quiz = quiz
        self._read = 0
        self._screen: QuizScreen | None = None

    def follow(self) -> None:
        """Take what has happened since, and ask if the next tick decides."""
        journal, quiz = self._app.session.journal, self._quiz
        fresh = journal[self._read :]
        self._read = len(journal)
        quiz.add_entries(fresh)
        if quiz.result is not None:
            self._tell(quiz.result)
            quiz.result = None
        snapshot = self._app.ui_state.view_model.snapshot
        if self._screen is not None:
            if quiz.question is None and self._app.screen is self._screen:
                self._screen.dismiss(None)  # the tick came before the answer
        elif self._app.screen is self._app.screen_stack[0] and not snapshot.is_paused:
            self._ask(is_asked=quiz.find_question(snapshot))

    def _ask(self, *, is_asked: bool) -> None:
        if not is_asked:
            return
        self._app.session.send(PauseProbes())
        choices = [(choice.value, _NOTES[choice]) for choice in Prediction]
        is_ascii = self._app.ui_state.options.ascii
        self._screen = QuizScreen("What happens next?", choices, is_ascii=is_ascii)
        self._app.push_screen(self._screen, self._answered)

    def _answered(self, index: int | None) -> None:
        self._screen = None
        self._quiz.answer(None if index is None else tuple(Prediction)[index])
        self._app.session.send(ResumeProbes())

    def _tell(self, result: QuizResult) -> None:
        score = self._quiz.score
        so = "and so it is" if result.is_right else f"and it is {result.came}"
        told = f"You said {result.expected}, {so}"
        self._app.notify(f"{told}: {score.right} of {score.answered} right.")
