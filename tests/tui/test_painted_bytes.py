"""The number of bytes written to the terminal, which slow lines have to transfer."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from msgspec.structs import replace
from textual.drivers.headless_driver import HeadlessDriver

from probetui.engine.snapshot import Snapshot
from probetui.tui.services import terminal
from tests.ticks import NOW
from tests.tui.app_harness import an_app, screen_lines
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, running
from tests.tui.snapshots import a_snapshot, demo

pytestmark = pytest.mark.real_time

SIZE = (80, 24)
UPDATES_PER_SECOND = 4
MOST_BYTES_PER_SECOND = 4_000


def later(snapshot: Snapshot, updates: int) -> Snapshot:
    at = NOW + timedelta(seconds=updates / UPDATES_PER_SECOND)
    return replace(snapshot, taken_at=at)


class Painted:
    """The bytes that an app wrote to its terminal over time, and the final screen."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._session = FakeSession(snapshot)
        self._snapshot = snapshot
        self.written = ""
        self.before: list[str] = []
        self.after: list[str] = []

    def write(self, data: str) -> None:
        self.written += data

    async def let_time_pass(self, seconds: int) -> None:
        """Update the screen that often, each time after the last one is painted."""
        app = an_app(self._session)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            self.before = screen_lines(app)
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(terminal, "is_terminal_writable", lambda: True)
                patched.setattr(HeadlessDriver, "is_headless", False)
                patched.setattr(HeadlessDriver, "write", self.write)
                for update in range(1, seconds * UPDATES_PER_SECOND + 1):
                    written = self.written
                    self._session.publish(later(self._snapshot, update))
                    for _ in range(50):
                        await pilot.pause(0.01)
                        if self.written != written:
                            break
            self.after = screen_lines(app)


CALM = [
    pytest.param(a_snapshot(demo()), id="one pod"),
    pytest.param(running(), id="several pods"),
]


@pytest.mark.parametrize("snapshot", CALM)
async def test_a_calm_screen_needs_few_bytes(snapshot: Snapshot) -> None:
    seconds = 3
    painted = Painted(snapshot)
    await painted.let_time_pass(seconds)

    assert len(painted.written.encode()) / seconds < MOST_BYTES_PER_SECOND


@pytest.mark.parametrize("snapshot", [*CALM, pytest.param(failing(), id="in trouble")])
async def test_partial_paints_give_the_complete_screen(snapshot: Snapshot) -> None:
    painted = Painted(snapshot)
    await painted.let_time_pass(3)

    assert painted.after != painted.before
    assert terminal_after(painted.before, painted.written) == painted.after


def terminal_after(lines: list[str], written: str) -> list[str]:
    """Return the lines of a terminal after it received what was written."""
    cells = [list(line) for line in lines]
    x = y = 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\n|[^\x1b\n]+", written):
        if move := re.fullmatch(r"\x1b\[(\d+);(\d+)H", part):
            y, x = int(move[1]) - 1, int(move[2]) - 1
        elif part.isprintable():
            cells[y][x : x + len(part)] = part
            x += len(part)
    return ["".join(line) for line in cells]
