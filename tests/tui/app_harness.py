"""Run an app on a fake session, and read its screen."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from textual.app import App
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widget import Widget

from probetui.engine.snapshot import Snapshot
from probetui.record.masking import Mask
from probetui.tui.app import ProbetuiApp
from probetui.tui.host_services import HostServices
from probetui.tui.options import ScreenOptions
from tests.tui.fake_session import FakeSession


def an_app(
    snapshot: Snapshot | FakeSession,
    mask: Mask | None = None,
    host: HostServices | None = None,
    **options: Any,
) -> ProbetuiApp:
    """Return an app that shows a snapshot, or a session."""
    session = snapshot if isinstance(snapshot, FakeSession) else FakeSession(snapshot)
    return ProbetuiApp(
        session,
        options=ScreenOptions(zone=UTC, **options),
        mask=mask,
        host=host,
    )


def an_app_of_cards(*parts: Any, **options: Any) -> ProbetuiApp:
    """Return an app as `an_app` does, with cards in place of lanes."""
    return an_app(*parts, lanes=False, **options)


def screen_lines(app: App[Any]) -> list[str]:
    """Return the lines of the screen."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def screen_text(app: App[Any]) -> str:
    """Return the whole text of the screen."""
    return "\n".join(screen_lines(app))


def line_with(app: App[None], words: str) -> str:
    """Return the first line on the screen that contains `words`."""
    lines = [line for line in screen_lines(app) if words in line]
    assert lines, f"no line contains {words!r}"
    return lines[0]


def turn_the_wheel(widget: Widget, steps: int) -> None:
    """Turn the mouse wheel over a widget, down or (below zero) up."""
    kind = MouseScrollDown if steps > 0 else MouseScrollUp
    for _ in range(abs(steps)):
        widget.post_message(
            kind(
                widget,
                x=1,
                y=1,
                delta_x=0,
                delta_y=0,
                button=0,
                shift=False,
                meta=False,
                ctrl=False,
            )
        )
