"""Screenshots of the screens with text to read.

Check the pictures before you accept them:

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


def the_app(**options: Any) -> ProbetuiApp:
    return an_app(restarted(), host=HostServices(logs=logs()), **options)


@pytest.mark.parametrize(
    ("keys", "size"),
    [
        pytest.param(("v", "k", "k"), (80, 24), id="events-80x24"),
        pytest.param(("v", "k", "k"), (120, 40), id="events-120x40"),
        pytest.param(("l",), (80, 24), id="logs-80x24"),
        pytest.param(("d",), (80, 24), id="describe-80x24"),
        pytest.param(("y",), (80, 24), id="yaml-80x24"),
    ],
)
def test_screen(picture: Compare, keys: Iterable[str], size: tuple[int, int]) -> None:
    assert picture(the_app(), size, keys)


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        pytest.param(("v", "F"), {}, id="folded"),
        pytest.param(("l", "p"), {}, id="previous logs"),
        pytest.param(("y", "slash", *"probe", "enter"), {}, id="yaml searched"),
        pytest.param(("v", "k", "k"), {"ascii": True}, id="events in ascii"),
    ],
)
def test_view_at_80x24(
    picture: Compare, keys: Iterable[str], options: dict[str, Any]
) -> None:
    assert picture(the_app(**options), (80, 24), keys)
