"""A lesson's words, above what they are about."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Resize

from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.tui.inks import InkLine, fit, inks, wrapped
from probetui.tui.outside import Lesson
from probetui.tui.widgets.painted import Painted

_LOW = 30
"""Terminals with fewer lines than this have one for the lesson."""

_MOST = 5


class LessonBar(Painted):
    """Says what there is to watch; hidden where there is no lesson."""

    def __init__(self, lesson: Lesson | None, *, is_ascii: bool) -> None:
        super().__init__(id="lesson")
        self._line: Line = EMPTY
        self._ellipsis = "..." if is_ascii else "…"
        self.display = lesson is not None
        if lesson is not None:
            place = f"  {lesson.number} of {lesson.count}  "
            self._line = line(strong(f" {lesson.name}"), muted(place), lesson.text)

    def fit_into(self, size: Resize) -> None:
        """Take the lines that a terminal of that size has for it."""
        lines = len(wrapped(inks(self._line), max(size.size.width - 1, 1), 1))
        self.styles.height = 1 if size.size.height < _LOW else min(lines, _MOST)

    def content(self) -> Sequence[InkLine]:
        """Return the words, wrapped; what does not fit ends in an ellipsis."""
        width, height = self.size
        whole = inks(self._line)
        if height == 1:
            return [fit(whole, width, ellipsis=self._ellipsis)]
        return wrapped(whole, max(width - 1, 1), 1)[:height]
