"""A list in a pane, with a cursor."""

from __future__ import annotations

from textual.events import Click

from probetui.tui.widgets.pane import Pane


class ListPane(Pane):
    """A pane whose content is a list with a cursor.

    Some lines cannot be chosen (headings, second lines); the cursor passes over them.
    """

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.cursor = 0
        """The line of the content that is chosen; 0 if there is none."""

    def is_choice(self, index: int) -> bool:
        """Tell whether a line can be chosen."""
        return 0 <= index < self.count()

    def on_resize(self) -> None:
        self.choose(self.cursor)
        super().on_resize()

    def lines_of(self, index: int) -> range:
        """Return all lines that belong to a choice, to be kept in sight together."""
        return range(index, index + 1)

    def chosen(self) -> None:
        """Do what follows from a choice that a person made."""

    def action_move(self, step: int) -> None:
        self._choose_nearest(self.cursor + step, step)

    def action_page(self, direction: int) -> None:
        target = self.cursor + direction * self.visible_rows
        self._choose_nearest(max(0, min(target, self.count() - 1)), direction)

    def action_first(self) -> None:
        self._choose_nearest(0, 1)

    def action_last(self) -> None:
        self._choose_nearest(self.count() - 1, -1)

    def on_click(self, event: Click) -> None:
        offset = event.y - len(self.above()) - (0 if self.is_bare else 1)
        if 0 <= offset < self.visible_rows:
            self._choose_nearest(min(self.top + offset, self.count() - 1), -1)

    def choose(self, index: int) -> None:
        """Put the cursor on a line and bring it into sight."""
        self.cursor = index
        lines = self.lines_of(index)
        if lines.start < self.top:
            self.top = lines.start
        elif lines.stop > self.top + self.visible_rows:
            self.top = lines.stop - self.visible_rows
        self.top = self._within(self.top)

    def _choose_nearest(self, index: int, step: int) -> None:
        """Choose that line or the next one in the direction of `step` that can be."""
        direction = 1 if step > 0 else -1
        for way in (direction, -direction):
            candidate = index
            while 0 <= candidate < self.count():
                if self.is_choice(candidate):
                    self.choose(candidate)
                    self.chosen()
                    self.repaint()
                    return
                candidate += way
