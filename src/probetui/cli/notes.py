"""What is told to people, on standard error; standard output is for data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from probetui.cli.printing import print_notice


class Weight(StrEnum):
    """How much something matters; the value is the word before it."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


Tell = Callable[[Weight, str], None]


class Notes:
    """Tells people things, one line each.

    Args:
        quiet: tell of errors only.
        tell: who is told; standard error unless something else is given.
    """

    def __init__(self, *, quiet: bool, tell: Tell | None = None) -> None:
        self._quiet = quiet
        self._tell = tell or _to_stderr

    @property
    def is_quiet(self) -> bool:
        """Whether errors alone are told."""
        return self._quiet

    @contextmanager
    def diverted(self, tell: Tell) -> Iterator[None]:
        """Tell somebody else for a while: the screen, while it covers the terminal."""
        usual, self._tell = self._tell, tell
        try:
            yield
        finally:
            self._tell = usual

    def note(self, text: str) -> None:
        """Tell something that is good to know."""
        if not self._quiet:
            self._tell(Weight.NOTE, text)

    def warning(self, text: str) -> None:
        """Tell something that is likely not meant so."""
        if not self._quiet:
            self._tell(Weight.WARNING, text)

    def error(self, text: str) -> None:
        """Tell why the answer is not what was asked for."""
        self._tell(Weight.ERROR, text)


def _to_stderr(weight: Weight, text: str) -> None:
    try:
        print_notice(weight, text)
    except OSError:
        # The terminal or the reader has gone; there is nobody to tell.
        return
