"""What the screens that are read look like (UX-03, UX-40, UX-41).

Look at the pictures before you accept them:

    pytest tests/tui/test_reading_pictures.py --snapshot-update
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from tests.tui.app_harness import an_app
from tests.tui.reading_scenes import logs, restarted

Compare = Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]
SIZES = [
    pytest.param(each, id=f"{each[0]}x{each[1]}")
    for each in ((50, 12), (80, 24), (120, 40), (200, 50))
]


def the_app(**options: Any) -> ProbetuiApp:
    return an_app(restarted(), host=HostServices(logs=logs()), **options)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("v", "k", "k"), id="events"),
        pytest.param(("l",), id="logs"),
        pytest.param(("d",), id="describe"),
        pytest.param(("y",), id="yaml"),
    ],
)
def test_screen(picture: Compare, size: tuple[int, int], keys: Iterable[str]) -> None:
    assert picture(the_app(), size, keys)


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        pytest.param(("v", "F"), {}, id="folded"),
        pytest.param(("v", "W", "k", "k"), {}, id="events wrapped"),
        pytest.param(("v", "slash", *"unhealthy"), {}, id="events while filtering"),
        pytest.param(("v", "slash", *"back("), {}, id="filter that is wrong"),
        pytest.param(("l", "p"), {}, id="previous logs"),
        pytest.param(("l", "W", "g"), {}, id="logs wrapped"),
        pytest.param(("y", "slash", *"probe", "enter"), {}, id="yaml searched"),
        pytest.param(("d", "G"), {}, id="describe to its end"),
        pytest.param(("v", "k", "k"), {"ascii": True}, id="events in ascii"),
        pytest.param(("v", "question_mark"), {}, id="help"),
    ],
)
def test_view_at_80x24(
    picture: Compare, keys: Iterable[str], options: dict[str, Any]
) -> None:
    assert picture(the_app(**options), (80, 24), keys)
