"""What ctrl+p finds: every action that makes sense now, and every container."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider

from probetui.tui.acting import offered, perform
from probetui.tui.action import Action, Circumstances, On
from probetui.tui.stage import StagedApp


class Actions(Provider):
    """The table of actions, row by row, and what each would be done to."""

    async def discover(self) -> Hits:
        """Offer everything, before a word is typed."""
        for title, action in self._rows():
            yield DiscoveryHit(title, self._doing(action), title, action.tooltip)

    async def search(self, query: str) -> Hits:
        """Offer what fits what is typed."""
        matcher = self.matcher(query)
        for title, action in self._rows():
            if (score := matcher.match(title)) > 0:
                shown = matcher.highlight(title)
                yield Hit(score, shown, self._doing(action), title, action.tooltip)

    def _rows(self) -> Iterator[tuple[str, Action]]:
        app = self.app
        if not isinstance(app, StagedApp):
            return
        for action in offered(self.screen):
            keys = f"   {action.keys}"
            yield f"{action.title}: {acted_on(action, app.stage.now)}{keys}", action

    def _doing(self, action: Action) -> partial[Coroutine[Any, Any, None]]:
        return partial(perform, self.screen, action, ())


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
