"""What can be wrong with a manifest, and where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from probetui.safe_text import safe_line

_CLIP = 80
_IN_QUOTES = str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
)


class Severity(StrEnum):
    """How bad a problem is; the value is the word before the message."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text; lines and columns count from 1, and 0 is not known."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        file = escape(self.file)
        return f"{file}:{self.line}:{self.column}" if self.line else file


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to tell about a manifest; its text is one finished line.

    `path` is the field as Kubernetes writes it, empty where it is about no field.
    `rule` is a short name for machines (`unknown-field`). `excerpt` is the line of the
    file and a caret below, for syntax errors only.
    """

    position: Position
    path: str
    message: str
    severity: Severity = Severity.ERROR
    rule: str = ""
    excerpt: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file's name as it was given."""
        return self.position.file

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self.position.line

    @property
    def column(self) -> int:
        """The column in characters, from 1."""
        return self.position.column

    def __str__(self) -> str:
        parts = [str(self.position), self.path, self.message]
        return "\n".join([": ".join(filter(None, parts)), *self.excerpt])


def quote(text: str) -> str:
    r"""Put text in quotes and show what cannot be printed as an escape.

    Terminal sequences and lone surrogates in a manifest never reach a terminal:
    `"\x1b[2J"`. Printable characters stay, as Go's `%q` leaves them.
    """
    return f'"{escape(text.translate(_IN_QUOTES))}"'


def clipped(text: str) -> str:
    """Quote text and cut it to what fits in a sentence."""
    if len(text) <= _CLIP:
        return quote(text)
    return quote(text[:_CLIP]) + "…"


def escape(text: str) -> str:
    """Replace what cannot be printed by its escape."""
    return safe_line(text, limit=None)
