"""The lines of a description: labels, values, and how deep they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probetui.presentation.spans import Line, Role, Span, line
from probetui.presentation.tab_columns import aligned

NONE = "<none>"
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Row:
    """One line: cells in columns; the role is that of the last cell.

    A single cell is a heading if it ends with a colon.
    """

    depth: int
    cells: tuple[str, ...]
    role: Role = Role.PLAIN


def row(depth: int, *cells: str, role: Role = Role.PLAIN) -> Row:
    """Return a line."""
    return Row(depth, cells, role)


def texts(depth: int, label: str, lines: Iterable[str]) -> list[Row]:
    """Return a label with one or more values below one another; none is said so."""
    found = list(lines)
    first, *others = found or [NONE]
    return [row(depth, f"{label}:", first), *(row(depth, "", each) for each in others)]


def pairs(label: str, mapping: Mapping[str, str], between: str) -> list[Row]:
    """Return a mapping sorted by key, one entry a line."""
    return texts(0, label, [f"{key}{between}{mapping[key]}" for key in sorted(mapping)])


def lines_of(rows: Iterable[Row]) -> list[Line]:
    """Return rows aligned, labels apart from values."""
    rows = list(rows)
    cells = [
        (_INDENT * each.depth + each.cells[0], *each.cells[1:]) if each.cells else ("",)
        for each in rows
    ]
    return [
        _line(each, filled) for each, filled in zip(rows, aligned(cells), strict=True)
    ]


def _line(given: Row, filled: tuple[str, ...]) -> Line:
    *labels, last = filled
    if not labels:
        is_heading = last.endswith(":")
        return line(Span(last, Role.STRONG if is_heading else given.role))
    return line(*(Span(each, Role.MUTED) for each in labels), Span(last, given.role))
