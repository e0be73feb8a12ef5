"""A lesson's words, above what they are about."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Resize

from probetui.presentation.spans import EMPTY, Line, line, muted, strong
from probetui.tui.inks import PLAIN, InkLine, fit, inks, wrapped
from probetui.tui.outside import Lesson
from probetui.tui.widgets.painted import Painted

_BELOW = 20
"""How many lines of a terminal stay for what the lesson is about."""

_MOST = 6


class LessonBar(Painted):
    """Says what there is to watch and to try; hidden where there is no lesson."""

    def __init__(self, lesson: Lesson | None) -> None:
        super().__init__(id="lesson")
        self._text: Line = EMPTY
        self._exercise: Line = EMPTY
        self.display = lesson is not None
        if lesson is not None:
            place = f"  {lesson.number} of {lesson.count}  "
            self._text = line(strong(f" {lesson.name}"), muted(place), lesson.text)
        if lesson is not None and lesson.exercise:
            self._exercise = line(strong(" Try  "), lesson.exercise)

    def fit_into(self, size: Resize) -> None:
        """Take the lines that a terminal of that size has for it."""
        room = min(max(size.size.height - _BELOW, 1), _MOST)
        self.styles.height = min(len(self._lines(size.size.width)), room)

    def content(self) -> Sequence[InkLine]:
        """Return the words, wrapped; what does not fit ends in an ellipsis."""
        width, height = self.size
        if height == 1:
            return [fit(inks(self._text), width, ellipsis=self.ellipsis)]
        lines = self._lines(width)
        if len(lines) <= height:
            return lines
        more = (f" {self.ellipsis}", PLAIN)
        return [*lines[: height - 1], (*lines[height - 1], more)]

    def _lines(self, width: int) -> list[InkLine]:
        """Return all of it, with room for an ellipsis at the end of each line."""
        room = max(width - 2, 1)
        text = wrapped(inks(self._text), room, 1)
        if not self._exercise:
            return text
        return [*text, *wrapped(inks(self._exercise), room, 6)]
