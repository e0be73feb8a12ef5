"""Terminal sizes: where layouts change, and a notice below the minimum."""

from __future__ import annotations

from typing import Any

from textual.events import Resize
from textual.geometry import Size
from textual.screen import Screen, ScreenResultType
from textual.widgets import Static

from probetui.tui.services.changed_cells import ChangedCellsCompositor

LEAST = Size(40, 10)
"""Smaller terminals show one line with a notice."""

FRAMED = Size(60, 16)
"""Panes have no frames on smaller terminals."""

MOST = Size(1000, 400)
"""The largest size that is drawn; a larger terminal stays empty beyond it.

A terminal can report any size, and nothing else happens while a frame is drawn.
"""

WIDE = 160
"""The least width for panes beside each other below lanes."""

BY_WIDTH = [(0, "-tiny"), (FRAMED.width, "-narrow"), (100, "-normal"), (WIDE, "-wide")]
BY_HEIGHT = [(0, "-flat"), (FRAMED.height, "-short"), (22, "-middle"), (38, "-tall")]


def size_classes(size: Size) -> dict[str, bool]:
    """Return the style sheet classes of a size, each with whether it is set."""
    classes: dict[str, bool] = {}
    for least_sizes, cells in ((BY_WIDTH, size.width), (BY_HEIGHT, size.height)):
        names = [name for least, name in least_sizes if cells >= least]
        classes |= {name: name == names[-1] for _, name in least_sizes}
    return classes


def within_most(size: Size) -> Size:
    """Return the part of a terminal of that size that is drawn."""
    return Size(min(size.width, MOST.width), min(size.height, MOST.height))


def is_below(size: Size, least: Size) -> bool:
    """Return whether a size is less than `least` in width or height."""
    return size.width < least.width or size.height < least.height


TOO_SMALL = (
    f"Terminal too small (needs {LEAST.width} x {LEAST.height}). Probes keep running."
)


class MinimumSizeScreen(Screen[ScreenResultType], inherit_bindings=False):
    """Shows only a notice if the terminal is too small."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._compositor = ChangedCellsCompositor()

    def on_mount(self) -> None:
        if not self.is_attached:  # the program is exiting
            return
        self.mount(Static(TOO_SMALL, id="too-small", markup=False))

    def _compositor_refresh(self) -> None:
        # Textual discards what is drawn during a batch.
        if not self.app._batch_count:  # noqa: SLF001  # it has no public name
            super()._compositor_refresh()

    def paint_held(self) -> None:
        """Paint what has changed during a batch, and nothing else."""
        self._compositor.update_widgets(self._dirty_widgets)
        self._compositor_refresh()
        self.check_idle()

    def on_resize(self, event: Resize) -> None:
        self.set_class(is_below(event.size, LEAST), "-too-small")
