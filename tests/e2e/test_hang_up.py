"""The terminal is closed while the screen is on it."""

from __future__ import annotations

import os
import pty
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.program import PROGRAM, Program, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

HUNG_UP = 129
TO_THE_SHELL = b"\x1a"
STOPPED = "T"


class OnTerminal:
    """The demo on a terminal of its own, which can be closed."""

    def __init__(self, home: Path) -> None:
        environment = Program(home).environment | {"TERM": "xterm-256color"}
        self._seen = b""
        self._ended: int | None = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(PROGRAM, [str(PROGRAM), "demo"], environment)

    def shows(self, text: bytes) -> bool:
        """Tell whether a text has been on the screen."""
        self._read()
        return text in self._seen

    @property
    def is_stopped(self) -> bool:
        """Whether it has left the terminal to the shell."""
        self._read()
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] == STOPPED

    def _read(self) -> None:
        """Take what it draws: it would wait for somebody who does."""
        while select.select([self.terminal], [], [], 0)[0]:
            self._seen += os.read(self.terminal, 1 << 16)

    @property
    def has_ended(self) -> bool:
        """Whether it is gone; `status` then says how."""
        if self._ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._ended = status if pid else None
        return self._ended is not None

    @property
    def status(self) -> int:
        """Its exit status."""
        assert self._ended is not None
        return os.waitstatus_to_exitcode(self._ended)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[OnTerminal]:
    started = OnTerminal(tmp_path)
    yield started
    with suppress(OSError):
        os.close(started.terminal)
    if not started.has_ended:
        os.kill(started.pid, 9)
        os.waitpid(started.pid, 0)


def test_it_ends_its_pods_and_itself(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP


def test_it_does_so_too_when_it_was_stopped_for_the_shell(demo: OnTerminal) -> None:
    wait_until(lambda: demo.shows(b"Running"), "the screen")
    os.write(demo.terminal, TO_THE_SHELL)
    wait_until(lambda: demo.is_stopped, "the shell")

    os.close(demo.terminal)

    wait_until(lambda: demo.has_ended, "the end")
    assert demo.status == HUNG_UP
