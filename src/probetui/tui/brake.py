"""Painting stops while the terminal takes nothing; the session goes on.

The framework waits for a terminal that is stopped (`^s`, a connection that hangs) once
a few frames are queued, and with it would every probe.
"""

from __future__ import annotations

import select
import sys
from contextlib import ExitStack
from typing import Any

from textual.app import App

_LOOKS_AGAIN_SECONDS = 0.05


class Brake:
    """Holds the paint of an app back; what is painted afterwards is the newest."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._held = ExitStack()
        self._is_held = False

    def check(self) -> None:
        """Hold the paint back if the terminal takes none; called before each frame."""
        if self._is_held or self._app.is_headless or terminal_takes_more():
            return
        self._is_held = True
        self._held.enter_context(self._app.batch_update())
        looking = self._app.set_interval(_LOOKS_AGAIN_SECONDS, self._look_again)
        self._held.callback(looking.stop)

    def _look_again(self) -> None:
        if terminal_takes_more():
            self._held.close()
            self._is_held = False
            self._app.screen.refresh()


def terminal_takes_more() -> bool:
    """Tell whether writing to the terminal would not have to wait."""
    # The framework writes to standard error, however `sys.stderr` is redirected.
    output = sys.__stderr__
    return output is None or bool(select.select([], [output.fileno()], [], 0)[1])
