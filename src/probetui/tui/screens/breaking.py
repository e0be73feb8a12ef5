"""Breaking a container on purpose, and stopping where something happens to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from probetui.k8s.status import Running
from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import BreakPoint, DisruptContainer, SetBreakPoints
from probetui.kubelet.scope import Scope
from probetui.presentation.detail import Subject, title
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.tui.screens.menu import MenuScreen
from probetui.tui.widgets.menu_pane import MenuRow

_FREEZE = MenuRow(Disruption.FREEZE, "freeze", "all its processes stand still")
_UNFREEZE = MenuRow(Disruption.UNFREEZE, "unfreeze", "they go on")
_STOP = MenuRow(
    Disruption.STOP, "stop main process", "SIGTERM, as if it ended by itself"
)
_KILL = MenuRow(Disruption.KILL, "kill main process", "SIGKILL: exit 137, no grace")
_CUT = MenuRow(Disruption.CUT_NETWORK, "cut network", "of the whole pod")
_RESTORE = MenuRow(Disruption.RESTORE_NETWORK, "restore network", "as it was before")
_NOT_NOW = "not now, see below"
_DOES_NOT_RUN = "the container does not run"
_ONLY_WATCHED = "it is only watched (--act lets containers be touched)"
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
        disruptions = (
            _FREEZE if container.frozen_since is None else _UNFREEZE,
            _STOP,
            _KILL,
            _CUT if container.cut_off_since is None else _RESTORE,
        )
        reasons = {each.name: self._why_not(subject, each.name) for each in disruptions}
        rows = [
            each._replace(note=_NOT_NOW, is_off=True) if reasons[each.name] else each
            for each in disruptions
        ]
        rows += [MenuRow("", ""), MenuRow("", "pause by itself at")]
        for point, note in _POINTS.items():
            mark = "[x]" if point in container.break_points else "[ ]"
            rows.append(MenuRow(point, f"{mark} {_WORDS[point]}", note))
        self.menu.show(
            line(title(subject, view)), rows, tuple(_last_words(reasons.values()))
        )

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

    def _why_not(self, subject: Subject, name: str) -> str:
        """Return why something cannot be done to a container now, else nothing."""
        if not self.stage.sight.snapshot.acts:
            return _ONLY_WATCHED
        status = subject.container.status
        if status is None or not isinstance(status.state, Running):
            return _DOES_NOT_RUN
        ask = self.stage.outside.why_not
        return "" if ask is None else ask(subject.pod.pod, Disruption(name))


def _last_words(reasons: Iterable[str]) -> Iterator[Line]:
    """Yield why some of it cannot be done, and what else there is to know."""
    for reason in dict.fromkeys(each for each in reasons if each):
        yield line(Span("not now: ", Role.WARNING), reason)
    yield line(muted("nobody tells the kubelet; it finds out by its probes"))
