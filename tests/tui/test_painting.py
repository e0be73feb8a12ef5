"""A terminal shows the contents of the panes after many small updates."""

from __future__ import annotations

import gc
import re
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from textual._compositor import CompositorUpdate
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from probetui.kubelet.journal import NoteEntry
from probetui.tui.app import ProbetuiApp
from probetui.tui.panes.line_widget import LineWidget
from tests.ticks import NOW
from tests.tui.app_harness import an_app, screen_lines, screen_text
from tests.tui.fake_session import FakeSession
from tests.tui.scenes import failing, running

pytestmark = pytest.mark.real_time

_PARTS = re.compile(
    r"\x1b\[(\d+);(\d+)H|\x1b\[[\d;:]*m|\x1b\]8;[^\x1b]*\x1b\\|(\n)|(.)"
)


class Terminal:
    """A terminal's cells, which keep what was written to them."""

    def __init__(self, app: ProbetuiApp, size: tuple[int, int]) -> None:
        self._app = app
        self.first: list[str] = []
        """The lines after the first write."""

        self._cells = [[" "] * size[0] for _ in range(size[1])]
        display = app._display

        def noting(screen: Any, update: Any) -> None:
            if isinstance(update, CompositorUpdate):
                self._write(update.render_segments(app.console))
                self.first = self.first or self.lines
            display(screen, update)

        app._display = noting  # type: ignore[method-assign, assignment]  # to look at it

    @property
    def lines(self) -> list[str]:
        """The lines of the terminal."""
        return ["".join(row) for row in self._cells]

    def _write(self, text: str) -> None:
        x = y = 0
        for part in _PARTS.finditer(text):
            row, column, _, character = part.groups()
            if row:
                y, x = int(row) - 1, int(column) - 1
            elif character:
                width = cell_len(character)
                self._cells[y][x : x + width] = [character] + [""] * (width - 1)
                x += width


def repainted(app: ProbetuiApp) -> list[str]:
    """Return the lines of the screen after a complete repaint."""
    for widget in app.screen.query(Widget):
        widget._styles_cache.clear()
    return screen_lines(app)


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 50)])
async def test_the_first_paint_is_the_complete_screen(
    size: tuple[int, int],
) -> None:
    app = an_app(FakeSession(failing()))
    terminal = Terminal(app, size)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()

        assert terminal.first == terminal.lines == repainted(app)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("seed", [1, 2])
async def test_no_row_keeps_a_part_of_its_previous_content(
    size: tuple[int, int], seed: int
) -> None:
    random = Random(seed)
    keys = ["3", "1", "k", "j", "G", "g", "2", "z", "h", "W", "tab", "o"]
    session = FakeSession(failing())
    app = an_app(session)
    terminal = Terminal(app, size)
    number = 100
    async with app.run_test(size=size) as pilot:
        for _ in range(25):
            fresh = []
            for _ in range(random.randrange(4)):
                number += 1
                at = NOW + timedelta(seconds=number / 7)
                fresh.append(NoteEntry(number, at, f"note {number} " * (number % 9)))
            scene = running() if random.random() < 0.1 else failing()
            session.publish(scene, *fresh)
            if random.random() < 0.3:
                await pilot.press(random.choice(keys))
            await pilot.pause()

            shown = terminal.lines
            assert shown == repainted(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_events_that_arrived_while_the_pane_was_hidden_are_shown_later(
    size: tuple[int, int],
) -> None:
    session = FakeSession(failing())
    app = an_app(session)
    terminal = Terminal(app, size)
    async with app.run_test(size=size) as pilot:
        await pilot.press("1", "z")
        await pilot.pause()
        session.publish(failing(), NoteEntry(100, NOW, "new note"))
        await pilot.pause()
        hidden = screen_text(app)
        await pilot.press("z")
        await pilot.pause()

        assert "new note" not in hidden
        assert any("new note" in line for line in terminal.lines)


async def test_changed_lines_leave_no_cycles_for_the_garbage_collector() -> None:
    session = FakeSession(failing())
    app = an_app(session)

    async def let_time_pass(pilot: Pilot[None], seconds: range) -> None:
        for second in seconds:
            at = NOW + timedelta(seconds=second)
            session.publish(replace(failing(), taken_at=at))
            await pilot.pause(0.05)

    async with app.run_test() as pilot:
        await let_time_pass(pilot, range(1, 5))
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await let_time_pass(pilot, range(5, 9))
            gc.collect()
            garbage = {type(found) for found in gc.garbage}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()

    assert Strip not in garbage


@pytest.mark.parametrize(
    "keys", [(), ("v",), ("enter",), ("w",), ("?",), ("l",), ("s",)], ids=str
)
async def test_nothing_is_around_the_lines_of_a_widget(keys: tuple[str, ...]) -> None:
    app = an_app(FakeSession(failing()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        shown = [widget for widget in app.screen.query(LineWidget) if widget.region]

        assert shown
        assert all(widget.content_region.size == widget.size for widget in shown)
