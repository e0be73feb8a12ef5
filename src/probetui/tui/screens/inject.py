"""Choosing what the next runs of a probe come to."""

from __future__ import annotations

from itertools import groupby

from probetui.kubelet.inputs import Injected, InjectResults
from probetui.presentation.detail import title
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.tui.screens.menu import MenuScreen
from probetui.tui.stage import Stage
from probetui.tui.widgets.menu_pane import MenuRow

MOST_AT_ONCE = 99

_REAL = MenuRow("real", "real probe", "run it and use what it says (default)")
_CHOICES = (
    MenuRow(Injected.SUCCESS, "success"),
    MenuRow(Injected.FAILURE, "failure"),
    MenuRow(Injected.WARNING, "warning", "a redirect elsewhere; counts as success"),
    MenuRow(Injected.ERRORED, "errored", "discarded, run unchanged, tried 3 times"),
    MenuRow(Injected.TIMED_OUT, "timed out", "a failure after timeoutSeconds"),
)
_HELP = line(
    muted("left and right: for how many runs; it goes behind what is chosen already")
)


class InjectScreen(MenuScreen):
    """Each choice is for the next `times` runs, behind those that are still to come."""

    HEADING = "Choose the next result"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._times = 1

    def show_rows(self) -> None:
        subject, view = self.stage.subject, self.stage.sight.view
        if subject is None or subject.probe is None:
            self.dismiss()
            return
        probe = subject.probe
        about = line(
            title(subject, view),
            f" {probe.key.probe_type.lower()}",
            muted("  for the next "),
            Span(f"{self._times}", Role.ACCENT),
            muted(" run" if self._times == 1 else " runs"),
        )
        pending = line(muted("still to come: "), *_pending(probe.injections))
        self.menu.show(about, (_REAL, *_CHOICES), (pending, _HELP))

    def picked(self, name: str) -> None:
        subject = self.stage.subject
        if subject is None or subject.probe is None:
            return
        probe = subject.probe
        if name == _REAL.name:
            self.give(InjectResults(probe.key, ()))
        else:
            added = (Injected(name),) * self._times
            self.give(InjectResults(probe.key, (*probe.injections, *added)))
        self.dismiss()

    def action_change(self, step: int) -> None:
        self._times = max(1, min(self._times + step, MOST_AT_ONCE))
        self.show_rows()


def _pending(injections: tuple[Injected, ...]) -> Line:
    if not injections:
        return line(muted("nothing, the probe is run"))
    runs = [(each, len(tuple(run))) for each, run in groupby(injections)]
    words = (f"{each} x{count}" if count > 1 else str(each) for each, count in runs)
    return line(Span(", ".join(words), Role.ACCENT))
