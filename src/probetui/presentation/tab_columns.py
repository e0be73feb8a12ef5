"""Columns as kubectl aligns them: cells of neighbouring lines, two spaces apart.

Source: Go 1.23 text/tabwriter, as k8s.io/cli-runtime printers use it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

_GAP = 2


def aligned(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return rows of cells, each cell but a row's last filled up to its column.

    A column goes over neighbouring rows that have a cell after it.
    """
    filled = [list(row) for row in rows]
    for column in range(max(map(len, rows), default=0)):
        for block in _blocks(rows, column):
            width = max(width_of(rows[index][column]) for index in block) + _GAP
            for index in block:
                text = rows[index][column]
                filled[index][column] = text + " " * (width - width_of(text))
    return [tuple(row) for row in filled]


def width_of(text: str) -> int:
    """Return how many cells of a terminal a text takes, about."""
    if text.isascii():
        return len(text)
    return sum(map(_width_of_character, text))


def _blocks(rows: Sequence[Sequence[str]], column: int) -> Iterator[list[int]]:
    block: list[int] = []
    for index, row in enumerate(rows):
        if len(row) > column + 1:
            block.append(index)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _width_of_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
