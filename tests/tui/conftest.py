"""Pictures of screens: made by one version of Python only, and compared there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import pytest
from textual.widgets import Input

from probetui.tui.app import ProbetuiApp

PICTURES_ARE_OF = (3, 11)
"""The version whose pictures are kept; others draw some characters differently."""

Picture = Callable[..., bool]


@pytest.fixture
def picture(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    snap_compare: Picture,
) -> Callable[[ProbetuiApp, tuple[int, int], Iterable[str]], bool]:
    """Compare the screen, after some keys, with the picture that was accepted."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    # What blinks is drawn or not, by how busy the machine is.
    monkeypatch.setattr(Input.cursor_blink, "_default", False)
    version = sys.version_info[:2]
    if version != PICTURES_ARE_OF:
        wanted = ".".join(map(str, PICTURES_ARE_OF))
        if request.config.getoption("update_snapshots"):
            pytest.fail(f"pictures are only made on Python {wanted}")
        pytest.skip(f"pictures are only compared on Python {wanted}")

    def compare(
        app: ProbetuiApp, size: tuple[int, int], press: Iterable[str] = ()
    ) -> bool:
        return snap_compare(app, press=press, terminal_size=size)

    return compare
