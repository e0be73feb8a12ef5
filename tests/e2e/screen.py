"""A real terminal in tmux: send keys and read the screen."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.program import wait_until

PROMPT = "at-the-prompt>"


class Terminal:
    """One tmux session with a shell in it."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def tmux(self, *args: str) -> str:
        """Run a tmux command and return what it prints."""
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), "-f", "/dev/null", *args],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    @property
    def text(self) -> str:
        """The text on the screen."""
        return self.tmux("capture-pane", "-p")

    @property
    def is_covered(self) -> bool:
        """Whether a program uses the alternate screen."""
        return self.tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def type(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        self.tmux("send-keys", *keys)

    def enter(self, line: str) -> None:
        """Type a line and press enter."""
        self.tmux("send-keys", "-l", line)
        self.type("Enter")

    def wait_for(self, *texts: str) -> None:
        """Wait until the screen contains all texts at the same time."""

        def shows_all() -> bool:
            shown = self.text
            return all(text in shown for text in texts)

        with self._shown_where_it_fails():
            wait_until(shows_all, f"{texts}")

    def wait_without(self, text: str) -> None:
        """Wait until the screen no longer contains the text."""
        with self._shown_where_it_fails():
            wait_until(lambda: text not in self.text, f"the end of {text}")

    @contextmanager
    def _shown_where_it_fails(self) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            error.add_note(f"the screen is:\n{self.text}")
            raise


@contextmanager
def terminal(
    environment: Mapping[str, str], width: int = 120, height: int = 40
) -> Iterator[Terminal]:
    """Open a terminal of that size, with a shell at its prompt."""
    variables = {**environment, "TERM": "screen-256color", "PS1": PROMPT}
    # They describe another terminal, or none: pytest's worker processes set them.
    for size in ("COLUMNS", "LINES"):
        variables.pop(size, None)
    words = (shlex.quote(f"{name}={text}") for name, text in variables.items())
    # Not a test's own folder: the name of a socket must be short.
    with tempfile.TemporaryDirectory() as folder:
        opened = Terminal(Path(folder) / "tmux")
        shell = f"exec env -i {' '.join(words)} sh"
        opened.tmux("new-session", "-d", "-x", str(width), "-y", str(height), shell)
        try:
            opened.wait_for(PROMPT)
            yield opened
        finally:
            opened.tmux("kill-server")
