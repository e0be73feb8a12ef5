"""Screen or lines: what the terminal allows; the keyboard after a piped manifest."""

from __future__ import annotations

import io
import os
import sys
from enum import Enum
from typing import TextIO

from msgspec import Struct

from probetui.errors import UsageError

_KEYBOARD = "/dev/tty"
_STDIN = 0
_DRAWN = "━✓█…"


class Form(Enum):
    """How a session is shown."""

    SCREEN = "screen"
    LINES = "lines"
    WEB = "web"
    """A screen in a browser, and lines in the terminal."""


class Terminal(Struct, frozen=True):
    """Which standard streams are terminals.

    `has_keyboard` says that keys can be read although standard input is no terminal.
    """

    stdin: bool
    stdout: bool
    stderr: bool
    term: str
    has_keyboard: bool

    @property
    def is_dumb(self) -> bool:
        """Whether it has no escape sequences."""
        return self.term in {"", "dumb"}

    @classmethod
    def here(cls) -> Terminal:
        """Inspect this process."""
        return cls(
            stdin=_is_terminal(sys.stdin),
            stdout=_is_terminal(sys.stdout),
            stderr=_is_terminal(sys.stderr),
            term=os.environ.get("TERM", ""),
            has_keyboard=_keyboard_opens(),
        )


def choose_form(
    terminal: Terminal,
    *,
    wanted: str | None,
    reads_stdin: bool,
    records_to_stdout: bool,
) -> Form:
    """Return how a session is shown.

    Args:
        terminal: what there is.
        wanted: `plain`, `tui`, or None for what fits.
        reads_stdin: the manifest comes from standard input.
        records_to_stdout: the record goes to standard output.

    Raises:
        UsageError: a screen is wanted where there can be none.
    """
    if wanted == "plain":
        return Form.LINES
    obstacle = _obstacle(
        terminal,
        reads_stdin=reads_stdin,
        needs_stdout=not records_to_stdout and wanted != "tui",
    )
    if records_to_stdout and terminal.stdout:
        obstacle = "--record - would write into the screen; send it to a file or a pipe"
    if not obstacle:
        return Form.SCREEN
    if wanted == "tui":
        raise UsageError(f"--tui: {obstacle}")
    return Form.LINES


def _obstacle(terminal: Terminal, *, reads_stdin: bool, needs_stdout: bool) -> str:
    """Return why there can be no screen, empty if there can."""
    if not reads_stdin and not terminal.stdin:
        return "standard input is not a terminal"
    if reads_stdin and not (terminal.stdin or terminal.has_keyboard):
        return f"the manifest comes from standard input and {_KEYBOARD} does not open"
    if needs_stdout and not terminal.stdout:
        return "standard output is not a terminal"
    # The screen is drawn on standard error.
    if not terminal.stderr:
        return "standard error is not a terminal"
    if terminal.is_dumb:
        return f'the terminal cannot place the cursor (TERM="{terminal.term}")'
    return ""


def draws_unicode(screen: TextIO | None) -> bool:
    """Return whether the stream that a screen is drawn on takes its characters.

    Others would get escapes of what their encoding lacks.
    """
    if screen is None:
        return True
    try:
        _DRAWN.encode(screen.encoding)
    except UnicodeEncodeError:
        return False
    return True


def take_keyboard() -> None:
    """Make standard input the keyboard again, once a piped manifest has been read."""
    if not _is_terminal(sys.stdin):
        keyboard = os.open(_KEYBOARD, os.O_RDWR)
        os.dup2(keyboard, _STDIN)
        os.close(keyboard)


def _is_terminal(stream: object) -> bool:
    """Return whether it is one; None is a stream that was closed at the start."""
    return isinstance(stream, io.TextIOBase) and stream.isatty()


def _keyboard_opens() -> bool:
    try:
        os.close(os.open(_KEYBOARD, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
