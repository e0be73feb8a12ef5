"""Screenshots of every state of the screen.

One screenshot tests one state. The required content at every size is in test_sizes.py.

Check the pictures before you accept them:

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
KEYS = {"gated": ("slash", *"web", "enter", "right_square_bracket")}
"""The keys to press so that the picture shows the state of its name."""

STATES = [pytest.param(scene, id=scene) for scene in SCENES]


@pytest.mark.parametrize("state", STATES)
def test_state_at_80x24(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (80, 24), KEYS.get(state, ()))


@pytest.mark.parametrize("state", ["failing", "on_hold", "back_off"])
def test_state_at_120x40(picture: Compare, state: str) -> None:
    assert picture(an_app(SCENES[state]()), (120, 40), ())


@pytest.mark.parametrize(
    ("size", "press"),
    [
        pytest.param((50, 12), (), id="tiny"),
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
        pytest.param(("slash", *"shop("), {}, id="filter that is wrong"),
        pytest.param(("j", "j"), {}, id="another container"),
        pytest.param((), {"ascii": True}, id="ascii"),
        pytest.param((), {"theme": "textual-light"}, id="light"),
        pytest.param((), {"theme": "blue-orange-dark"}, id="blue and orange"),
        pytest.param((), {"theme": "blue-orange-light"}, id="blue and orange, light"),
        pytest.param((), {"theme": "ansi-dark"}, id="the terminal's own colours"),
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
