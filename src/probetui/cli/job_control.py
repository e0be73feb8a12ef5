"""Stopping the screen for the shell, and going on."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_STDIN = 0

Handler = Callable[[int, FrameType | None], object]


class JobControl:
    """Lets the screen come back only if it was stopped and its terminal is there.

    A terminal that is closed continues what ran in it, stopped or not. Textual would
    draw its screen and read keys from there once more, and never end.
    """

    def __init__(self) -> None:
        self._stop: Handler | None = None
        self._go_on: Handler | None = None
        self._was_stopped = False

    def begin(self) -> None:
        """Stand between the signals and what the screen has for them."""
        self._stop = _handler(signal.SIGTSTP)
        self._go_on = _handler(signal.SIGCONT)
        signal.signal(signal.SIGTSTP, self._on_stop)
        signal.signal(signal.SIGCONT, self._on_go_on)

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Have the signals do what they do to any program, after what is inside."""
        try:
            yield
        finally:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.signal(signal.SIGCONT, signal.SIG_DFL)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._was_stopped = True
        if self._stop is not None:
            self._stop(number, frame)

    def _on_go_on(self, number: int, frame: FrameType | None) -> None:
        was_stopped, self._was_stopped = self._was_stopped, False
        if self._go_on is not None and was_stopped and os.isatty(_STDIN):
            self._go_on(number, frame)


def _handler(number: signal.Signals) -> Handler | None:
    found = signal.getsignal(number)
    return found if callable(found) else None
