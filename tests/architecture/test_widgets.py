"""Widgets and screens are composed of parts and do not inherit from many classes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import pytest
from textual.dom import DOMNode

from probetui import tui

MOST_LEVELS = 3

for module in walk_packages(tui.__path__, f"{tui.__name__}."):
    import_module(module.name)


def is_ours(kind: type) -> bool:
    return kind.__module__.startswith("probetui.")


def all_of(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    """Yield all subclasses of a class."""
    for subclass in kind.__subclasses__():
        yield subclass
        yield from all_of(subclass)


def levels(kind: type) -> int:
    """Return how many of our own classes are on the way from a class to its base."""
    return 1 + max(
        (levels(base) for base in kind.__bases__ if is_ours(base)), default=0
    )


OURS = sorted({kind for kind in all_of(DOMNode) if is_ours(kind)}, key=str)


def test_every_widget_and_screen_is_found() -> None:
    names = {kind.__name__ for kind in OURS}

    assert {"EventPane", "ContainerTable", "MainScreen", "HelpScreen"} <= names


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_a_widget_is_at_most_three_levels_of_our_own_deep(kind: type) -> None:
    assert levels(kind) <= MOST_LEVELS
