"""Write to the terminal the cells that changed, and render no other lines for that."""

from __future__ import annotations

import re
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


_STYLE = re.compile(r"(\x1b\[0m)?(\x1b\[\d+;\d+H)?\x1b\[([\d;]+)m")
_COLOR = r"8;(?:2;\d+;\d+;\d+|5;\d+)"
_COLORS = re.compile(rf"(3{_COLOR});(4{_COLOR})")


def merge_styles(sequence: str) -> str:
    """Return what paints the same, without styles and colors that are set already.

    The framework ends the style of each text and begins the next one anew, which is
    four fifths of what it writes for a calm screen.
    """
    current = ""

    def merged(found: re.Match[str]) -> str:
        nonlocal current
        reset, move, style = found[1], found[2] or "", found[3]
        before, current = current, style
        if reset is None:
            return found[0]
        if style == before:
            return move
        old, new = _COLORS.fullmatch(before), _COLORS.fullmatch(style)
        if old is None or new is None:
            return f"{move}\x1b[0;{style}m"
        changed = (
            now
            for was, now in zip(old.groups(), new.groups(), strict=True)
            if was != now
        )
        return f"{move}\x1b[{';'.join(changed)}m"

    return _STYLE.sub(merged, sequence)


class ChangedCells(CompositorUpdate):
    """Pieces of rows, each with the column and row where it begins."""

    def __init__(self, pieces: Sequence[tuple[int, int, Strip]]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return what to write; each piece is put in its place by itself.

        Terminals disagree about the width of some characters: what comes after one is
        not to depend on it.
        """
        return merge_styles(
            "".join(
                [
                    f"\x1b[{y + 1};{x + 1}H{strip.render(console)}"
                    for x, y, strip in self.pieces
                ]
            )
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
