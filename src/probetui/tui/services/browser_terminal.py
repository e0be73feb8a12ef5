"""A driver for a screen in a browser: output goes to a tab, input comes from there.

The emulator in the tab is xterm's, so that its escape sequences are those of a
terminal. Nothing here is of the process: no signals, no standard streams, no threads.
Many screens can be shown at once by one event loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from textual import constants
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.events import AppBlur, AppFocus, Resize
from textual.geometry import Size
from textual.message import Message

_ALTERNATE_SCREEN, _MAIN_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
_CURSOR_OFF, _CURSOR_ON = "\x1b[?25l", "\x1b[?25h"
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
_MOUSE_ON = "\x1b[?1000h\x1b[?1003h\x1b[?1006h"
_MOUSE_OFF = "\x1b[?1000l\x1b[?1003l\x1b[?1006l"
_QUERY_SYNC_MODE = "\x1b[?2026$p"


class BrowserTerminal(Protocol):
    """What a tab offers to the screen in it."""

    size: tuple[int, int]
    """Columns and rows when it was opened."""

    def write(self, text: str) -> None:
        """Send a text to the emulator; dropped once the tab is gone."""

    def is_writable(self) -> bool:
        """Return whether the browser keeps up with what was sent."""


class BrowserDriver(Driver):
    """Draws an app in a tab.

    Args:
        terminal: the tab.
        app: what is shown.
        mouse: whether the emulator reports the mouse.
    """

    def __init__(
        self, terminal: BrowserTerminal, app: App[Any], *, mouse: bool
    ) -> None:
        super().__init__(app, mouse=mouse, size=terminal.size)
        self._terminal = terminal
        self._parser = XTermParser()

    @property
    def is_web(self) -> bool:
        """Whether the screen is in a browser."""
        return True

    def is_writable(self) -> bool:
        """Return whether the browser keeps up with what is drawn."""
        return self._terminal.is_writable()

    def write(self, data: str) -> None:
        """Send a text to the emulator."""
        self._terminal.write(data)

    def feed(self, typed: str) -> None:
        """Handle what the emulator sends: keys, the mouse, pasted texts, replies."""
        if typed:  # an empty text would end the parser
            self._process(self._parser.feed(typed))
            # The escape key is known by what does not follow it.
            self._loop.call_later(constants.ESCAPE_DELAY, self._tick)

    def resize(self, columns: int, rows: int) -> None:
        """Draw for another size from now on."""
        self._size = columns, rows
        size = Size(columns, rows)
        self._app.post_message(Resize(size, size))

    def focus(self, *, is_focused: bool) -> None:
        """Tell the app whether keys go to this tab."""
        self._app.post_message(AppFocus() if is_focused else AppBlur())

    def start_application_mode(self) -> None:
        """Begin to draw."""
        self.write(_ALTERNATE_SCREEN + _CURSOR_OFF + _PASTE_ON + _QUERY_SYNC_MODE)
        if self._mouse:
            self._enable_mouse_support()
        self.resize(*self._terminal.size)

    def disable_input(self) -> None:
        """Do nothing: input ends with the tab."""

    def stop_application_mode(self) -> None:
        """Leave the emulator as it was."""
        self._disable_mouse_support()
        self.write(_PASTE_OFF + _CURSOR_ON + _MAIN_SCREEN)

    def _enable_mouse_support(self) -> None:
        self.write(_MOUSE_ON)

    def _disable_mouse_support(self) -> None:
        self.write(_MOUSE_OFF)

    def _tick(self) -> None:
        if self._app.is_running:
            self._process(self._parser.tick())

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)
