"""Doing actions by name: for the palette and the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import isawaitable
from typing import Any, NamedTuple

from textual.actions import parse
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen

from probetui.tui.action import Action
from probetui.tui.actions import ACTIONS
from probetui.tui.stage import StagedApp


class Deed(NamedTuple):
    """A method of a node and what it is called with."""

    node: DOMNode
    name: str
    parameters: tuple[Any, ...]


def offered(screen: Screen[Any]) -> Iterator[Action]:
    """Go through the actions that make sense on a screen now, as it has the focus."""
    for action in ACTIONS:
        if action.has_line and is_offered(screen, action):
            yield action


def placed(screen: Screen[Any]) -> Iterator[Action]:
    """Go through the actions that may be named on a screen, as it has the focus.

    Some may make no sense now, but would if another container were chosen.
    """
    app = screen.app
    is_read_only = isinstance(app, StagedApp) and app.stage.options.read_only
    for action in ACTIONS:
        is_hidden = not action.has_line or (action.changes and is_read_only)
        if not is_hidden and _owner(screen, action) is not None:
            yield action


def is_offered(screen: Screen[Any], action: Action) -> bool:
    """Tell whether an action makes sense on a screen now."""
    deed = deed_of(screen, action)
    app = screen.app
    if deed is None or not isinstance(app, StagedApp):
        return False
    if isinstance(deed.node, App):
        # The app would look at what has the focus on the screen in front.
        return app.stage.allows(action)
    return bool(deed.node.check_action(deed.name, deed.parameters))


async def perform(screen: Screen[Any], action: Action, words: Sequence[str]) -> None:
    """Do an action on a screen, with the words typed after its name."""
    deed = deed_of(screen, action, words)
    if deed is None:
        return
    done = getattr(deed.node, f"action_{deed.name}")(*deed.parameters, *words)
    if isawaitable(done):
        await done


def deed_of(
    screen: Screen[Any], action: Action, words: Sequence[str] = ()
) -> Deed | None:
    """Return what an action does there, None where it has no place."""
    owner = _owner(screen, action)
    if owner is None:
        return None
    if words and action.gives is not None:
        return Deed(screen.app, "give", (action.id,))
    destination, name, parameters = parse(action.call)
    nodes: dict[str, DOMNode] = {"app": screen.app, "screen": screen}
    return Deed(nodes.get(destination, owner), name, parameters)


def _owner(screen: Screen[Any], action: Action) -> DOMNode | None:
    """Return the node whose keys the action's would be, from the focus outwards."""
    focused = screen.focused or screen
    for node in focused.ancestors_with_self:
        if set(action.where) & set(getattr(node, "PLACES", ())):
            return node
    return None
