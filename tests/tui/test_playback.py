"""Time that is not the wall's, lessons, and records kept, on the screen."""

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
    """Return a simulation that stands still at its beginning."""
    session = PlaybackSession(
        SimulatedSource(simulation_factory(POD)), SystemClock(), runtime_name="sim"
    )
    session.send(PauseProbes())
    return session


@asynccontextmanager
async def shown(
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


def told(app: App[None]) -> list[str]:
    """Return what the program has said in passing."""
    return [shown.message.replace("\n", " ") for shown in app._notifications]


def ticks(session: PlaybackSession) -> int:
    return sum(isinstance(entry, TickEntry) for entry in session.journal)


async def test_the_header_says_which_clock_it_is_and_that_it_stands_still() -> None:
    session = a_session()
    async with shown(session) as pilot:
        await pilot.press("full_stop", "full_stop", "full_stop")
        await until(pilot, lambda: "[PAUSED  sim 00:0" in screen_lines(pilot.app)[0])
        await pilot.press("space")
        await until(pilot, lambda: "[SIM 1x  00:0" in screen_lines(pilot.app)[0])


async def test_steps_go_forth_and_back_and_the_screen_with_them() -> None:
    session = a_session()
    async with shown(session) as pilot:
        await pilot.press("full_stop", "full_stop", "full_stop")
        after_three = ticks(session)
        await until(pilot, lambda: " Running " in screen_text(pilot.app))

        await pilot.press("comma", "comma", "comma")

        assert (after_three, ticks(session)) == (3, 0)
        await until(pilot, lambda: " Running " not in screen_text(pilot.app))


async def test_before_the_beginning_there_is_nothing_and_that_is_said() -> None:
    async with shown(a_session()) as pilot:
        await pilot.press("comma")

        await until(pilot, lambda: bool(told(pilot.app)))
        assert told(pilot.app) == ["This is the beginning."]


async def test_keys_make_it_faster_and_slower() -> None:
    session = a_session()
    async with shown(session) as pilot:
        await pilot.press("greater_than_sign", "greater_than_sign", "less_than_sign")
        await pilot.press("space")

        await until(pilot, lambda: "[SIM 2x" in screen_lines(pilot.app)[0])


async def test_it_can_be_told_to_go_to_a_time() -> None:
    session = a_session()
    async with shown(session) as pilot:
        await pilot.press("colon", *"seek 1m30s", "enter")

        await until(pilot, lambda: session.snapshot.taken_at == at(90))
        await until(pilot, lambda: "01:30.0]" in screen_lines(pilot.app)[0])


async def test_what_is_no_time_is_refused() -> None:
    async with shown(a_session()) as pilot:
        await pilot.press("colon", *"seek soon", "enter")

        await until(pilot, lambda: bool(told(pilot.app)))
        assert told(pilot.app) == [
            '"soon" is not a time; write 1m30s, 01:30, -10s or +10s'
        ]


async def test_where_nothing_may_be_changed_the_clock_may_still_be_stopped() -> None:
    session = a_session()
    async with shown(session, read_only=True) as pilot:
        await pilot.press("full_stop")
        stepped = ticks(session)
        await pilot.press("space")
        await until(pilot, lambda: not session.snapshot.is_paused)
        await pilot.press("r")

    assert stepped == 1
    assert session.snapshot.restarts == 0


async def test_a_wall_clock_cannot_be_moved_and_that_is_said() -> None:
    app = an_app(running())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("comma")
        await pilot.pause()

        assert told(app) == ["Seeking works in sim and replay only."]


async def test_events_of_what_was_taken_back_are_gone() -> None:
    session = a_session()
    async with shown(session) as pilot:
        await pilot.press(*["full_stop"] * 2)
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
async def test_a_lesson_says_on_the_screen_what_to_watch(
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
async def test_a_lesson_that_is_ended_says_so_and_takes_no_more_keys(
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


async def test_without_a_lesson_there_are_no_pages() -> None:
    app = an_app(running())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("right_curly_bracket")

        assert not app.screen.query_one("#lesson").display


async def test_the_record_is_kept_in_a_file_and_that_is_said() -> None:
    app = an_app(running(), host=HostServices(save=lambda: "probetui-session-1.jsonl"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+s")
        await pilot.pause()

        assert told(app) == ["saved probetui-session-1.jsonl"]


async def test_that_it_could_not_be_kept_is_said_too() -> None:
    def save() -> str:
        raise RecordError("disk is full")

    app = an_app(running(), host=HostServices(save=save))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("ctrl+s")
        await pilot.pause()

        assert told(app) == ["disk is full"]


async def test_a_replay_is_sought_through_and_stepped_back(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "session.jsonl", POD)
    recorded.run_until(at(40))
    session = PlaybackSession(
        recorded.end(), SystemClock(), runtime_name="docker 27.3", pace=0.25
    )
    session.send(PauseProbes())
    async with shown(session, read_only=True) as pilot:
        await pilot.press("colon", *"seek 20s", "enter")
        await until(
            pilot,
            lambda: "[PAUSED  replay 00:20.0" in screen_lines(pilot.app)[0],
        )
        there = ticks(session)
        await until(pilot, lambda: "Running 20s" in screen_text(pilot.app))

        await pilot.press("comma")
        back = ticks(session)
        await pilot.press("full_stop")
        await until(pilot, lambda: "docker" in screen_lines(pilot.app)[0])

    assert there > 8
    assert (back, ticks(session)) == (there - 1, there)


async def test_what_happened_before_the_screen_was_there_is_shown() -> None:
    session = a_session()
    app = ProbetuiApp(session, options=ScreenOptions(zone=UTC, motion=False))
    session.send(StepProbe())
    session.send(StepProbe())

    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: " Running " in screen_text(app))
