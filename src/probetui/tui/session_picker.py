"""The picker of saved sessions: a list, and beside it the lanes of one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Resize

from probetui.presentation.text.spans import Line, line, muted, strong
from probetui.tui.panes.pane import Pane
from probetui.tui.screens.dialogs import ChoicePane, ChoiceScreen
from probetui.tui.styled_text import StyledLine, styled_line
from probetui.tui.themed_app import ThemedApp

_PAUSE_SECONDS = 0.15
"""How long the cursor rests on a session before its record is read."""


async def _rest() -> None:
    await asyncio.sleep(_PAUSE_SECONDS)


class Choice(Struct, frozen=True):
    """A session to choose: what it is called, and what it came to."""

    name: str
    note: str


class GlancePane(Pane):
    """What there is to see of the session under the cursor."""

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__(id="glance", is_ascii=is_ascii)
        self.can_focus = False
        self._lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        """Show other lines."""
        self._lines = lines
        self.repaint()

    def title(self) -> Line:
        return line(strong("Lanes"))

    def rows(self) -> Sequence[StyledLine]:
        return [styled_line(shown) for shown in self._lines]


class PickerScreen(ChoiceScreen, inherit_bindings=False):
    """Asks which session is to be replayed; dismissed with its index.

    Args:
        choices: the sessions, the newest first.
        glance: returns the lines about one, for so many cells; called in a thread.
        is_ascii: whether to draw with ASCII only.
        rest: awaited before a glance, which another cursor's cancels.
    """

    CSS_PATH = "styles/picker.tcss"
    BINDINGS = ChoiceScreen.BINDINGS

    def __init__(
        self,
        choices: Sequence[Choice],
        glance: Callable[[int, int], Sequence[Line]],
        *,
        is_ascii: bool,
        rest: Callable[[], Awaitable[None]] = _rest,
    ) -> None:
        rows = [(choice.name, choice.note) for choice in choices]
        super().__init__("Sessions", rows, is_ascii=is_ascii)
        self._pane = ChoicePane(
            "Sessions", rows, is_ascii=is_ascii, on_chosen=self._cursor_moved
        )
        self._glance, self._rest = glance, rest
        self._pane_of_lanes = GlancePane(is_ascii=is_ascii)

    def compose(self) -> ComposeResult:
        yield Horizontal(self._pane, self._pane_of_lanes)

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self.call_after_refresh(self._look)

    def _cursor_moved(self) -> None:
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        index, width = self._pane.viewport.cursor, self._pane_of_lanes.inner_width - 2
        self._pane_of_lanes.show([line(muted("reading its record"))])
        await self._rest()
        lines = await asyncio.to_thread(self._glance, index, width)
        self._pane_of_lanes.show(lines)


class SessionPicker(ThemedApp[int | None], inherit_bindings=False):
    """Asks which of some sessions is meant; its result is an index, or None.

    Args:
        choices: the sessions, the newest first.
        glance: returns the lines about one, for so many cells; called in a thread.
        is_ascii: whether to draw with ASCII only.
        rest: awaited before a glance, as by the screen.
        theme: the name of a theme of ours, None for that of a dark terminal.
    """

    def __init__(
        self,
        choices: Sequence[Choice],
        glance: Callable[[int, int], Sequence[Line]],
        *,
        is_ascii: bool,
        rest: Callable[[], Awaitable[None]] = _rest,
        theme: str | None = None,
    ) -> None:
        super().__init__(theme)
        self._picker = PickerScreen(choices, glance, is_ascii=is_ascii, rest=rest)

    def on_mount(self) -> None:
        self.push_screen(self._picker, self.exit)
