"""The table of actions: sound by itself, and all is made from it (UX-42, UX-44)."""

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
from probetui.tui.acting import offered
from probetui.tui.action import Action, On, Where
from probetui.tui.actions import ACTIONS, BY_ID, TOGETHER, bindings
from probetui.tui.app import ProbetuiApp
from probetui.tui.key_labels import active_labels
from probetui.tui.palette import Actions
from probetui.tui.widgets.menu_pane import MenuPane
from tests.tui.scenes import failing
from tests.tui.seeing import an_app

ROWS = [pytest.param(each, id=each.id) for each in ACTIONS]


# Screens are imported when they are opened; here all of them are looked at.
for each in iter_modules(screens.__path__, f"{screens.__name__}."):
    import_module(each.name)


def all_of(kind: type[DOMNode]) -> list[type[DOMNode]]:
    """Return a class and all that are made of it."""
    found = [kind]
    for each in kind.__subclasses__():
        found += all_of(each)
    return found


def places_of(owner: type[DOMNode]) -> tuple[Where, ...]:
    return tuple(vars(owner).get("PLACES", ()))


PLACED = [each for each in all_of(DOMNode) if places_of(each)]


def at_home(action: Action) -> list[type[DOMNode]]:
    """Return the classes that have a place where the action's keys work."""
    return [each for each in PLACED if set(action.where) & set(places_of(each))]


@pytest.mark.parametrize("action", ROWS)
def test_every_action_says_what_it_does_in_a_few_words(action: Action) -> None:
    assert action.tooltip
    assert len(action.tooltip) <= 56
    assert action.word
    assert action.name == action.name.strip().lower()
    assert action.group


@pytest.mark.parametrize("action", ROWS)
def test_every_action_is_done_by_something_there_is(action: Action) -> None:
    destination, name, _ = parse(action.call)

    homes = [ProbetuiApp] if destination == "app" else at_home(action)

    assert at_home(action)
    assert all(hasattr(each, f"action_{name}") for each in homes)


def test_no_two_actions_have_the_same_id_or_name() -> None:
    ids = Counter(each.id for each in ACTIONS)
    names = Counter(name for each in ACTIONS for name in (each.name, *each.aliases))

    assert max(ids.values()) == 1
    assert max(names.values()) == 1


@pytest.mark.parametrize(
    "places", [pytest.param(each, id="-".join(map(str, each))) for each in TOGETHER]
)
def test_no_key_means_two_things_at_the_same_time(places: tuple[Where, ...]) -> None:
    here = [each for each in ACTIONS if set(each.where) & set(places)]

    clashes = [
        (one.id, other.id)
        for one, other in combinations(here, 2)
        if set(one.keys.split(",")) & set(other.keys.split(",")) - {""}
        and one.shares_keys_of != other.id
        and other.shares_keys_of != one.id
    ]

    assert clashes == []


@pytest.mark.parametrize(
    "action",
    [pytest.param(each, id=each.id) for each in ACTIONS if each.shares_keys_of],
)
def test_actions_that_share_keys_have_the_same_ones(action: Action) -> None:
    assert BY_ID[action.shares_keys_of].keys == action.keys


def test_every_place_has_keys_that_work_with_others() -> None:
    named = {each for places in TOGETHER for each in places}

    assert named == set(Where)
    assert all(bindings(each) for each in Where)


@pytest.mark.parametrize(
    "owner",
    [pytest.param(each, id=each.__name__) for each in PLACED],
)
def test_every_binding_comes_from_the_table(owner: type[DOMNode]) -> None:
    found = [each for each in owner.BINDINGS if isinstance(each, Binding)]
    # The numbers of a menu's rows are no actions: nobody gives them other keys.
    ids = {each.id for each in found if owner is not MenuPane or each.id is not None}

    assert ids <= BY_ID.keys()


@pytest.mark.parametrize("keys", [(), ("2",), ("3",), ("z",)])
async def test_the_palette_offers_every_key_that_works_and_what_it_acts_on(
    keys: tuple[str, ...],
) -> None:
    app = an_app(failing())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        active = {each.id for each in active_labels(app.screen.active_bindings)}
        here = list(offered(app.screen))
        titles = [each.title for each in Actions(app.screen).rows()]

    expected = {each for each in active if BY_ID[each].has_line}
    hidden = {each.id for each in here if each.keys} - expected
    assert {each.id for each in here} >= expected
    assert hidden <= {"app.quit"}, "behind another action with its key"
    assert all(": " in each or "?" in each for each in titles)
    assert any(each.startswith("Probe now: demo/liveness liveness") for each in titles)


async def test_what_acts_on_nothing_is_not_offered(pulling_app: ProbetuiApp) -> None:
    async with pulling_app.run_test(size=(120, 40)):
        here = {each.on for each in offered(pulling_app.screen)}

    assert On.PROBE not in here


@pytest.fixture
def pulling_app() -> ProbetuiApp:
    from tests.tui.states import a_snapshot  # noqa: PLC0415

    return an_app(a_snapshot())
