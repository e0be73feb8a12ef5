"""Reports: the result of a command as a value, which has every form of `-o`.

A report does not print itself: `probetui.cli.reports.emit` does. JSON and YAML are made
of its value as a whole; other forms are printed part by part, as they are produced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct


class Table(Struct, frozen=True):
    """Rows of cells, by the headings of their columns; all rows have the same keys."""

    rows: Sequence[Mapping[str, str]]
    has_headings: bool = True


class Document(Struct, frozen=True):
    """A text of several lines, which is printed as it is."""

    text: str


Part: TypeAlias = str | Table | Document
"""A part of a report; a string is one line."""


class Report(Protocol):
    """The result of a command."""

    def value(self) -> object:
        """Return the value for JSON and YAML: structs, mappings, sequences, scalars."""

    def parts(self, form: str, /) -> Iterable[Part]:
        """Return the parts for any other form, such as text, table, wide or name."""


def separated(groups: Iterable[Iterable[Part]]) -> Iterator[Part]:
    """Yield the parts of all groups, with an empty line between two groups."""
    for number, group in enumerate(groups):
        if number:
            yield ""
        yield from group
