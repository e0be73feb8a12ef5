"""Terminal sizes: where layouts change, and a notice below the minimum."""

from __future__ import annotations

from typing import Any

from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen, ScreenResultType
from textual.widgets import Static

from probetui.tui.services.changed_cells import ChangedCellsCompositor

LEAST = Size(40, 10)
"""Below it there is one line that says so."""

FRAMED = Size(60, 16)
"""Below it panes have no frames."""

MOST = Size(1000, 400)
"""What is drawn at most: a larger terminal stays empty beyond it.

A terminal may claim any size, and a frame is drawn whole before anything else happens.
"""

BY_WIDTH = [(0, "-tiny"), (FRAMED.width, "-narrow"), (100, "-normal"), (160, "-wide")]
BY_HEIGHT = [(0, "-flat"), (FRAMED.height, "-short"), (22, "-middle"), (38, "-tall")]


def size_classes(size: Size) -> dict[str, bool]:
    """Return which of the classes a screen of that size has."""
    classes: dict[str, bool] = {}
    for least_sizes, cells in ((BY_WIDTH, size.width), (BY_HEIGHT, size.height)):
        names = [name for least, name in least_sizes if cells >= least]
        classes |= {name: name == names[-1] for _, name in least_sizes}
    return classes


def within_most(size: Size) -> Size:
    """Return how much of a terminal of that size is drawn."""
    return Size(min(size.width, MOST.width), min(size.height, MOST.height))


def is_below(size: Size, least: Size) -> bool:
    """Return whether a size lacks width or height."""
    return size.width < least.width or size.height < least.height


TOO_SMALL = (
    f"Terminal too small (needs {LEAST.width} x {LEAST.height}). Probes keep running."
)


class MinimumSizeScreen(Screen[ScreenResultType], inherit_bindings=False):
    """Where there is too little room, it says so and nothing else."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = ChangedCellsCompositor()

    def on_mount(self) -> None:
        if not self.is_attached:  # the program ends before the screen is there
            return
        self.mount(Static(TOO_SMALL, id="too-small", markup=False))

    def _compositor_refresh(self) -> None:
        # What is drawn while changes are gathered is thrown away.
        if not self.app._batch_count:  # noqa: SLF001  # it has no public name
            super()._compositor_refresh()

    def on_resize(self, event: Resize) -> None:
        self.set_class(is_below(event.size, LEAST), "-too-small")
