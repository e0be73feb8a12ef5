"""Wait for a screen until the app is idle.

The framework's pilot waits until the processor is idle, twenty milliseconds at a time
and twice for each key, and screens are painted up to sixty times a second meanwhile.
Here every message pump is checked, and all changes are painted once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import pytest
from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from probetui.tui.app import ProbetuiApp
from probetui.tui.services.key_order import is_waiting

_IDLE_CHECKS = 10
"""Consecutive checks: anything that is no pump, such as a worker, runs between them."""

_PATIENCE_SECONDS = 60

_paint = Screen._compositor_refresh
_unpainted: WeakSet[Screen[Any]] = WeakSet()


@contextmanager
def settling() -> Iterator[None]:
    """Let all pilots wait with `settle`."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("textual.app.wait_for_idle", settle)
        patched.setattr(Pilot, "pause", _pause)
        patched.setattr(Screen, "_compositor_refresh", _paint_later)
        yield


async def _pause(pilot: Pilot[Any], delay: float | None = None) -> None:
    await pilot._wait_for_screen()
    if delay is not None:
        await asyncio.sleep(delay)
    await settle()


async def settle(*_: float) -> None:
    """Wait until the app of this test is idle, and paint it."""
    app = active_app.get()
    idle_checks = 0
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while idle_checks < _IDLE_CHECKS:
            idle_checks = idle_checks + 1 if is_settled(app) else 0
            if idle_checks == _IDLE_CHECKS and _paint_now(app):
                idle_checks = 0
            await asyncio.sleep(0)


def is_settled(app: App[Any]) -> bool:
    """Return whether no pump of an app has anything to do, now or in a moment."""
    is_delaying = isinstance(app, ProbetuiApp) and app._key_order.is_delaying
    is_resizing = app._resize_timer is not None
    pumps = (app, *app._registry)
    return not (is_delaying or is_resizing) and all(map(is_waiting, pumps))


def _paint_now(app: App[Any]) -> bool:
    """Paint all changes; return whether there were any."""
    if not (app._running and app._screen_stack and app.screen.is_running):
        return False
    screen = app.screen
    has_changed = bool(
        screen in _unpainted
        or screen._dirty_widgets
        or screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._callbacks
    )
    if has_changed:
        screen._on_timer_update()
        if screen in _unpainted:
            _unpainted.discard(screen)
            _paint(screen)
    return has_changed


def _paint_later(screen: Screen[Any]) -> None:
    if screen is screen.app.screen:
        _unpainted.add(screen)
        screen.app._update_mouse_over(screen)
    else:
        _paint(screen)
