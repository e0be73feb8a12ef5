"""A list that grows at its end, and stays there until a person looks elsewhere."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import BindingType

from probetui.presentation.spans import EMPTY, Line, Role, Span, line
from probetui.tui.action import Where
from probetui.tui.actions import bindings
from probetui.tui.widgets.entry_pane import EntryPane


class FollowingPane(EntryPane):
    """Newest at the bottom; follows until something older is looked at."""

    PLACES: ClassVar[tuple[Where, ...]] = (
        Where.PANE,
        Where.ENTRIES,
        Where.FOLLOWING,
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(*PLACES)

    def __init__(self, *, id: str, is_ascii: bool = False) -> None:  # noqa: A002  # the framework's
        super().__init__(id=id, is_ascii=is_ascii)
        self.is_following = True
        self._unseen = 0

    def pill(self) -> Line:
        if not self._unseen:
            return EMPTY
        plural = "" if self._unseen == 1 else "s"
        return line(Span(f"{self._unseen} new line{plural}, a follows", Role.ACCENT))

    def chosen(self) -> None:
        """Stop following when something older is chosen, and start at the last."""
        self._follow(is_following=self.cursor >= self.count() - 1)

    def scroll_lines(self, step: int) -> None:
        self.top = self._within(self.top + step)
        is_at_end = self.top >= self._within(self.count())
        self._follow(is_following=is_at_end)
        self.repaint()

    def action_follow(self) -> None:
        self._follow(is_following=not self.is_following or bool(self._unseen))
        if self.is_following:
            self.go_to_end()
        self.repaint()

    def grow(self, count: int) -> None:
        """Take note that so many entries were added that are to be seen."""
        if self.is_following:
            self.go_to_end()
        else:
            self._unseen += count

    def go_to_end(self) -> None:
        """Show the newest entries."""
        self.choose(max(self.count() - 1, 0))
        self._unseen = 0

    def _follow(self, *, is_following: bool) -> None:
        self.is_following = is_following
        if is_following:
            self._unseen = 0
