"""What an app does with time that is not the wall's, with lessons, and with records."""

from __future__ import annotations

from collections.abc import Container

from probetui.drive.session import Playback, Session
from probetui.errors import ProbetuiError
from probetui.kubelet.inputs import PauseProbes, ResumeProbes
from probetui.presentation.moments import moment
from probetui.tui.action import Where
from probetui.tui.program_actions import ProgramActions
from probetui.tui.screens.catalogue import SCREENS

_NO_PLAYBACK = "time goes its own way here; it can be moved in sim and replay"


class PlayedApp(ProgramActions, inherit_bindings=False):
    """An app that can move a session's time, where that can be moved.

    Args:
        session: what is looked at.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def action_pause(self) -> None:
        """Hold back all ticks; from the main screen, go where they are stepped."""
        self.session.send(PauseProbes())
        if self.stage.options.pause_opens_step and Where.PANES in self._places:
            self.push_screen(SCREENS["step"](self.stage))

    def action_resume(self) -> None:
        """Let ticks go again; leave the place where they are stepped."""
        self.session.send(ResumeProbes())
        if Where.STEPS in self._places:
            self.pop_screen()

    @property
    def _places(self) -> Container[Where]:
        """Where the keys of the screen in front work."""
        places: Container[Where] = getattr(self.screen, "PLACES", ())
        return places

    def action_step_back(self) -> None:
        """Go back to before the last tick."""
        playback = self._playback()
        if playback is not None and not playback.step_back():
            self.notify("this is the beginning", markup=False)

    def action_change_pace(self, steps: int) -> None:
        """Go faster or slower."""
        if (playback := self._playback()) is not None:
            playback.change_pace(steps)

    def action_seek(self, to: str = "") -> None:
        """Go to an instant."""
        playback, snapshot = self._playback(), self.stage.sight.snapshot
        if playback is None:
            return
        instant = moment(to, snapshot.started_at, snapshot.taken_at)
        if instant is None:
            said = f'"{to}" is not a time; write 1m30s, 01:30, -10s or +10s'
            self.notify(said, severity="error", markup=False)
        else:
            playback.seek(instant)

    def action_turn_page(self, steps: int) -> None:
        """End this lesson and begin another one."""
        lesson = self.stage.outside.lesson
        if lesson is not None:
            lesson.turn_page(steps)

    def action_save(self) -> None:
        """Keep the session's record in a file of its own."""
        save = self.stage.outside.save
        if save is None:
            return
        try:
            self.notify(f"saved {save()}", markup=False)
        except ProbetuiError as error:
            self.notify(str(error), severity="error", markup=False)

    def _playback(self) -> Playback | None:
        """Return what moves the session's time; say why nothing does."""
        if self.session.playback is None:
            self.notify(_NO_PLAYBACK, severity="warning", markup=False)
        return self.session.playback
