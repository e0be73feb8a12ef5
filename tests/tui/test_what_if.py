"""What if: the session so far under the numbers that are being chosen."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from probetui.analysis.lanes import Lanes
from probetui.analysis.session_outcome import ContainerTotals
from probetui.debugger.commands import EditProbe
from probetui.debugger.timing import Timing
from probetui.errors import UsageError
from probetui.k8s.probe import ProbeKey
from probetui.kubelet.journal import LifecycleStep
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices, Tried
from tests.ticks import DEMO_KEY, LIVENESS, NOW, history
from tests.tui.app_harness import an_app, line_with, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import a_container_entry, failing

SIZE = (80, 24)
STARTED_AT = NOW - timedelta(seconds=60)
KILLED = ContainerTotals(1, 1, timedelta(seconds=4), None, 12)
SPARED = ContainerTotals(0, 0, timedelta(seconds=12), None, 12, 3)


def lanes(letters: str) -> Lanes:
    """Return the lanes of the demo container, which has run for a minute."""
    drawn = Lanes()
    drawn.add_entries([a_container_entry("08:20:10", LifecycleStep.STARTED)])
    drawn.add_entries(history(DEMO_KEY, LIVENESS, letters, NOW))
    return drawn


def spared(key: ProbeKey, timing: Timing) -> Tried:
    """Return what a longer threshold would have changed."""
    assert key == DEMO_KEY
    assert timing.failure_threshold > LIVENESS.failure_threshold
    past = lanes("|sssssfffKhhh"), lanes("|sssssfffffff")
    return Tried(STARTED_AT, NOW, *past, KILLED, SPARED)


def an_app_that_tries(
    try_timing: Callable[[ProbeKey, Timing], Tried], **options: Any
) -> tuple[ProbetuiApp, FakeSession]:
    session = FakeSession(failing())
    host = HostServices(session_so_far=lambda: try_timing)
    return an_app(session, host=host, **options), session


async def test_the_lanes_of_the_numbers_are_above_those_of_today() -> None:
    app, _ = an_app_that_tries(spared, ascii=True)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "down", "down", "down", "right")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert "no kill, 8s longer not ready" in screen_text(app)
        assert "3 of its 12 probes were never measured" in screen_text(app)
        other, today = line_with(app, "what if  "), line_with(app, "today  ")
        assert "3" in today
        assert other != today
        text = screen_text(app)
        assert text.index("what if  ") < text.index("today  ")


async def test_enter_takes_the_numbers_in_the_running_session() -> None:
    app, session = an_app_that_tries(spared)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "down", "down", "down", "right", "enter")
        await app.workers.wait_for_complete()
        await pilot.pause()

    assert session.sent == [EditProbe(DEMO_KEY, Timing(5, 1, 5, 1, 4))]


async def test_nothing_is_tried_before_a_number_is_changed() -> None:
    app, _ = an_app_that_tries(spared)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "down")
        await pilot.pause()

        assert "today  " not in screen_text(app)


async def test_numbers_that_are_back_where_they_were_are_no_question() -> None:
    app, _ = an_app_that_tries(spared)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "down", "down", "down", "right", "left")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert "today  " not in screen_text(app)
        assert "trying" not in screen_text(app)


async def test_why_nothing_can_be_tried_is_said() -> None:
    def refuse(_key: ProbeKey, _timing: Timing) -> Tried:
        raise UsageError("this session is too long: use `probetui whatif`")

    app, _ = an_app_that_tries(refuse)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("e", "right")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert "this session is too long" in screen_text(app)


@pytest.mark.parametrize("size", [(40, 10), (60, 16), (200, 60)])
async def test_it_is_drawn_at_every_size(size: tuple[int, int]) -> None:
    app, _ = an_app_that_tries(spared)
    async with app.run_test(size=size) as pilot:
        await pilot.press("e", "down", "down", "down", "right")
        await app.workers.wait_for_complete()
        await pilot.pause()

        assert "no kill" in screen_text(app) or size == (40, 10)
