"""Virtual time, lessons and saved records on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from probetui.debugger.commands import PauseProbes, StepProbe
from probetui.drive.clocks import SystemClock
from probetui.drive.playback.session import PlaybackSession
from probetui.drive.playback.simulated import SimulatedSource
from probetui.errors import RecordError
from probetui.kubelet.journal import TickEntry
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import CurrentLesson, HostServices
from probetui.tui.options import ScreenOptions
from tests.builders import a_container, a_pod, a_probe, at
from tests.drive.recorded_simulation import Recorded, simulation_factory
from tests.tui.app_harness import an_app, line_with, screen_lines, screen_text
from tests.tui.scenes import running

pytestmark = pytest.mark.real_time

SIZE = (80, 24)
TEXT = "After 5 seconds the file that the probe reads is gone; the third failure kills."
POD = a_pod(a_container(liveness_probe=a_probe(period_seconds=2)))


def a_session() -> PlaybackSession:
    """Return a simulation that is paused at its beginning."""
    session = PlaybackSession(
        SimulatedSource(simulation_factory(POD)), SystemClock(), runtime_name="sim"
    )
    session.send(PauseProbes())
    return session


@asynccontextmanager
async def open_screen(
    session: PlaybackSession,
    host: HostServices | None = None,
    *,
    read_only: bool = False,
) -> AsyncIterator[Pilot[None]]:
    options = ScreenOptions(zone=UTC, motion=False, read_only=read_only)
    app = ProbetuiApp(session, options=options, host=host)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(session.run())
        try:
            async with app.run_test(size=SIZE) as pilot:
                yield pilot
        finally:
            session.stop()
            await task


async def until(pilot: Pilot[None], condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # the screen is painted when there is time
            await pilot.pause(0.01)


def notifications(app: App[None]) -> list[str]:
    """Return the texts of the notifications."""
    return [
        open_screen.message.replace("\n", " ") for open_screen in app._notifications
    ]


def ticks(session: PlaybackSession) -> int:
    return sum(isinstance(entry, TickEntry) for entry in session.journal)


async def test_the_header_shows_the_clock_and_that_it_is_paused() -> None:
    session = a_session()
    async with open_screen(session) as pilot:
        await pilot.press("greater_than_sign", "greater_than_sign", "greater_than_sign")
        await until(pilot, lambda: "[PAUSED  sim 00:0" in screen_lines(pilot.app)[0])
        await pilot.press("space")
        await until(pilot, lambda: "[SIM 1x  00:0" in screen_lines(pilot.app)[0])


async def test_steps_move_forward_and_back_and_the_screen_follows() -> None:
    session = a_session()
    async with open_screen(session) as pilot:
        await pilot.press("greater_than_sign", "greater_than_sign", "greater_than_sign")
        after_three = ticks(session)
        await until(pilot, lambda: " Running " in screen_text(pilot.app))

        await pilot.press("comma", "comma", "comma")

        assert (after_three, ticks(session)) == (3, 0)
        await until(pilot, lambda: " Running " not in screen_text(pilot.app))


async def test_a_step_before_the_beginning_is_refused_with_a_message() -> None:
    async with open_screen(a_session()) as pilot:
        await pilot.press("comma")

        await until(pilot, lambda: bool(notifications(pilot.app)))
        assert notifications(pilot.app) == ["This is the beginning."]


async def test_keys_make_it_faster_and_slower() -> None:
    session = a_session()
    async with open_screen(session) as pilot:
        await pilot.press("right_parenthesis", "right_parenthesis", "left_parenthesis")
        await pilot.press("space")

        await until(pilot, lambda: "[SIM 2x" in screen_lines(pilot.app)[0])


async def test_the_seek_command_goes_to_a_time() -> None:
    session = a_session()
    async with open_screen(session) as pilot:
        await pilot.press("colon", *"seek 1m30s", "enter")

        await until(pilot, lambda: session.snapshot.taken_at == at(90))
        await until(pilot, lambda: "01:30.0]" in screen_lines(pilot.app)[0])


async def test_an_invalid_time_is_refused() -> None:
    async with open_screen(a_session()) as pilot:
        await pilot.press("colon", *"seek soon", "enter")

        await until(pilot, lambda: bool(notifications(pilot.app)))
        assert notifications(pilot.app) == [
            '"soon" is not a time; write 1m30s, 01:30, -10s or +10s'
        ]


async def test_the_clock_can_be_paused_on_a_read_only_screen() -> None:
    session = a_session()
    async with open_screen(session, read_only=True) as pilot:
        await pilot.press("greater_than_sign")
        stepped = ticks(session)
        await pilot.press("space")
        await until(pilot, lambda: not session.snapshot.is_paused)
        await pilot.press("r")

    assert stepped == 1
    assert session.snapshot.restarts == 0


async def test_seeking_on_a_wall_clock_is_refused_with_a_message() -> None:
    app = an_app(running())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("comma")
        await pilot.pause()

        assert notifications(app) == ["Seeking works in sim and replay only."]


async def test_events_after_the_seek_position_are_removed() -> None:
    session = a_session()
    async with open_screen(session) as pilot:
        await pilot.press(*["greater_than_sign"] * 2)
        await until(pilot, lambda: "Started" in screen_text(pilot.app))

        await pilot.press("comma", "comma")

        await until(pilot, lambda: "Started" not in screen_text(pilot.app))
    assert ticks(session) == 0


@pytest.mark.parametrize(
    ("size", "lines"),
    [
        pytest.param((50, 12), 1, id="tiny"),
        pytest.param((80, 22), 2, id="low"),
        pytest.param((80, 24), 3, id="short"),
        pytest.param((160, 40), 2, id="wide"),
    ],
)
async def test_a_lesson_explains_on_the_screen_what_to_watch(
    size: tuple[int, int], lines: int
) -> None:
    turned: list[int] = []
    lesson = CurrentLesson("liveness", TEXT, 1, 10, turned.append, "w says why")
    app = an_app(running(), host=HostServices(lesson=lesson))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        first = line_with(app, "liveness  1 of 10  After 5 seconds the file")
        assert screen_lines(app).index(first) == 1
        bar = app.screen.query_one("#lesson")
        assert bar.size.height == lines
        is_whole = "Try  w says why" in screen_text(app)
        assert is_whole or screen_lines(app)[lines].rstrip().endswith("…")

    assert turned == []


@pytest.mark.parametrize(
    ("key", "steps", "following"),
    [
        pytest.param("right_curly_bracket", 1, "Lesson 2 of 10", id="next"),
        pytest.param("left_curly_bracket", -1, "Lesson 10 of 10", id="previous"),
    ],
)
async def test_an_ended_lesson_is_marked_and_its_keys_do_nothing(
    key: str, steps: int, following: str
) -> None:
    turned: list[int] = []
    lesson = CurrentLesson("liveness", TEXT, 1, 10, turned.append, "w says why")
    app = an_app(running(), host=HostServices(lesson=lesson))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(key, "left_curly_bracket", "q", "m", "escape")
        await pilot.pause()

        assert "Stopping the pod of liveness." in screen_text(app)
        assert f"{following} starts once it has stopped." in screen_text(app)
        assert "^q quit" in screen_text(app)
        assert app.is_running

    assert turned == [steps]


async def test_there_are_no_pages_without_a_lesson() -> None:
    app = an_app(running())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("right_curly_bracket")

        assert not app.screen.query_one("#lesson").display


async def test_the_record_is_saved_with_a_message() -> None:
    app = an_app(running(), host=HostServices(save=lambda: "probetui-session-1.jsonl"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+s")
        await pilot.pause()

        assert notifications(app) == ["saved probetui-session-1.jsonl"]


async def test_a_failed_save_is_reported() -> None:
    def save() -> str:
        raise RecordError("disk is full")

    app = an_app(running(), host=HostServices(save=save))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+s")
        await pilot.pause()

        assert notifications(app) == ["disk is full"]


async def test_a_replay_can_be_sought_and_stepped_back(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "session.jsonl", POD)
    recorded.run_until(at(40))
    session = PlaybackSession(
        recorded.end(), SystemClock(), runtime_name="docker 27.3", pace=0.25
    )
    session.send(PauseProbes())
    async with open_screen(session, read_only=True) as pilot:
        await pilot.press("colon", *"seek 20s", "enter")
        await until(
            pilot,
            lambda: "[PAUSED  replay 00:20.0" in screen_lines(pilot.app)[0],
        )
        there = ticks(session)
        await until(pilot, lambda: "Running 20s" in screen_text(pilot.app))

        await pilot.press("comma")
        back = ticks(session)
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "docker" in screen_lines(pilot.app)[0])

    assert there > 8
    assert (back, ticks(session)) == (there - 1, there)


async def test_entries_from_before_the_screen_opened_are_shown() -> None:
    session = a_session()
    app = ProbetuiApp(session, options=ScreenOptions(zone=UTC, motion=False))
    session.send(StepProbe())
    session.send(StepProbe())

    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: " Running " in screen_text(app))
