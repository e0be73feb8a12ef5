"""Run the program on a pseudo-terminal: send input and read its output."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.e2e.program import PROGRAM, Program

STOPPED = "T"
_LINES, _COLUMNS = 24, 80


class OnTerminal:
    """The program on a pseudo-terminal that the test controls and can close."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        environment: Mapping[str, str],
        program: str | Path = PROGRAM,
    ) -> None:
        whole = Program(home).environment | {"TERM": "xterm-256color", **environment}
        self.seen = b""
        self._ended: int | None = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(program, [str(program), *arguments], whole)
        size = struct.pack("HHHH", _LINES, _COLUMNS, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)

    def shows(self, text: bytes) -> bool:
        """Return whether the output contains a text."""
        self._read()
        return text in self.seen

    def send(self, data: bytes) -> None:
        """Send the input of a terminal: keys and replies."""
        os.write(self.terminal, data)

    @property
    def signals_by_keys(self) -> bool:
        """Whether ^C is a signal, which it is not while the screen is open."""
        self._read()
        modes: int = termios.tcgetattr(self.terminal)[3]
        return bool(modes & termios.ISIG)

    @property
    def is_stopped(self) -> bool:
        """Whether the program is suspended."""
        self._read()
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[0] == STOPPED

    def _read(self) -> None:
        """Read the output: the program would block otherwise."""
        while select.select([self.terminal], [], [], 0)[0]:
            try:
                self.seen += os.read(self.terminal, 1 << 16)
            except OSError:  # it has closed its side
                return

    @property
    def has_ended(self) -> bool:
        """Whether the program has exited; `status` is then its exit status."""
        if self._ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._ended = status if pid else None
        return self._ended is not None

    @property
    def status(self) -> int:
        """The exit status."""
        assert self._ended is not None
        return os.waitstatus_to_exitcode(self._ended)


@contextmanager
def on_terminal(
    home: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    program: str | Path = PROGRAM,
) -> Iterator[OnTerminal]:
    """Start the program on a pseudo-terminal; end both at the end of the block."""
    started = OnTerminal(
        home, *arguments, environment=environment or {}, program=program
    )
    try:
        yield started
    finally:
        with suppress(OSError):
            os.close(started.terminal)
        if not started.has_ended:
            os.kill(started.pid, 9)
            os.waitpid(started.pid, 0)
