"""The terminal: stop painting while it blocks, ask it for its background colour."""

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

from probetui.tui.messages import BackgroundDetected
from probetui.tui.services.terminal_background import (
    TerminalBackground,
    TerminalReplyFilter,
    question,
)
from probetui.tui.state import StatefulApp

_LOOKS_AGAIN_SECONDS = 0.05


class TerminalBackpressure:
    """Holds the paint of an app back; what is painted afterwards is the newest."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._held = ExitStack()
        self._is_held = False

    def check(self) -> None:
        """Hold the paint back if the terminal takes none; called before each frame."""
        if self._is_held or self._app.is_headless or is_terminal_writable():
            return
        self._is_held = True
        self._held.enter_context(self._app.batch_update())
        looking = self._app.set_interval(_LOOKS_AGAIN_SECONDS, self._look_again)
        self._held.callback(looking.stop)

    def _look_again(self) -> None:
        if is_terminal_writable():
            self._held.close()
            self._is_held = False
            self._app.screen.refresh()


def is_terminal_writable() -> bool:
    """Return whether writing to the terminal would not have to wait."""
    # The framework writes to standard error, however `sys.stderr` is redirected.
    output = sys.__stderr__
    return output is None or bool(select.select([], [output.fileno()], [], 0)[1])


_PAUSE_SECONDS = 0.1
_MOST_PAUSES = 3
"""Without an answer, after which the terminal is given back without one."""

_CHUNK = 4096


_FULL_SECONDS = 0.05
_MOST_FULL = 20
"""How often a terminal may be found full, on the way out, before the rest is lost."""


class TerminalOutput:
    """A terminal to write to; what one that was closed does not take is lost.

    The framework's thread that writes would end with an error, and whoever hands it
    more than its queue holds would wait for ever. On the way out what a terminal does
    not take for a second is lost, too, if nobody is there to wait for it.

    Args:
        file: the terminal.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._descriptor = _open_unblocked(file)
        self._waits = True
        self._times_full = 0

    def write(self, text: str) -> None:
        """Write a text, if it is taken."""
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
        """Write what was kept back, if it is taken."""
        with suppress(OSError):
            self._file.flush()

    def stop_waiting(self) -> None:
        """Lose from now on what a terminal does not take for a second."""
        self._times_full = 0
        self._waits = False

    def close(self) -> None:
        """Close what was opened to write to the terminal."""
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
    """Open a terminal a second time, so that a write to it need not wait.

    The file itself is shared with the shell, which expects to wait. None where the
    terminal has no name here.
    """
    try:
        name = os.ttyname(file.fileno())
        return os.open(name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return None


class TerminalDriver(LinuxDriver):
    """Writes to the terminal without an end of its own to wait for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._screen_file = self._file
        self._output: TerminalOutput | None = None

    def start_application_mode(self) -> None:
        if self._screen_file is not None:
            self._output = TerminalOutput(self._screen_file)
            self._file: Any = self._output
        super().start_application_mode()  # type: ignore[no-untyped-call]  # the framework's

    def stop_waiting(self) -> None:
        """Lose from now on what a terminal does not take for a second."""
        if self._output is not None:
            self._output.stop_waiting()

    def close(self) -> None:
        super().close()
        if self._output is not None:
            self._output.close()


class BackgroundQueryDriver(TerminalDriver):
    """Queries the background when it takes the terminal; posts the reply."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._sieve = TerminalReplyFilter()
        self._posted: TerminalBackground | None = None
        self._is_settled = Event()

    def start_application_mode(self) -> None:
        self._sieve, self._posted = TerminalReplyFilter(), None
        self._is_settled.clear()
        super().start_application_mode()
        if self._key_thread is not None:
            self.write(question(os.environ))
            self.flush()

    def stop_application_mode(self) -> None:
        # An answer that comes later would be typed into the shell.
        if self._key_thread is not None:
            self._is_settled.wait(_PAUSE_SECONDS * _MOST_PAUSES)
        super().stop_application_mode()

    def run_input_thread(self) -> None:
        """Hand on what is typed, until the terminal is to be given back."""
        parser = XTermParser()
        decode = getincrementaldecoder("utf-8")("replace").decode
        for typed in self._typed():
            text = decode(typed)
            self._process(parser.feed(text) if text else ())
            self._process(parser.tick())
            self._look_at_answers()

    def _typed(self) -> Iterator[bytes]:
        """Go through what is read, without answers; empty where nothing came."""
        pauses = 0
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], _PAUSE_SECONDS)[0]:
                yield self._sieve.feed(os.read(self.fileno, _CHUNK))
                continue
            pauses += 1
            if pauses == _MOST_PAUSES:
                self._is_settled.set()
            yield self._sieve.pause()

    def _look_at_answers(self) -> None:
        if self._sieve.is_settled:
            self._is_settled.set()
        if self._sieve.background != self._posted:
            self._posted = self._sieve.background
            assert self._posted is not None  # noqa: S101  # it is never taken back
            self.process_message(BackgroundDetected(self._posted))

    def _process(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)


def toggle_mouse(app: StatefulApp) -> None:
    """Leave the mouse to the terminal, so that it selects text, or capture it again."""
    name = "disable" if app.has_mouse else "enable"
    change = getattr(app._driver, f"_{name}_mouse_support", None)  # noqa: SLF001  # the framework has no other way
    if change is None:
        app.notify("This terminal has no mouse support to switch.")
        return
    change()
    app.has_mouse = not app.has_mouse
    whose = "probetui" if app.has_mouse else "the terminal"
    app.notify(f"Mouse: {whose}")
