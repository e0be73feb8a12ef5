"""Render and write only changed cells."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class _Part(NamedTuple):
    """The part of row `y` from `start` to `end`, which one widget fills."""

    y: int
    start: int
    end: int
    widget: Widget
    region: Region


_STYLE = re.compile(r"(\x1b\[0m)?(\x1b\[\d+;\d+H)?\x1b\[([\d;]+)m")
_COLOR = r"8;(?:2;\d+;\d+;\d+|5;\d+)"
_COLORS = re.compile(rf"(3{_COLOR});(4{_COLOR})")


def merge_styles(sequence: str) -> str:
    """Remove styles and colours that are already set from a sequence.

    Textual resets the style after each text and sets the next one in full, which is
    four fifths of the output of a calm screen.
    """
    current = ""

    def merge(match: re.Match[str]) -> str:
        nonlocal current
        reset, move, style = match[1], match[2] or "", match[3]
        before, current = current, style
        if reset is None:
            return match[0]
        return move if style == before else move + _style_change(before, style)

    return _STYLE.sub(merge, sequence)


@lru_cache(maxsize=1024)  # a screen has few looks, of which each follows few others
def _style_change(before: str, style: str) -> str:
    """Return the sequence for another style than the one before."""
    old, new = _COLORS.fullmatch(before), _COLORS.fullmatch(style)
    if old is None or new is None:
        return f"\x1b[0;{style}m"
    changed = (
        new_color
        for old_color, new_color in zip(old.groups(), new.groups(), strict=True)
        if old_color != new_color
    )
    return f"\x1b[{';'.join(changed)}m"


class ChangedCells(CompositorUpdate):
    """Parts of rows, each with the column and row at which it starts."""

    def __init__(self, pieces: Sequence[tuple[int, int, Sequence[Segment]]]) -> None:
        self.pieces = pieces

    def render_segments(self, console: Console) -> str:
        """Return the output; the cursor is moved to the start of each part.

        Terminals disagree about the width of some characters, so that no position may
        depend on the text before it.
        """
        colors = console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001  # as Textual does
        render = Strip.render_style
        output: list[str] = []
        for x, y, segments in self.pieces:
            output.append(f"\x1b[{y + 1};{x + 1}H")
            output += [
                text if style is None else render(style, text, colors)
                for text, style, _ in segments
            ]
        return merge_styles("".join(output))


class ChangedCellsCompositor(Compositor):
    """Renders and writes only the changed parts of rows.

    Textual's compositor renders all widgets that a rectangle around the changes meets,
    and writes each row from the left edge of its widget.
    """

    def render_partial_update(self) -> ChangedCells | None:  # type: ignore[override]  # displayed the same way
        screen = self.size.region
        changed = [region.intersection(screen) for region in self._dirty_regions]
        self._dirty_regions.clear()
        parts = list(self._parts(changed))
        if not parts:
            return None
        lines = _render(parts)
        pieces: list[tuple[int, int, Sequence[Segment]]] = []
        for (y, widget, region), of_line in groupby(parts, key=_line_of):
            spans = [(part.start, part.end) for part in of_line]
            cut = cut_segments(lines[widget, y], region.x, spans)
            pieces += [
                (start, y, piece) for (start, _), piece in zip(spans, cut, strict=True)
            ]
        return ChangedCells(pieces)

    def _parts(self, regions: Sequence[Region]) -> Iterator[_Part]:
        """Split the rows of regions at the edges of the visible widgets."""
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


def _line_of(part: _Part) -> tuple[int, Widget, Region]:
    return part.y, part.widget, part.region


def cut_segments(
    segments: Iterable[Segment], at: int, spans: Sequence[tuple[int, int]]
) -> list[list[Segment]]:
    """Return the parts of a line that are in some spans.

    `Strip.crop` would go through the line for each of them, and make a Strip with five
    caches of it.

    Args:
        segments: the line.
        at: the column at which it begins.
        spans: the first column of each part, and the one behind it, from left to right.
    """
    pieces: list[list[Segment]] = []
    left = iter(segments)
    rest, width = Segment(""), 0
    for start, end in spans:
        piece: list[Segment] = []
        while at < end:
            if not width:
                if (following := next(left, None)) is None:
                    break
                rest, width = following, cell_len(following.text)
                if not width and at >= start:  # a mark on the character before it
                    piece.append(following)
            elif at + width <= start:
                at, width = at + width, 0
            elif at < start:
                _, rest = rest.split_cells(start - at)
                at, width = start, at + width - start
            elif at + width > end:
                head, rest = rest.split_cells(end - at)
                piece.append(head)
                at, width = end, at + width - end
            else:
                piece.append(rest)
                at, width = at + width, 0
        pieces.append(piece)
    return pieces


def _render(parts: Sequence[_Part]) -> dict[tuple[Widget, int], Strip]:
    """Return the rendered rows of the parts, by widget and row of the screen."""
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
    """Join sorted numbers into ranges."""
    start = 0
    for index, (number, following) in enumerate(pairwise((*numbers, -1)), 1):
        if following != number + 1:
            yield range(numbers[start], number + 1)
            start = index
