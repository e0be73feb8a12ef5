"""Perform actions by name, for the palette and the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import isawaitable
from typing import Any

from msgspec import Struct
from textual.actions import parse
from textual.app import App
from textual.dom import DOMNode
from textual.screen import Screen

from probetui.tui.actions.action import Action
from probetui.tui.actions.table import ACTIONS
from probetui.tui.state import StatefulApp


class ActionCall(Struct, frozen=True):
    """An action method of a node, and its parameters."""

    node: DOMNode
    name: str
    parameters: tuple[Any, ...]


def available_actions(screen: Screen[Any]) -> Iterator[Action]:
    """Yield the actions that are possible on a screen now, with its current focus."""
    for action in ACTIONS:
        if action.is_listed and is_available(screen, action):
            yield action


def dialog_actions(screen: Screen[Any]) -> Iterator[Action]:
    """Yield the actions of a dialog, which have no names on the command line."""
    if screen.is_modal:
        for action in ACTIONS:
            if not action.is_listed and is_available(screen, action):
                yield action


def reachable_actions(screen: Screen[Any]) -> Iterator[Action]:
    """Yield the actions that may be named on a screen, with its current focus.

    Some are possible only for another container. Others are refused in this session,
    which the user is told when they are run.
    """
    for action in ACTIONS:
        if action.is_listed and _owner(screen, action) is not None:
            yield action


def is_available(screen: Screen[Any], action: Action) -> bool:
    """Return whether an action is possible on a screen now."""
    call = resolve_call(screen, action)
    app = screen.app
    if call is None or not isinstance(app, StatefulApp):
        return False
    if isinstance(call.node, App):
        # The app's `check_action` would consider the focus of the topmost screen.
        return app.ui_state.allows(action)
    return bool(call.node.check_action(call.name, call.parameters))


async def perform(screen: Screen[Any], action: Action, words: Sequence[str]) -> None:
    """Perform an action on a screen, with typed arguments."""
    call = resolve_call(screen, action, words)
    if call is None:
        return
    result = getattr(call.node, f"action_{call.name}")(*call.parameters, *words)
    if isawaitable(result):
        await result


def resolve_call(
    screen: Screen[Any], action: Action, words: Sequence[str] = ()
) -> ActionCall | None:
    """Return the call that performs an action on a screen, None if it has none."""
    owner = _owner(screen, action)
    if owner is None:
        return None
    if words and action.build_command is not None:
        return ActionCall(screen.app, "give", (action.id,))
    destination, name, parameters = parse(action.call)
    nodes: dict[str, DOMNode] = {"app": screen.app, "screen": screen}
    return ActionCall(nodes.get(destination, owner), name, parameters)


def _owner(screen: Screen[Any], action: Action) -> DOMNode | None:
    """Return the innermost node around the focus that has a context of the action."""
    focused = screen.focused or screen
    for node in focused.ancestors_with_self:
        if set(action.where) & set(getattr(node, "KEY_CONTEXTS", ())):
            return node
    return None
