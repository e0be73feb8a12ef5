"""What commands print: the only place that writes text to standard output and error.

Everything goes through `safe_text` here, wherever it came from. A test in
`tests/architecture` finds whoever writes by another way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum

import click

from probetui.errors import OutputError
from probetui.safe_text import json_text, safe_line, safe_lines

_SHORT_HELP = """\
Run pods without a cluster and debug their probes as the kubelet runs them.

  probetui demo           watch a liveness probe fail; no engine, no files
  probetui -f pod.yaml    run the pods of a file on Docker
  probetui --help         show all commands
"""
_USAGE_STATUS = 2


def _echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print a text; a standard error that is closed is ignored.

    Raises:
        OutputError: standard output takes no more.
    """
    try:
        click.echo(text, nl=nl, err=err)
    except BrokenPipeError:
        raise
    except OSError as error:
        if not err:
            raise OutputError(error) from error


def print_line(text: str = "", *, err: bool = False) -> None:
    """Print a sentence or another line for people; one too long is cut."""
    _echo(safe_line(text), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text whole, with the line breaks that are in it."""
    _echo(safe_lines(text), nl=False, err=err)


def print_output(data: bytes, *, err: bool = False) -> None:
    """Print what a command printed: byte for byte, but on a terminal as safe text."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        print_text(data.decode(errors="replace"), err=err)
    else:
        stream.buffer.write(data)
        stream.flush()


def print_json(value: object) -> None:
    """Print a value for programs."""
    # Escaped by JSON, which would be broken by anybody else's escapes.
    _echo(json_text(value), nl=False)


def print_yaml(value: object) -> None:
    """Print a value for programs."""
    # Late: few commands print any.
    import yaml

    # It escapes all that is not printable ASCII.
    _echo(yaml.safe_dump(value, sort_keys=False), nl=False)


def print_notice(word: str, text: str) -> None:
    """Print what people are to know on standard error, after a word for its weight.

    A text of several lines has the word before each of them.
    """
    for line in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        print_line(f"probetui: {word}: {line}", err=True)


def print_table(rows: Sequence[Mapping[str, str]], *, headers: bool) -> None:
    """Print cells by the headings of their columns; nothing where there are no rows."""
    if not rows:
        return
    lines = [[safe_line(cell) for cell in row.values()] for row in rows]
    if headers:
        lines.insert(0, list(rows[0]))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print_line("   ".join(cells).rstrip())


PRINTERS: Mapping[str, Callable[[object], None]] = {
    "json": print_json,
    "yaml": print_yaml,
}
"""What prints a value, by the name of the output format."""


def confirm(question: str) -> bool:
    """Ask a question on the terminal and return whether the answer is yes."""
    return click.confirm(safe_line(question), err=True)


def print_short_help() -> int:
    """Print a short help on standard error; return the status of a usage error."""
    print_text(_SHORT_HELP, err=True)
    return _USAGE_STATUS


class NoteLevel(StrEnum):
    """How much a note matters; the value is the word before it."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


ShowNote = Callable[[NoteLevel, str], None]


class Notes:
    """Prints notes, warnings and errors for people, one line each.

    Args:
        quiet: print errors only.
        show: what prints them; standard error by default.
    """

    def __init__(self, *, quiet: bool, show: ShowNote | None = None) -> None:
        self._quiet = quiet
        self._show = show or _print_note

    @property
    def is_quiet(self) -> bool:
        """Whether only errors are printed."""
        return self._quiet

    @contextmanager
    def redirected(self, show: ShowNote) -> Iterator[None]:
        """Show them elsewhere: on the screen, while it covers the terminal."""
        before, self._show = self._show, show
        try:
            yield
        finally:
            self._show = before

    def show(self, level: NoteLevel, text: str) -> None:
        """Print a text of that level."""
        if level is NoteLevel.ERROR or not self._quiet:
            self._show(level, text)

    def note(self, text: str) -> None:
        """Print something that is good to know."""
        self.show(NoteLevel.NOTE, text)

    def warning(self, text: str) -> None:
        """Print something that is likely a mistake."""
        self.show(NoteLevel.WARNING, text)

    def error(self, text: str) -> None:
        """Print why a command fails."""
        self.show(NoteLevel.ERROR, text)


def _print_note(weight: NoteLevel, text: str) -> None:
    try:
        print_notice(weight, text)
    except OSError:
        # The terminal or the reader has gone.
        return
