"""Breaking a container on purpose, and stopping where something happens to it."""

from __future__ import annotations

from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import BreakPoint, DisruptContainer, SetBreakPoints
from probetui.kubelet.scope import Scope
from probetui.presentation.detail import title
from probetui.presentation.spans import line, muted
from probetui.tui.screens.menu import MenuScreen
from probetui.tui.widgets.menu_pane import MenuRow

_DISRUPTIONS = (
    MenuRow(Disruption.STOP, "stop main process", "SIGTERM, as if it ended by itself"),
    MenuRow(Disruption.KILL, "kill main process", "SIGKILL: exit 137, no grace"),
    MenuRow(Disruption.CUT_NETWORK, "cut network", "of the whole pod"),
    MenuRow(Disruption.RESTORE_NETWORK, "restore network"),
)
_FREEZE = MenuRow(Disruption.FREEZE, "freeze", "all its processes stand still")
_UNFREEZE = MenuRow(Disruption.UNFREEZE, "unfreeze", "they go on")
_POINTS = {
    BreakPoint.BEFORE_KILL: "hold back what would kill",
    BreakPoint.FIRST_FAILURE: "after a success, or at first",
    BreakPoint.READINESS: "ready, or not any more",
}
_WORDS = {
    BreakPoint.BEFORE_KILL: "before a kill",
    BreakPoint.FIRST_FAILURE: "first failure",
    BreakPoint.READINESS: "change of readiness",
}


class BreakScreen(MenuScreen):
    """What the runtime can do to a container, and this container's break-points."""

    HEADING = "Break"

    def show_rows(self) -> None:
        subject, view = self.stage.subject, self.stage.sight.view
        if subject is None:
            self.dismiss()
            return
        container = subject.container
        rows = [
            _FREEZE if container.frozen_since is None else _UNFREEZE,
            *_DISRUPTIONS,
            MenuRow("", ""),
            MenuRow("", "pause by itself at"),
        ]
        for point, note in _POINTS.items():
            mark = "[x]" if point in container.break_points else "[ ]"
            rows.append(MenuRow(point, f"{mark} {_WORDS[point]}", note))
        last = line(muted("nobody tells the kubelet; it finds out by its probes"))
        self.menu.show(line(title(subject, view)), rows, (last,))

    def picked(self, name: str) -> None:
        subject = self.stage.subject
        if subject is None:
            return
        uid, container = subject.pod.pod.uid, subject.container
        if name in set(BreakPoint):
            points = container.break_points ^ {BreakPoint(name)}
            scope = Scope(uid, container.container.name)
            self.give(SetBreakPoints(points, scope))
            return
        self.give(DisruptContainer(uid, container.container.name, Disruption(name)))
        self.dismiss()
