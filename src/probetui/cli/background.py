"""What a terminal that no screen is on tells of its background."""

from __future__ import annotations

import fcntl
import os
import termios
import tty
from contextlib import suppress
from select import select

from probetui.tui.background import AnswerSieve, Background, question

_MOST_SECONDS = 0.5
_INPUT, _OUTPUT = 0, 2
_CHUNK = 4096


def ask_terminal() -> Background | None:
    """Return what the terminal of this process answers, None if it does not."""
    sieve, typed = AnswerSieve(), b""
    before = termios.tcgetattr(_INPUT)
    try:
        tty.setcbreak(_INPUT, termios.TCSANOW)
        os.write(_OUTPUT, question(os.environ).encode("ascii"))
        while not sieve.is_settled and select([_INPUT], [], [], _MOST_SECONDS)[0]:
            typed += sieve.feed(os.read(_INPUT, _CHUNK))
    finally:
        termios.tcsetattr(_INPUT, termios.TCSANOW, before)
    _give_back(typed + sieve.pause())
    return sieve.background


def _give_back(typed: bytes) -> None:
    """Put back what was typed for whoever reads next, where that is allowed."""
    with suppress(OSError):
        for each in typed:
            fcntl.ioctl(_INPUT, termios.TIOCSTI, bytes([each]))
