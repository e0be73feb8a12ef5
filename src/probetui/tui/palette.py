"""What ctrl+p finds: every action that makes sense now, and what each is done to."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import Any, NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from probetui.tui.acting import offered, perform
from probetui.tui.action import Action, Circumstances, On
from probetui.tui.key_labels import key_label
from probetui.tui.keymap import keys_of
from probetui.tui.stage import StagedApp

_MOST_CHOICES_UNASKED = 20


class Row(NamedTuple):
    """One line of the palette."""

    title: str
    action: Action
    words: tuple[str, ...] = ()


class Actions(Provider):
    """The table of actions, row by row; one that needs a word has a row for each."""

    async def discover(self) -> Hits:
        """Offer everything, before a word is typed; long lists only in part."""
        for row in self.rows(_MOST_CHOICES_UNASKED):
            shown = Content(row.title)
            yield DiscoveryHit(shown, self._doing(row), row.title, row.action.tooltip)

    async def search(self, query: str) -> Hits:
        """Offer what fits what is typed."""
        matcher = self.matcher(query)
        for row in self.rows():
            score, places = matcher.fuzzy_search.match(query, row.title)
            if score > 0:
                shown = Content(row.title)
                for each in places:
                    shown = shown.stylize(matcher.match_style, each, each + 1)
                doing = self._doing(row)
                yield Hit(score, shown, doing, row.title, row.action.tooltip)

    def rows(self, most_choices: int | None = None) -> Iterator[Row]:
        """Go through everything that can be done on the screen below now."""
        app = self.app
        if not isinstance(app, StagedApp):
            return
        now = app.stage.now
        for action in offered(self.screen):
            first = action.arguments[0] if action.arguments else None
            if first is None or not first.is_required:
                title = f"{action.title}: {acted_on(action, now)}"
                keys = keys_of(action, now.options.keymap)
                shown = f"{title}   {key_label(keys[0])}" if keys else title
                yield Row(shown, action)
            else:
                for each in first.words(now)[:most_choices]:
                    yield Row(f"{action.title}: {each}", action, (each,))

    def _doing(self, row: Row) -> partial[Coroutine[Any, Any, None]]:
        return partial(perform, self.screen, row.action, row.words)


def acted_on(action: Action, now: Circumstances) -> str:
    """Return in words what an action would be done to."""
    match action.on:
        case On.POD:
            return now.pod.pod.name
        case On.CONTAINER:
            return f"{now.pod.pod.name}/{now.container.container.name}"
        case On.PROBE:
            kind = now.probe.key.probe_type.lower()
            return f"{now.pod.pod.name}/{now.container.container.name} {kind}"
        case _:
            return action.on.value
