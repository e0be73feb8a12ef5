"""Problems of manifests and their positions."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from probetui.safe_text import safe_line

_CLIP = 80
_IN_QUOTES = str.maketrans({
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    "\v": "\\v", '"': '\\"', "\\": "\\\\",
})  # fmt: skip


class Severity(StrEnum):
    """The severity of a problem; the value is the word before the message."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Position(Struct, frozen=True):
    """A position in a file; lines and columns count from 1, 0 is unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        file = escape_unprintable(self.file)
        return f"{file}:{self.line}:{self.column}" if self.line else file


class Problem(Struct, frozen=True):
    """An error, a warning or a note about a manifest; `str` gives its line.

    `path` is the field as Kubernetes writes it, empty if it concerns no field.
    `rule` is a stable ID (`unknown-field`). `excerpt` is the line of the file with a
    caret below, for syntax errors only.
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
    r"""Quote a text, with escapes for what cannot be printed.

    Terminal sequences and lone surrogates in a manifest never reach a terminal:
    `"\x1b[2J"`. Printable characters stay, as Go's `%q` leaves them.
    """
    return f'"{escape_unprintable(text.translate(_IN_QUOTES))}"'


def quote_short(text: str) -> str:
    """Quote a text, cut to 80 characters."""
    if len(text) <= _CLIP:
        return quote(text)
    return quote(text[:_CLIP]) + "…"


def escape_unprintable(text: str) -> str:
    """Replace characters that cannot be printed by escapes."""
    return safe_line(text, limit=None)
