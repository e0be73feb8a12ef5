"""A screen that says where there is too little room for anything."""

from __future__ import annotations

from textual.events import Resize
from textual.screen import Screen, ScreenResultType
from textual.widgets import Static

from probetui.tui.screens.sizes import LEAST, is_below

_WORDS = f"too small for probetui ({LEAST.width} x {LEAST.height}); it runs on"


class CoveredScreen(Screen[ScreenResultType], inherit_bindings=False):
    """Where there is too little room, it says so and nothing else."""

    def on_mount(self) -> None:
        if not self.is_attached:  # the program ends before the screen is there
            return
        self.mount(Static(_WORDS, id="too-small", markup=False))

    def on_resize(self, event: Resize) -> None:
        self.set_class(is_below(event.size, LEAST), "-too-small")
