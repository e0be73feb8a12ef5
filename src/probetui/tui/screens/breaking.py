"""Breaking a container on purpose, and stopping where something happens to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from probetui.k8s.status import Running
from probetui.kubelet.effects import Disruption
from probetui.kubelet.inputs import (
    BreakPoint,
    DelayProbes,
    DisruptContainer,
    SetBreakPoints,
)
from probetui.kubelet.scope import Scope
from probetui.kubelet.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.presentation.detail import Subject, title
from probetui.presentation.durations import took
from probetui.presentation.spans import Line, Role, Span, line, muted
from probetui.tui.screens.menu import MenuScreen
from probetui.tui.stage import Stage
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
_DELAY = "fill-delay"
_NONE = timedelta()
_DELAYS = tuple(
    timedelta(milliseconds=each)
    for each in (0, 100, 200, 500, 1000, 2000, 3000, 5000, 10_000, 30_000, 60_000)
)


class BreakScreen(MenuScreen):
    """What the runtime can do to a container, late answers, and its break-points."""

    HEADING = "Break"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        probe = None if stage.subject is None else stage.subject.probe
        self._delay = _NONE if probe is None else _first_delay(probe)

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
        if subject.probe is not None:
            rows.append(self._delay_row(subject.probe))
        rows += _point_rows(container)
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
        if name != _DELAY:
            self.give(DisruptContainer(uid, container.container.name, Disruption(name)))
        elif subject.probe is not None:
            self.give(DelayProbes(Scope.of(subject.probe.key), self._delay))
        self.dismiss()

    def action_change(self, step: int) -> None:
        if step > 0:
            self._delay = next((e for e in _DELAYS if e > self._delay), _DELAYS[-1])
        else:
            self._delay = max((e for e in _DELAYS if e < self._delay), default=_NONE)
        self.show_rows()

    def _delay_row(self, probe: ProbeSnapshot) -> MenuRow:
        kind = probe.key.probe_type.lower()
        limit = probe.probe.timeout_seconds
        if not self._delay:
            note = f"{kind} answers at once again"
        elif self._delay < timedelta(seconds=limit):
            note = f"{kind} answers {took(self._delay)} late"
        else:
            note = f"{kind} answers {took(self._delay)} late: times out at {limit}s"
        return MenuRow(_DELAY, "fill delay", note)

    def _why_not(self, subject: Subject, name: str) -> str:
        """Return why something cannot be done to a container now, else nothing."""
        if not self.stage.sight.snapshot.acts:
            return _ONLY_WATCHED
        status = subject.container.status
        if status is None or not isinstance(status.state, Running):
            return _DOES_NOT_RUN
        ask = self.stage.outside.why_not
        return "" if ask is None else ask(subject.pod.pod, Disruption(name))


def _first_delay(probe: ProbeSnapshot) -> timedelta:
    """Return what to offer: nothing where there is a delay, else one that is felt."""
    limit = timedelta(seconds=probe.probe.timeout_seconds)
    return _NONE if probe.delay else next((e for e in _DELAYS if e > limit), limit)


def _point_rows(container: ContainerSnapshot) -> Iterator[MenuRow]:
    yield MenuRow("", "")
    yield MenuRow("", "pause by itself at")
    for point, note in _POINTS.items():
        mark = "[x]" if point in container.break_points else "[ ]"
        yield MenuRow(point, f"{mark} {_WORDS[point]}", note)


def _last_words(reasons: Iterable[str]) -> Iterator[Line]:
    """Yield why some of it cannot be done, and what else there is to know."""
    for reason in dict.fromkeys(each for each in reasons if each):
        yield line(Span("not now: ", Role.WARNING), reason)
    yield line(muted("left and right change the delay"))
    yield line(muted("nobody tells the kubelet; it finds out by its probes"))
