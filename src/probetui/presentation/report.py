"""Reports: what a command came to, as a value that has every form of `-o`.

A report does not know where it goes: `probetui.cli.reports.emit` prints it, for
programs by its value, whole, and for people part by part, each when it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct


class Table(Struct, frozen=True):
    """Cells by the headings of their columns; all rows have the same."""

    rows: Sequence[Mapping[str, str]]
    has_headings: bool = True


class Document(Struct, frozen=True):
    """A text with line breaks of its own, which is printed whole."""

    text: str


Part: TypeAlias = str | Table | Document
"""A part of a report for people; a string is one line."""


class Report(Protocol):
    """What a command came to."""

    def value(self) -> object:
        """Return what JSON and YAML have: structs, mappings, sequences, scalars."""

    def parts(self, form: str, /) -> Iterable[Part]:
        """Return the parts in a form for people: text, table, wide or name."""


def separated(groups: Iterable[Iterable[Part]]) -> Iterator[Part]:
    """Yield the parts of all groups, with an empty line between two groups."""
    for number, group in enumerate(groups):
        if number:
            yield ""
        yield from group
