"""Write to the terminal the cells that changed, and render no other lines for that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.console import Console
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class _Part(NamedTuple):
    """A piece of row `y` of the screen, `start` to `end`, that one widget fills."""

    y: int
    start: int
    end: int
    widget: Widget
    region: Region


class ChangedCells(CompositorUpdate):
    """Pieces of rows, each with the column and row where it begins."""

    def __init__(self, pieces: Sequence[tuple[int, int, Strip]]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return what to write; each piece is put in its place by itself.

        Terminals disagree about the width of some characters: what comes after one is
        not to depend on it.
        """
        return "".join(
            [
                f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
                for x, y, strip in self.pieces
            ]
        )


class ChangedCellsCompositor(Compositor):
    """The framework's own renders all widgets that a rectangle round the changes meets.

    It also writes each row from the left edge of its widget on.
    """

    def render_partial_update(self) -> ChangedCells | None:  # type: ignore[override]  # shown in the same way
        screen = self.size.region
        changed = [region.intersection(screen) for region in self._dirty_regions]
        self._dirty_regions.clear()
        parts = list(self._parts(changed))
        if not parts:
            return None
        lines = _render(parts)
        return ChangedCells(
            [
                (start, y, lines[widget, y].crop(start - region.x, end - region.x))
                for y, start, end, widget, region in parts
            ]
        )

    def _parts(self, regions: Sequence[Region]) -> Iterator[_Part]:
        """Cut the rows of regions where what is in front changes."""
        cuts, layers = self.cuts, self.layers_visible
        for y, first, last in self._regions_to_spans(regions):
            for left, right in pairwise(cuts[y]):
                start, end = max(left, first), min(right, last)
                if start >= end:
                    continue
                for widget, shown, region in layers[y]:
                    if shown.x <= start < shown.right:
                        yield _Part(y, start, end, widget, region)
                        break


def _render(parts: Sequence[_Part]) -> dict[tuple[Widget, int], Strip]:
    """Return the rows of widgets that parts are of, by their place on the screen."""
    needed: defaultdict[tuple[Widget, Region], set[int]] = defaultdict(set)
    for part in parts:
        needed[part.widget, part.region].add(part.y)
    return {
        (widget, y): strip
        for (widget, region), rows in needed.items()
        for run in _runs(sorted(rows))
        for y, strip in zip(
            run,
            widget.render_lines(
                Region(0, run.start - region.y, region.width, len(run))
            ),
            strict=True,
        )
    }


def _runs(numbers: Sequence[int]) -> Iterator[range]:
    """Join numbers in order to ranges."""
    start = 0
    for index, (one, other) in enumerate(pairwise((*numbers, -1)), 1):
        if other != one + 1:
            yield range(numbers[start], one + 1)
            start = index
