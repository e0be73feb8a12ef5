"""The terminal: pause painting while it blocks, query its background colour."""

from __future__ import annotations

import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from threading import Event
from typing import Any, TextIO

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message
from textual.screen import Screen

from probetui.safe_text import safe_line
from probetui.tui.messages import BackgroundDetected
from probetui.tui.screens.sizes import MinimumSizeScreen
from probetui.tui.services.terminal_background import (
    TerminalBackground,
    TerminalReplyFilter,
    question,
)
from probetui.tui.state import StatefulApp

_CHECK_SECONDS = 0.05


class TerminalBackpressure:
    """Pauses painting while the terminal blocks; the newest state is painted then."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._pause = ExitStack()
        self._is_paused = False
        self._screen: Screen[Any] | None = None

    @property
    def is_paused(self) -> bool:
        """Whether the terminal takes nothing now."""
        return self._is_paused

    def check(self) -> None:
        """Pause painting if the terminal would block; called before each frame."""
        if self._is_paused or self._app.is_headless or self._is_writable():
            return
        self._is_paused = True
        self._screen = self._app.screen if self._app.screen_stack else None
        self._pause.enter_context(self._app.batch_update())
        checks = self._app.set_interval(_CHECK_SECONDS, self._check_again)
        self._pause.callback(checks.stop)

    def _check_again(self) -> None:
        if self._is_writable():
            self._pause.close()
            self._is_paused = False
            screen = self._app.screen
            if screen is self._screen and isinstance(screen, MinimumSizeScreen):
                screen.paint_held()
            else:
                screen.refresh()

    def _is_writable(self) -> bool:
        driver = self._app._driver  # noqa: SLF001  # Textual has no public way
        # A screen in a browser does not wait for this terminal.
        return bool(getattr(driver, "is_writable", is_terminal_writable)())


def is_terminal_writable() -> bool:
    """Return whether writing to the terminal would not block."""
    # Textual writes to the original standard error, even if `sys.stderr` is redirected.
    output = sys.__stderr__
    return output is None or bool(select.select([], [output.fileno()], [], 0)[1])


_PAUSE_SECONDS = 0.1
_MOST_PAUSES = 3
"""The pauses to wait for a reply before the terminal is released."""

_CHUNK = 4096


_FULL_SECONDS = 0.05
_MOST_FULL = 20
"""How often on exit a terminal may be full before the rest of the output is dropped."""


class TerminalOutput:
    """Writes to a terminal; output that a closed terminal does not accept is dropped.

    Otherwise Textual's writer thread would end with an error, and a caller that fills
    its queue would block for ever. After `stop_waiting`, output that the terminal does
    not accept for a second is dropped, too.

    Args:
        file: the terminal.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._descriptor = _open_unblocked(file)
        self._waits = True
        self._times_full = 0

    def write(self, text: str) -> None:
        """Write a text, if the terminal accepts it."""
        with suppress(OSError):
            if self._descriptor is None:
                self._file.write(text)
            else:
                errors = self._file.errors or "strict"
                data = text.encode(self._file.encoding, errors)
                self._write_all(self._descriptor, memoryview(data))

    def _write_all(self, descriptor: int, data: memoryview) -> None:
        while data and (self._waits or self._times_full < _MOST_FULL):
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                self._times_full += 1
                select.select([], [descriptor], [], _FULL_SECONDS)
            else:
                self._times_full = 0

    def flush(self) -> None:
        """Write buffered output, if the terminal accepts it."""
        with suppress(OSError):
            self._file.flush()

    def stop_waiting(self) -> None:
        """From now on drop output that the terminal does not accept for a second."""
        self._times_full = 0
        self._waits = False

    def close(self) -> None:
        """Close the descriptor that this object opened."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def fileno(self) -> int:
        """Return the terminal's descriptor."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return self._file.isatty()


def _open_unblocked(file: TextIO) -> int | None:
    """Open a terminal a second time, in non-blocking mode.

    The file itself is shared with the shell, which expects blocking writes. None if the
    terminal has no name here.
    """
    try:
        name = os.ttyname(file.fileno())
        return os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None


_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
_TITLE, _NOTIFICATION = "\x1b]2;{}\x07", "\x1b]9;{}\x07\x07"
_WITHOUT_TITLE = frozenset({"", "dumb", "linux"})
"""Terminals that have no window; some would print the title."""


class TerminalDriver(LinuxDriver):
    """Writes through a `TerminalOutput`, so that exiting never blocks.

    The title of the terminal is saved when the screen opens and restored when it
    closes, for a shell too.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._screen_file = self._file
        self._output: TerminalOutput | None = None
        self._title = ""
        self._is_open = False
        self._has_title = os.environ.get("TERM", "") not in _WITHOUT_TITLE

    def show_title(self, title: str) -> None:
        """Set the title of the terminal, if it is another one; safe text only."""
        if title == self._title:
            return
        self._title = title
        if self._is_open and self._has_title:
            self.write(_TITLE.format(safe_line(title)))

    def notify(self, text: str) -> None:
        """Ring the bell, and show a notification where the terminal has any."""
        if self._is_open and self._has_title:
            self.write(_NOTIFICATION.format(safe_line(text)))

    def start_application_mode(self) -> None:
        if self._screen_file is not None:
            self._output = TerminalOutput(self._screen_file)
            self._file: Any = self._output
        super().start_application_mode()  # type: ignore[no-untyped-call]  # the framework's
        # Without a key thread it is in the background, and nothing was written.
        self._is_open = self._key_thread is not None
        if self._is_open and self._has_title:
            self.write(_PUSH_TITLE)
            self.write(_TITLE.format(safe_line(self._title)) if self._title else "")

    def stop_application_mode(self) -> None:
        if self._is_open and self._has_title:
            self.write(_POP_TITLE)
        self._is_open = False
        super().stop_application_mode()

    def stop_waiting(self) -> None:
        """From now on drop output that the terminal does not accept for a second."""
        if self._output is not None:
            self._output.stop_waiting()

    def close(self) -> None:
        super().close()
        if self._output is not None:
            self._output.close()


class BackgroundQueryDriver(TerminalDriver):
    """Queries the background colour when it starts; posts the reply."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._reply_filter = TerminalReplyFilter()
        self._posted: TerminalBackground | None = None
        self._is_settled = Event()

    def start_application_mode(self) -> None:
        self._reply_filter, self._posted = TerminalReplyFilter(), None
        self._is_settled.clear()
        super().start_application_mode()
        if self._key_thread is not None:
            self.write(question(os.environ))
            self.flush()

    def stop_application_mode(self) -> None:
        # A later reply would be typed into the shell.
        if self._key_thread is not None:
            self._is_settled.wait(_PAUSE_SECONDS * _MOST_PAUSES)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Process input until the terminal is released."""
        parser = XTermParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        for typed in self._typed():
            text = decode(typed)
            self._process(parser.feed(text) if text else ())
            self._process(parser.tick())
            self._handle_replies()

    def _typed(self) -> Iterator[bytes]:
        """Yield the input without replies; empty if nothing came within a pause."""
        pauses = 0
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], _PAUSE_SECONDS)[0]:
                yield self._reply_filter.feed(os.read(self.fileno, _CHUNK))
                continue
            pauses += 1
            if pauses == _MOST_PAUSES:
                self._is_settled.set()
            yield self._reply_filter.pause()

    def _handle_replies(self) -> None:
        if self._reply_filter.is_settled:
            self._is_settled.set()
        if self._reply_filter.background != self._posted:
            self._posted = self._reply_filter.background
            assert self._posted is not None  # noqa: S101  # it is never reset
            self.process_message(BackgroundDetected(self._posted))

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)


def toggle_mouse(app: StatefulApp) -> None:
    """Leave the mouse to the terminal, which then selects text, or capture it again."""
    name = "disable" if app.has_mouse else "enable"
    change = getattr(app._driver, f"_{name}_mouse_support", None)  # noqa: SLF001  # Textual has no public way
    if change is None:
        app.notify("This terminal has no mouse support to switch.")
        return
    change()
    app.has_mouse = not app.has_mouse
    whose = "probetui" if app.has_mouse else "the terminal"
    app.notify(f"Mouse: {whose}")
