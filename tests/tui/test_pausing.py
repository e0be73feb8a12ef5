"""Space pauses; it opens step mode only if that is configured."""

from __future__ import annotations

import pytest

from probetui.debugger.commands import PauseProbes, ResumeProbes, StepProbe
from probetui.engine.snapshot import Snapshot
from probetui.tui.screens.container import ContainerScreen
from probetui.tui.screens.events import EventsScreen
from probetui.tui.screens.main import MainScreen
from probetui.tui.screens.step import StepScreen
from tests.tui.app_harness import an_app
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, paused

SIZE = (80, 24)


@pytest.mark.parametrize(
    ("snapshot", "keys", "screen", "sent"),
    [
        pytest.param(
            failing(), ("space",), MainScreen, PauseProbes(), id="the main screen"
        ),
        pytest.param(
            failing(), ("3", "space"), MainScreen, PauseProbes(), id="any pane of it"
        ),
        pytest.param(
            failing(), ("enter", "space"), ContainerScreen, PauseProbes(), id="detail"
        ),
        pytest.param(
            failing(), ("v", "space"), EventsScreen, PauseProbes(), id="events"
        ),
        pytest.param(
            failing(), ("Q", "space"), StepScreen, PauseProbes(), id="step mode"
        ),
        pytest.param(
            paused(), ("space",), MainScreen, ResumeProbes(), id="paused already"
        ),
        pytest.param(
            paused(), ("Q", "space"), MainScreen, ResumeProbes(), id="stepped from main"
        ),
        pytest.param(
            paused(),
            ("enter", "Q", "space"),
            ContainerScreen,
            ResumeProbes(),
            id="stepped from detail",
        ),
        pytest.param(
            failing(),
            ("greater_than_sign",),
            MainScreen,
            StepProbe(),
            id="a step from there",
        ),
    ],
)
async def test_what_space_does(
    snapshot: Snapshot, keys: tuple[str, ...], screen: type, sent: object
) -> None:
    session = FakeSession(snapshot)
    app = an_app(session)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*keys)
        await pilot.pause()

        assert isinstance(app.screen, screen)
        assert session.sent == [sent]


async def test_escape_leaves_step_mode_and_probes_stay_paused() -> None:
    session = FakeSession(failing())
    app = an_app(session, pause_opens_step=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("space")
        session.publish(paused())
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()

        assert isinstance(app.screen, MainScreen)
        assert session.sent == [PauseProbes()]


async def test_pausing_opens_step_mode_if_configured() -> None:
    session = FakeSession(failing())
    app = an_app(session, pause_opens_step=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("space")
        await pilot.pause()

        assert isinstance(app.screen, StepScreen)
        assert session.sent == [PauseProbes()]
