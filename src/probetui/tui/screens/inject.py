"""Choosing what the next runs of a probe come to."""

from __future__ import annotations

from probetui.presentation.detail import title
from probetui.presentation.spans import Role, Span, line, muted
from probetui.tui.injecting import Injecting
from probetui.tui.screens.menu import MenuScreen
from probetui.tui.stage import Stage
from probetui.tui.widgets.menu_pane import MenuRow

_HELP = line(
    muted("left and right: for how many runs; it goes behind what is chosen already")
)


class InjectScreen(MenuScreen):
    """Each choice is for the next `times` runs, behind those that are still to come."""

    HEADING = "Choose the next result"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._injecting = Injecting(stage)

    def show_rows(self) -> None:
        subject, view = self.stage.subject, self.stage.sight.view
        if subject is None or subject.probe is None:
            self.dismiss()
            return
        times = self._injecting.times
        about = line(
            title(subject, view),
            f" {subject.probe.key.probe_type.lower()}",
            muted("  for the next "),
            Span(f"{times}", Role.ACCENT),
            muted(" run" if times == 1 else " runs"),
        )
        rows = [MenuRow(*each) for each in self._injecting.choices]
        self.menu.show(about, rows, (self._injecting.pending(), _HELP))

    def picked(self, name: str) -> None:
        if (command := self._injecting.command(name)) is not None:
            self.give(command)
        self.dismiss()

    def action_change(self, step: int) -> None:
        self._injecting.change(step)
        self.show_rows()
