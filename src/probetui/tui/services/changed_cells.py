"""Write to the terminal the cells that changed, not what stands before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual._compositor import ChopsUpdate, Compositor
from textual.strip import Strip

_Chop = tuple[int, Strip | None, int]
"""Where a piece of a line begins, the piece, and where it ends."""


class ChangedCellsCompositor(Compositor):
    """The framework's own writes each line from the left edge of its widget on."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        if update is None:
            return None
        chops, ends = list(update.chops), list(update.chop_ends)
        for y, start, _ in update.spans:
            parts = _cut(chops[y], ends[y], start)
            chops[y] = {x: strip for x, strip, _ in parts}
            ends[y] = [end for _, _, end in parts]
        return ChopsUpdate(chops, update.spans, ends)


def _cut(
    chops: Mapping[int, Strip | None], ends: Sequence[int], at: int
) -> list[_Chop]:
    """Return the pieces of a line, the one that goes over that cell cut in two."""
    parts: list[_Chop] = []
    for (x, strip), end in zip(chops.items(), ends, strict=True):
        if strip is not None and x < at < end:
            parts.append((x, strip.crop(0, at - x), at))
            parts.append((at, strip.crop(at - x, end - x), end))
        else:
            parts.append((x, strip, end))
    return parts
