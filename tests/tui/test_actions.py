"""The table of actions is consistent; all keys come from it."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import combinations
from pkgutil import iter_modules

import pytest
from textual.actions import parse
from textual.binding import Binding
from textual.dom import DOMNode

from probetui.tui import screens
from probetui.tui.actions.action import Action, KeyContext, Target
from probetui.tui.actions.dispatch import available_actions
from probetui.tui.actions.key_labels import active_labels
from probetui.tui.actions.palette import ActionProvider
from probetui.tui.actions.table import (
    ACTIONS,
    ACTIONS_BY_ID,
    OVERLAPPING_CONTEXTS,
    bindings,
)
from probetui.tui.app import ProbetuiApp
from probetui.tui.screens.dialogs import ChoiceScreen
from probetui.tui.screens.menu import MenuPane
from tests.tui.app_harness import an_app
from tests.tui.scenes import failing

ROWS = [pytest.param(action, id=action.id) for action in ACTIONS]


# Screens are imported when they are opened; these tests check all of them.
for module in iter_modules(screens.__path__, f"{screens.__name__}."):
    import_module(module.name)


def all_of(kind: type[DOMNode]) -> list[type[DOMNode]]:
    """Return a class and all its subclasses."""
    found = [kind]
    for subclass in kind.__subclasses__():
        found += all_of(subclass)
    return found


def places_of(owner: type[DOMNode]) -> tuple[KeyContext, ...]:
    return tuple(vars(owner).get("KEY_CONTEXTS", ()))


PLACED = [node for node in all_of(DOMNode) if places_of(node)]


def classes_with_keys(action: Action) -> list[type[DOMNode]]:
    """Return the classes in whose key contexts the action's keys work."""
    return [node for node in PLACED if set(action.where) & set(places_of(node))]


@pytest.mark.parametrize("action", ROWS)
def test_every_action_has_a_short_description(action: Action) -> None:
    assert action.tooltip
    assert len(action.tooltip) <= 56
    assert action.footer_text
    assert action.name == action.name.strip().lower()
    assert action.group


# fmt: off
VERBS = frozenset({
    "Add", "Cancel", "Choose", "Clear", "Close", "Complete", "Confirm", "Copy",
    "Decrease", "Delay", "Delete", "Describe", "Double", "Edit", "Explain",
    "Filter", "Find", "Follow", "Go", "Halve", "Increase", "Inject", "Keep",
    "Kill", "Move", "Open", "Pause", "Probe", "Quit", "Recall", "Reload",
    "Resume", "Reverse", "Run", "Save", "Search", "Seek", "Select", "Set",
    "Show", "Sort", "Start", "Suspend", "Switch", "Toggle", "Try", "Use", "Wrap",
    "Write", "Zoom",
})
# fmt: on


@pytest.mark.parametrize("action", ROWS)
def test_every_description_of_an_action_begins_with_a_verb(action: Action) -> None:
    assert action.tooltip.split()[0].rstrip(":;,") in VERBS


@pytest.mark.parametrize("action", ROWS)
def test_every_action_has_a_handler(action: Action) -> None:
    destination, name, _ = parse(action.call)

    homes = [ProbetuiApp] if destination == "app" else classes_with_keys(action)

    assert classes_with_keys(action)
    assert all(hasattr(home, f"action_{name}") for home in homes)


def test_no_two_actions_have_the_same_id_or_name() -> None:
    ids = Counter(action.id for action in ACTIONS)
    names = Counter(
        name for action in ACTIONS for name in (action.name, *action.aliases)
    )

    assert max(ids.values()) == 1
    assert max(names.values()) == 1


def test_second_names_are_those_of_vim_and_of_kubectl() -> None:
    names = {action.id: action.aliases for action in ACTIONS if action.aliases}

    assert names == {
        "move.containers": ("po", "pods"),
        "look.events": ("ev",),
        "look.logs": ("log",),
        "app.quit": ("q",),
        "app.quit-now": ("q!",),
    }


@pytest.mark.parametrize(
    "places",
    [pytest.param(pair, id="-".join(map(str, pair))) for pair in OVERLAPPING_CONTEXTS],
)
def test_no_key_has_two_meanings_at_the_same_time(
    places: tuple[KeyContext, ...],
) -> None:
    active = [action for action in ACTIONS if set(action.where) & set(places)]

    clashes = [
        (first.id, second.id)
        for first, second in combinations(active, 2)
        if set(first.keys.split(",")) & set(second.keys.split(",")) - {""}
        and first.shares_keys_of != second.id
        and second.shares_keys_of != first.id
    ]

    assert clashes == []


@pytest.mark.parametrize(
    "action",
    [pytest.param(action, id=action.id) for action in ACTIONS if action.shares_keys_of],
)
def test_actions_that_share_keys_have_the_same_ones(action: Action) -> None:
    assert ACTIONS_BY_ID[action.shares_keys_of].keys == action.keys


def test_every_key_context_overlaps_with_others() -> None:
    named = {place for places in OVERLAPPING_CONTEXTS for place in places}

    assert named == set(KeyContext)
    assert all(bindings(where) for where in KeyContext)


@pytest.mark.parametrize(
    "owner",
    [pytest.param(node, id=node.__name__) for node in PLACED],
)
def test_every_binding_comes_from_the_table(owner: type[DOMNode]) -> None:
    found = [binding for binding in owner.BINDINGS if isinstance(binding, Binding)]
    # The numbers of a menu's rows are no actions: their keys cannot be changed.
    ids = {
        binding.id
        for binding in found
        if owner not in {MenuPane, ChoiceScreen} or binding.id is not None
    }

    assert ids <= ACTIONS_BY_ID.keys()


@pytest.mark.parametrize("keys", [(), ("2",), ("3",), ("z",)])
async def test_the_palette_offers_every_active_key_with_its_target(
    keys: tuple[str, ...],
) -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        active = {label.id for label in active_labels(app.screen.active_bindings)}
        here = list(available_actions(app.screen))
        titles = [row.title for row in ActionProvider(app.screen).rows()]

    expected = {action for action in active if ACTIONS_BY_ID[action].is_listed}
    hidden = {action.id for action in here if action.keys} - expected
    assert {action.id for action in here} >= expected
    assert hidden <= {"app.quit"}, "behind another action with its key"
    assert all(": " in title or "?" in title for title in titles)
    assert any(
        title.startswith("Probe now: demo/liveness liveness") for title in titles
    )


async def test_actions_without_a_target_are_not_offered(
    pulling_app: ProbetuiApp,
) -> None:
    async with pulling_app.run_test(size=(120, 40)):
        available = {action.on for action in available_actions(pulling_app.screen)}

    assert Target.PROBE not in available


@pytest.fixture
def pulling_app() -> ProbetuiApp:
    from tests.tui.snapshots import a_snapshot  # noqa: PLC0415

    return an_app(a_snapshot())
