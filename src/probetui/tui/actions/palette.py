"""The palette that ctrl+p opens: every possible action, with its target."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from probetui.safe_text import safe_line
from probetui.tui.actions.action import (
    Action,
    ActionContext,
    PaletteEntry,
    target_text,
    use_rank,
)
from probetui.tui.actions.dispatch import available_actions, dialog_actions, perform
from probetui.tui.actions.key_labels import key_label
from probetui.tui.actions.keymap import keys_of
from probetui.tui.state import StatefulApp

_MOST_CHOICES_UNASKED = 20


class PaletteRow(Struct, frozen=True):
    """One line of the palette."""

    title: str
    action: Action
    words: tuple[str, ...] = ()
    tooltip: str = ""


class ActionProvider(Provider):
    """Provides the possible actions, with a row for each required argument."""

    async def discover(self) -> Hits:
        """Yield all rows before anything is typed, but only parts of long lists."""
        for row in self.rows(_MOST_CHOICES_UNASKED):
            shown = Content(row.title)
            yield DiscoveryHit(shown, self._callback(row), row.title, row.tooltip)

    async def search(self, query: str) -> Hits:
        """Yield the rows that match the typed text."""
        matcher = self.matcher(query)
        for row in self.rows():
            score, places = matcher.fuzzy_search.match(query, row.title)
            if score > 0:
                shown = Content(row.title)
                for place in places:
                    shown = shown.stylize(matcher.match_style, place, place + 1)
                yield Hit(score, shown, self._callback(row), row.title, row.tooltip)

    def rows(self, most_choices: int | None = None) -> Iterator[PaletteRow]:
        """Yield a row for everything that is possible on the screen below now."""
        app = self.app
        if not isinstance(app, StatefulApp):
            return
        now = app.ui_state.context
        useful = sorted(available_actions(self.screen), key=use_rank)
        for action in (*dialog_actions(self.screen), *useful):
            keys = keys_of(action, now.options.keymap)
            key = f"   {key_label(keys[0])}" if keys else ""
            for title, words, tooltip in islice(_offers(action, now), most_choices):
                shown = safe_line(f"{title}{key}")
                yield PaletteRow(shown, action, words, tooltip or action.tooltip)

    def _callback(self, row: PaletteRow) -> partial[Coroutine[Any, Any, None]]:
        return partial(perform, self.screen, row.action, row.words)


def _offers(action: Action, now: ActionContext) -> Iterator[PaletteEntry]:
    """Yield the rows of an action: one, or one for each required argument."""
    first = action.arguments[0] if action.arguments else None
    if not action.is_listed:
        yield PaletteEntry(action.tooltip, (), "A key of this dialog")
    elif action.palette_entries is not None:
        yield from action.palette_entries(now)
    elif first is None or not first.is_required:
        yield PaletteEntry(f"{action.title}: {target_text(action.on, now)}")
    else:
        for word in first.words(now):
            tooltip = f"{action.tooltip}: {word}"
            yield PaletteEntry(f"{action.title}: {word}", (word,), tooltip)
