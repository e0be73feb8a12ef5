"""Textual's timers on a machine so busy that they start after they are due."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
from textual import _time
from textual.geometry import Size

from tests.tui.app_harness import an_app
from tests.tui.scenes import failing

SIZE = (120, 40)
LATE_SECONDS = 0.012
"""Longer than Textual's timer waits for another resize."""
PATIENCE_SECONDS = 10


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let that much time pass between two reads of the clock."""
    reads = count()
    monkeypatch.setattr(_time, "get_time", lambda: next(reads) * LATE_SECONDS)


@pytest.mark.usefixtures("slow_clock")
async def test_a_new_size_is_applied() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.resize_terminal(100, 30)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while app.screen.size != Size(100, 30):
                await pilot.pause()

        await pilot.resize_terminal(80, 24)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while app.screen.size != Size(80, 24):
                await pilot.pause()


@pytest.mark.usefixtures("slow_clock")
async def test_delayed_painting_continues() -> None:
    app = an_app(failing())
    async with app.run_test(size=SIZE) as pilot:
        app.delay_update(LATE_SECONDS / 2)
        assert app._batch_count
        async with asyncio.timeout(PATIENCE_SECONDS):
            while app._batch_count:
                await pilot.pause()
