"""What all screens share: what is seen, what is chosen, and what may be done now."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Input

from probetui.k8s.probe import ProbeType
from probetui.presentation.detail import Subject
from probetui.tui.action import Action, Circumstances
from probetui.tui.actions import action_called
from probetui.tui.container_keys import ContainerKey
from probetui.tui.options import ScreenOptions
from probetui.tui.outside import Outside
from probetui.tui.sight import Sight


@dataclass(slots=True)
class Stage:
    """Owned by the app, which renews `sight`; the main screen sets `subject`."""

    sight: Sight
    options: ScreenOptions
    outside: Outside = field(default_factory=Outside)
    subject: Subject | None = None

    @property
    def now(self) -> Circumstances:
        """What decides about actions at this moment."""
        return Circumstances(
            self.sight.snapshot, self.subject, self.outside, self.options
        )

    def allows(self, action: Action) -> bool:
        """Tell whether an action makes sense now and may be done here."""
        if action.changes and self.options.read_only:
            return False
        return action.is_possible(self.now)


class StagedApp(App[None], inherit_bindings=False):
    """An app that has a stage, and a list that containers are chosen in."""

    stage: Stage

    def choose(self, key: ContainerKey, probe: ProbeType | None = None) -> None:
        """Choose a container, and one of its probes."""


class StagedScreen(Screen[None], inherit_bindings=False):
    """A screen that shows what there is to see now, and again when that changes."""

    def show(self, sight: Sight) -> None:
        """Show what there is to see now; only what changed is painted."""


def is_allowed(node: DOMNode, name: str, parameters: tuple[object, ...]) -> bool:
    """Tell whether an action that Textual is about to run for a node is to be run.

    Keys are for typing while something is typed. Actions that are not of the table
    are the node's own business.
    """
    action = action_called(name, parameters)
    app = node.app
    if action is None or not isinstance(app, StagedApp):
        return True
    focused = app.focused if node is app else node.screen.focused
    if isinstance(focused, Input) and not action.is_priority:
        return False
    return app.stage.allows(action)
