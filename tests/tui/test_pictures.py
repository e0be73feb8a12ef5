"""What each state of the screen looks like (UX-18, UX-39, UX-40, UX-41).

Look at the pictures before you accept them:

    pytest tests/tui/test_pictures.py --snapshot-update
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from probetui.tui.app import ProbetuiApp
from tests.tui.app_harness import an_app
from tests.tui.scenes import SCENES

Compare = Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]
STATES = [pytest.param(scene, id=scene) for scene in SCENES]


@pytest.mark.parametrize("state", STATES)
def test_state_at_80x24(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (80, 24), ())


@pytest.mark.parametrize("state", STATES)
def test_state_at_120x40(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (120, 40), ())


# The state "failing" has a picture in more sizes than these, below.
@pytest.mark.parametrize(
    "state",
    [parameter_set for parameter_set in STATES if parameter_set.id != "failing"],
)
def test_state_at_50x12(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (50, 12), ())


@pytest.mark.parametrize(
    "state",
    [parameter_set for parameter_set in STATES if parameter_set.id != "failing"],
)
def test_state_at_200x50(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (200, 50), ())


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((50, 12), id="50x12"),
        pytest.param((120, 40), id="120x40"),
        pytest.param((200, 50), id="200x50"),
    ],
)
@pytest.mark.parametrize(
    "press",
    [
        pytest.param(("question_mark",), id="help"),
        pytest.param(("colon", *"re"), id="command line"),
        pytest.param(("C",), id="copy menu"),
        pytest.param(("ctrl+d",), id="question"),
        pytest.param(("i",), id="next result"),
        pytest.param(("x",), id="break"),
        pytest.param(("e",), id="timing"),
    ],
)
def test_view(picture: Compare, press: Iterable[str], size: tuple[int, int]) -> None:
    assert picture(an_app(SCENES["failing"]()), size, press)


@pytest.mark.parametrize(
    ("size", "press"),
    [
        pytest.param((50, 12), (), id="tiny"),
        pytest.param((30, 8), (), id="too small"),
        pytest.param((80, 18), ("2",), id="short"),
        pytest.param((100, 20), ("3",), id="short and normal"),
        pytest.param((80, 50), (), id="narrow and tall"),
        pytest.param((200, 50), (), id="wide"),
    ],
)
def test_size(picture: Compare, size: tuple[int, int], press: Iterable[str]) -> None:
    assert picture(an_app(SCENES["failing"]()), size, press)


@pytest.mark.parametrize(
    ("press", "options"),
    [
        pytest.param(("question_mark",), {}, id="help"),
        pytest.param(("colon", *"re"), {}, id="command line"),
        pytest.param(("C",), {}, id="copy menu"),
        pytest.param(("ctrl+d",), {}, id="question"),
        pytest.param(("o",), {}, id="worst first"),
        pytest.param(("slash", *"shop"), {}, id="filter"),
        pytest.param(("slash", *"shop("), {}, id="filter that is wrong"),
        pytest.param(("slash", *"shop", "enter"), {}, id="filter kept"),
        pytest.param(("j", "j", "right_square_bracket"), {}, id="another container"),
        pytest.param(("enter",), {}, id="detail"),
        pytest.param(("v", "k", "k"), {}, id="events"),
        pytest.param(("3", "f"), {}, id="faults only"),
        pytest.param(("u",), {}, id="times since the start"),
        pytest.param((), {"ascii": True}, id="ascii"),
        pytest.param((), {"theme": "textual-light"}, id="light"),
        pytest.param((), {"theme": "blue-orange-dark"}, id="blue and orange"),
        pytest.param((), {"theme": "blue-orange-light"}, id="blue and orange, light"),
        pytest.param((), {"theme": "ansi-dark"}, id="the terminal's own colours"),
        pytest.param((), {"read_only": True}, id="read-only"),
    ],
)
def test_view_at_80x24(
    picture: Compare, press: Iterable[str], options: dict[str, Any]
) -> None:
    assert picture(an_app(SCENES["failing"](), **options), (80, 24), press)


def test_screen_without_colours(
    picture: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert picture(an_app(SCENES["failing"]()), (80, 24), ())
