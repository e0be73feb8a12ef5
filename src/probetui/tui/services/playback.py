"""Pausing, lessons, and the clock of a simulation or replay: step back, speed, seek."""

from __future__ import annotations

from collections.abc import Container

from probetui.debugger.commands import PauseProbes, ResumeProbes
from probetui.drive.session import Playback
from probetui.durations import parse_instant
from probetui.tui.actions.action import KeyContext
from probetui.tui.screens.registry import SCREEN_OPENERS, open_lesson_change
from probetui.tui.state import StatefulApp

_NO_PLAYBACK = "Seeking works in sim and replay only."


def pause_probes(app: StatefulApp) -> None:
    """Pause all probes; from the main screen, open step mode."""
    app.session.send(PauseProbes())
    opens_step = app.ui_state.options.pause_opens_step
    if opens_step and KeyContext.PANES in _key_contexts(app):
        app.push_screen(SCREEN_OPENERS["step"](app.ui_state))


def resume_probes(app: StatefulApp) -> None:
    """Resume all probes; leave step mode."""
    app.session.send(ResumeProbes())
    if KeyContext.STEPS in _key_contexts(app):
        app.pop_screen()


def step_back(app: StatefulApp) -> None:
    """Go back to before the last tick."""
    playback = _playback(app)
    if playback is not None and not playback.step_back():
        app.notify("This is the beginning.")


def change_pace(app: StatefulApp, steps: int) -> None:
    """Double the speed `steps` times, or halve it if negative."""
    if (playback := _playback(app)) is not None:
        playback.change_pace(steps)


def seek(app: StatefulApp, to: str = "") -> None:
    """Go to an instant, given as a time since the start or from now."""
    playback, snapshot = _playback(app), app.ui_state.view_model.snapshot
    if playback is None:
        return
    instant = parse_instant(to, snapshot.started_at, snapshot.taken_at)
    if instant is None:
        app.notify(
            f'"{to}" is not a time; write 1m30s, 01:30, -10s or +10s', severity="error"
        )
    else:
        playback.seek(instant)


def change_lesson(app: StatefulApp, steps: int) -> None:
    """End this lesson and start another one; keys are off meanwhile."""
    lesson = app.ui_state.host.lesson
    if lesson is not None:
        app.push_screen(open_lesson_change(lesson, steps, app.ui_state.options))
        lesson.turn_page(steps)


def _key_contexts(app: StatefulApp) -> Container[KeyContext]:
    contexts: Container[KeyContext] = getattr(app.screen, "KEY_CONTEXTS", ())
    return contexts


def _playback(app: StatefulApp) -> Playback | None:
    """Return the session's playback; notify the user if it has none."""
    if app.session.playback is None:
        app.notify(_NO_PLAYBACK, severity="warning")
    return app.session.playback
