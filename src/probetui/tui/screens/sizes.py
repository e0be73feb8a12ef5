"""From which size on a layout is used; the style sheets say what each looks like."""

from __future__ import annotations

from textual.geometry import Size

LEAST = Size(40, 10)
"""Below it there is one line that says so."""

FRAMED = Size(60, 16)
"""Below it panes have no frames."""

BY_WIDTH = [(0, "-tiny"), (FRAMED.width, "-narrow"), (100, "-normal"), (160, "-wide")]
BY_HEIGHT = [(0, "-flat"), (FRAMED.height, "-short"), (22, "-middle"), (38, "-tall")]


def is_below(size: Size, least: Size) -> bool:
    """Tell whether a size lacks width or height."""
    return size.width < least.width or size.height < least.height
