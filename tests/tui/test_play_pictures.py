"""Screenshots of injecting, fault injection, editing and stepping.

Check the pictures before you accept them:

    pytest tests/tui/test_play_pictures.py --snapshot-update
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from probetui.debugger.commands import Injected
from probetui.tui.app import ProbetuiApp
from tests.ticks import DEMO_KEY
from tests.tui.app_harness import an_app
from tests.tui.debugging_snapshots import stopped, with_probe
from tests.tui.scenes import failing

Compare = Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]


@pytest.mark.parametrize(
    "size",
    [
        pytest.param((80, 24), id="80x24"),
        pytest.param((120, 40), id="120x40"),
    ],
)
def test_steps(picture: Compare, size: tuple[int, int]) -> None:
    assert picture(an_app(stopped()), size, ("Q",))


@pytest.mark.parametrize(
    "press",
    [
        pytest.param(("i", "right", "right"), id="inject"),
        pytest.param(("x",), id="break"),
        pytest.param(("e", "right", "right"), id="edit"),
    ],
)
def test_menu_at_80x24(picture: Compare, press: Iterable[str]) -> None:
    chosen = with_probe(failing(), DEMO_KEY, injections=(Injected.FAILURE,) * 2)

    assert picture(an_app(chosen), (80, 24), press)


def test_a_session_that_stopped_by_itself(picture: Compare) -> None:
    assert picture(an_app(stopped()), (80, 24), ())
