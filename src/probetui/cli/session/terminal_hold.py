"""The terminal between two lessons: covered, and without input."""

from __future__ import annotations

import sys
import termios
from typing import Any, Self

COVER = "\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H\n Starting the next lesson."
"""What a terminal shows between two lessons."""

_UNCOVER = "\x1b[?1049l\x1b[?25h"
_LOCAL_MODES = 3


class TerminalHold:
    """Keeps the alternate screen between two screens; a context manager.

    What is typed meanwhile is neither echoed nor kept for the next screen.
    """

    def __init__(self) -> None:
        self._attributes: list[Any] | None = None

    def __enter__(self) -> Self:
        """Do nothing yet: the first screen covers the terminal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Show the terminal as it was, if no screen came."""
        if self._attributes is not None:
            self.release()
            _write(_UNCOVER)

    def cover_terminal(self) -> None:
        """Cover the terminal, as a screen has just given it back."""
        if sys.__stdin__ is None or not sys.__stdin__.isatty():
            return
        _write(COVER)
        self._attributes = termios.tcgetattr(sys.__stdin__)
        silent = termios.tcgetattr(sys.__stdin__)
        silent[_LOCAL_MODES] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.__stdin__, termios.TCSANOW, silent)

    def release(self) -> None:
        """Drop what was typed; the next screen covers the terminal now."""
        if self._attributes is not None:
            assert sys.__stdin__ is not None  # noqa: S101  # it was there before
            termios.tcsetattr(sys.__stdin__, termios.TCSAFLUSH, self._attributes)
            self._attributes = None


def _write(text: str) -> None:
    # Where the screen writes.
    if sys.__stderr__ is not None:
        sys.__stderr__.write(text)
        sys.__stderr__.flush()
