"""One probe for an audience."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from textual.widgets import Digits

from probetui.cli.lessons import load_lesson
from probetui.drive.scenario.reader import read_scenario
from probetui.drive.session import Playback
from probetui.engine.snapshot import PlaybackKind, PlaybackSnapshot, Snapshot
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet_rules import DEFAULT_VERSION
from probetui.manifest.load import load_manifests
from tests.drive.recorded_simulation import simulation_factory
from tests.tui.app_harness import an_app, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing


def lesson_at(seconds: float) -> FakeSession:
    """Return the lesson about liveness at an instant of its simulation."""
    loaded = load_lesson("liveness")
    pods = load_manifests([loaded.source]).pods
    simulation = simulation_factory(
        *pods,
        scenario=read_scenario(loaded.script, pods),
        config=KubeletConfig(version=DEFAULT_VERSION),
    )()
    simulation.run_for(timedelta(seconds=seconds))
    session = FakeSession(simulation.engine.snapshot(simulation.now))
    session.publish(session.snapshot, *simulation.journal)
    return session


class PacedSession(FakeSession):
    """A replay that notes how its pace is changed."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(self.played(snapshot))
        self.changes: list[int] = []
        self.rewinds = 0

    def played(self, snapshot: Snapshot) -> Snapshot:
        clock = PlaybackSnapshot(PlaybackKind.REPLAY, is_paused=False, pace=1.0)
        return replace(snapshot, playback=clock)

    @property
    def playback(self) -> Playback | None:
        return self

    def change_pace(self, steps: int) -> None:
        self.changes.append(steps)

    def step_back(self) -> bool:
        return False

    def seek(self, instant: object) -> None:
        raise AssertionError(instant)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_kill_is_counted_down_above_the_meter_and_the_plot(
    size: tuple[int, int],
) -> None:
    app = an_app(lesson_at(6.5))
    async with app.run_test(size=size) as pilot:
        await pilot.press("P")
        await pilot.pause()
        shown = screen_text(app)
        digits = app.screen.query_one(Digits)

        assert digits.value == "0.5"
        assert digits.size.height >= 3
    assert "liveness/app  liveness" in shown
    assert "KILL, if the next probe fails, in" in shown
    assert "3 = kill" in shown
    assert "SIGTERM … 2 s … SIGKILL … restart" in shown
    assert "app is up, and its liveness probe failed 2 of 3 times in a row" in shown


async def test_the_step_of_the_kill_that_goes_on_is_in_the_light() -> None:
    app = an_app(lesson_at(8))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("P")
        await pilot.pause()
        shown = " ".join(screen_text(app).split())
    assert "SIGKILL, unless it exits, in" in shown
    assert "SIGTERM … 2 s … SIGKILL … restart" in shown
    assert "its liveness probe failed 3 of 3 times in a row" in shown


@pytest.mark.parametrize("key", ["P", "escape", "q"])
async def test_a_key_leads_back(key: str) -> None:
    app = an_app(failing())
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.screen
        await pilot.press("P")
        await pilot.pause()
        assert app.screen is not main
        await pilot.press(key)
        await pilot.pause()
        assert app.screen is main


async def test_the_option_begins_with_it() -> None:
    app = an_app(failing(), presents=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.pause()
        assert app.screen.query(Digits)


async def test_without_unicode_the_countdown_is_a_word() -> None:
    app = an_app(lesson_at(6.5), ascii=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("P")
        await pilot.pause()
        shown = screen_text(app)
    assert "KILL, if the next probe fails, in  0.5" in shown
    assert shown.isascii()


async def test_time_is_slow_at_the_kill_of_a_replay_and_goes_on_as_before() -> None:
    before, after = lesson_at(6.5).snapshot, lesson_at(8).snapshot
    session = PacedSession(before)
    app = an_app(session)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("P")
        await pilot.pause()
        assert session.changes == []

        session.publish(session.played(after))
        await pilot.pause()
        await pilot.pause()
        assert session.changes == [-2]
        assert "SLOW MOTION 0.25x" in screen_text(app)

        await pilot.press("P")
        await pilot.pause()
        assert session.changes == [-2, 2]


async def test_time_is_not_slow_where_nobody_controls_it() -> None:
    app = an_app(lesson_at(8))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("P")
        await pilot.pause()
        assert "SLOW" not in screen_text(app)
