"""The questions of lessons on the screen."""

from __future__ import annotations

from msgspec.structs import replace

from probetui.analysis.quiz import Quiz, QuizScore
from probetui.debugger.commands import PauseProbes, ResumeProbes
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import CurrentLesson, HostServices
from probetui.tui.screens.dialogs import QuizScreen
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, running


def a_lesson(quiz: Quiz) -> HostServices:
    lesson = CurrentLesson("liveness", "Watch.", 1, 14, print, "w says why.", quiz)
    return HostServices(lesson=lesson)


def a_quizzed_app(quiz: Quiz) -> tuple[ProbetuiApp, FakeSession]:
    session = FakeSession(failing())
    return an_app(session, host=a_lesson(quiz)), session


async def test_a_question_pauses_the_probes_until_it_is_answered() -> None:
    app, session = a_quizzed_app(Quiz())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = screen_text(app)
        assert session.sent == [PauseProbes()]

        await pilot.press("2")
        await pilot.pause()

        assert session.sent == [PauseProbes(), ResumeProbes()]
        assert not isinstance(app.screen, QuizScreen)
    assert "What happens next?" in shown
    assert "1  nothing" in shown
    assert "3  not ready" in shown


async def test_the_container_is_seen_above_the_question() -> None:
    app, _ = a_quizzed_app(Quiz())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "2/3" in screen_text(app)


async def test_nothing_is_asked_of_a_session_that_the_user_has_paused() -> None:
    quiz = Quiz()
    session = FakeSession(replace(failing(), is_paused=True))
    app = an_app(session, host=a_lesson(quiz))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert session.sent == []
    assert quiz.question is None


async def test_the_keys_to_try_come_first_in_the_footer() -> None:
    lesson = CurrentLesson(
        "liveness", "Watch.", 1, 14, print, "w says why; R clears; m mutes it."
    )
    app = an_app(failing(), host=HostServices(lesson=lesson))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        footer = screen_lines(app)[-1].split()
    assert set(footer[:4:2]) == {"w", "m"}


async def test_escape_goes_on_without_an_answer() -> None:
    quiz = Quiz()
    app, session = a_quizzed_app(quiz)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()

        assert session.sent == [PauseProbes(), ResumeProbes()]
    assert quiz.question is None
    assert quiz.score == QuizScore()


async def test_what_has_been_reached_stands_beside_the_name_of_the_lesson() -> None:
    quiz = Quiz(asks=False, goals={"1/3": None, "2/3": None})
    app = an_app(running(), host=a_lesson(quiz))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        shown = screen_text(app)
    assert "liveness  1 of 14  \u2713 1/3  \u2713 2/3" in shown
