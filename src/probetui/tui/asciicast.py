"""The screen of an app as an asciicast, which `asciinema play` plays.

Only the differences between frames are written. The cast has no time of the day and
nothing of this machine: two runs write the same file.
Source: https://docs.asciinema.org/manual/asciicast/v2/
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct
from rich.console import Console
from rich.segment import Segment
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from probetui.safe_text import safe_line

_CLEAR = "\x1b[0m\x1b[H\x1b[2J"
_QUIET_ROUNDS = 10
"""A change passes through the queues of the app, of panes and of the screen."""
_CONSOLE = Console(force_terminal=True, color_system="truecolor", no_color=False)

Frame = Sequence[Strip]
"""The lines of a screen, from the top."""


class CastHeader(Struct, frozen=True):
    """What a cast says of itself: its size in cells, its title in a player.

    `command` is what was recorded; empty for none.
    """

    size: tuple[int, int]
    title: str
    command: str = ""

    def line(self) -> str:
        """Return the first line of the cast."""
        width, height = self.size
        header: dict[str, Any] = {"version": 2, "width": width, "height": height}
        if self.command:
            header["command"] = self.command
        header["title"] = safe_line(self.title)
        header["env"] = {"TERM": "xterm-256color"}
        return json.dumps(header) + "\n"


def frame_of(app: App[Any]) -> Frame:
    """Return the current screen of an app."""
    return app.screen._compositor.render_strips()  # noqa: SLF001  # as its screenshot


async def frames_of(
    app: App[Any], size: tuple[int, int], count: int, advance: Callable[[], object]
) -> AsyncIterator[Frame]:
    """Yield the screen of an app that no terminal shows, again and again.

    Args:
        app: it has not run yet, and has ended after the last frame.
        size: columns and rows.
        count: how many frames.
        advance: is called after each of them.
    """
    async with app.run_test(size=size) as pilot:
        for _ in range(count):
            await painted(pilot)
            yield frame_of(app)
            advance()


async def painted(pilot: Pilot[Any]) -> None:
    """Wait until nothing is left to lay out or to paint.

    `Pilot.pause` waits until the process is idle, as which it takes one that a busy
    machine does not let run: frames would then be of what was painted so far.
    """
    quiet = 0
    while quiet < _QUIET_ROUNDS:
        await pilot._wait_for_screen()  # noqa: SLF001  # of all widgets, one message each
        screen = pilot.app.screen
        is_done = not (screen._layout_required or screen._dirty_widgets)  # noqa: SLF001
        quiet = quiet + 1 if is_done else 0
        screen._on_timer_update()  # noqa: SLF001  # as `Pilot.pause`


async def cast_lines(
    header: CastHeader, frames: AsyncIterator[Frame], frame_seconds: float
) -> AsyncIterator[str]:
    """Yield the lines of a cast that shows all frames equally long.

    Args:
        header: what comes first.
        frames: screens of the header's size.
        frame_seconds: how long each of them is shown.
    """
    yield header.line()
    yield _output(0.0, _CLEAR)
    _, height = header.size
    before: Frame = [Strip([])] * height
    count = 0
    async for frame in frames:
        if written := "".join(_changes(before, frame)):
            yield _output(round(count * frame_seconds, 3), written)
        before = frame
        count += 1
    # The shell continues below the last frame.
    yield _output(float(count * frame_seconds), f"\x1b[{height};1H\r\n")


def _output(at: float, text: str) -> str:
    return json.dumps((at, "o", text)) + "\n"


def _changes(before: Frame, after: Frame) -> Iterator[str]:
    """Yield the output that changes one frame to the next, line by line."""
    for row, (old, new) in enumerate(zip(before, after, strict=True), 1):
        if old != new:
            kept = _alike(old, new)
            # An unchanged end of a line keeps its position: lines have full width.
            tail = _alike([*old][kept:][::-1], [*new][kept:][::-1])
            column = Segment.get_line_length([*new][:kept]) + 1
            changed = Strip([*new][kept : len(new) - tail])
            yield f"\x1b[{row};{column}H{changed.render(_CONSOLE)}"


def _alike(old: Iterable[Segment], new: Iterable[Segment]) -> int:
    """Return the number of equal segments at the beginning of two lines."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
