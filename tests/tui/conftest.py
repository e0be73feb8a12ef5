"""Screenshots: created and compared on one version of Python only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.widgets import Input

from probetui.tui.app import ProbetuiApp
from tests.tui.settling import settling

PICTURES_ARE_OF = (3, 11)
"""The Python version of the screenshots; others draw some characters differently."""

Picture = Callable[..., bool]


@pytest.fixture(scope="session", autouse=True)
def stylesheets_parsed_once() -> Iterator[None]:
    """Parse every style sheet once per theme instead of once per app."""
    parse = Stylesheet._parse_rules
    parsed: dict[object, Any] = {}

    def parse_once(self: Stylesheet, css: str, **where: Any) -> Any:
        key = (css, *where.items(), frozenset(self._variables.items()))
        if key not in parsed:
            parsed[key] = parse(self, css, **where)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def toasts_stay() -> Iterator[None]:
    """Keep toasts for an hour: a machine that was held up would have lost them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ProbetuiApp, "NOTIFICATION_TIMEOUT", 3600)
        yield


@pytest.fixture(autouse=True)
def pilots_settle(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let pilots wait until the app is idle, except in real-time tests."""
    if request.node.get_closest_marker("real_time") is not None:
        yield
        return
    with settling():
        yield


@pytest.fixture
def picture(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]:
    """Compare the screen, after some keys, with the accepted screenshot."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    # Whether a blinking cursor is drawn depends on how busy the machine is.
    monkeypatch.setattr(Input.cursor_blink, "_default", False)
    version = sys.version_info[:2]
    if version != PICTURES_ARE_OF:
        version_text = ".".join(map(str, PICTURES_ARE_OF))
        if request.config.getoption("update_snapshots"):
            pytest.fail(f"pictures are only made on Python {version_text}")
        pytest.skip(f"pictures are only compared on Python {version_text}")
    # Only now: a process that compares no picture would search for unused ones.
    snap_compare: Picture = request.getfixturevalue("snap_compare")

    def compare(
        app: ProbetuiApp, size: tuple[int, int], press: Iterable[str] = ()
    ) -> bool:
        return snap_compare(app, press=press, terminal_size=size)

    return compare
