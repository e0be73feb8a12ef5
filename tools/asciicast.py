"""Write the screen of an app as an asciicast, which `asciinema play` plays.

Only the differences between frames are written. The cast has no time of the day and
nothing of this machine: two runs write the same file.
Source: https://docs.asciinema.org/manual/asciicast/v2/
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.segment import Segment
from textual.app import App
from textual.strip import Strip

_CLEAR = "\x1b[0m\x1b[H\x1b[2J"
_CONSOLE = Console(force_terminal=True, color_system="truecolor", no_color=False)

Frame = Sequence[Strip]
"""The lines of a screen, from the top."""


def frame_of(app: App[Any]) -> Frame:
    """Return the current screen of an app."""
    return app.screen._compositor.render_strips()  # noqa: SLF001  # as its screenshot


def asciicast(frames: Sequence[Frame], seconds: float, title: str) -> str:
    """Return a cast that shows all frames equally long.

    Args:
        frames: screens of one size.
        seconds: the total duration.
        title: the title in a player.
    """
    first = frames[0]
    header = {
        "version": 2,
        "width": first[0].cell_length,
        "height": len(first),
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }
    events: list[tuple[float, str, str]] = [(0.0, "o", _CLEAR)]
    before: Frame = [Strip([])] * len(first)
    for number, frame in enumerate(frames):
        if written := "".join(_changes(before, frame)):
            events.append((round(number * seconds / len(frames), 3), "o", written))
        before = frame
    # The shell continues below the last frame.
    events.append((float(seconds), "o", f"\x1b[{len(first)};1H\r\n"))
    return "".join(json.dumps(line) + "\n" for line in (header, *events))


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
