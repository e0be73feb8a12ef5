"""Inject faults into a container, delay its probes, set break-points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from probetui.debugger.commands import (
    BreakpointKind,
    DelayProbes,
    InjectContainerFault,
    SetBreakpoints,
)
from probetui.debugger.scope import Scope
from probetui.durations import format_duration
from probetui.engine.snapshot import ContainerSnapshot, ProbeSnapshot
from probetui.k8s.status import Running
from probetui.kubelet.effects import Fault
from probetui.presentation.container.detail import Subject, container_title
from probetui.presentation.text.spans import Line, Role, Span, line, muted
from probetui.tui.screens.menu import MenuRow, MenuScreen
from probetui.tui.state import UiState

_FREEZE = MenuRow(Fault.FREEZE, "freeze", "suspend all its processes")
_UNFREEZE = MenuRow(Fault.UNFREEZE, "unfreeze", "resume its processes")
_STOP = MenuRow(Fault.STOP, "stop main process", "SIGTERM, as if it exited by itself")
_KILL = MenuRow(Fault.KILL, "kill main process", "SIGKILL: exit 137, no grace")
_CUT = MenuRow(Fault.CUT_NETWORK, "cut network", "of the whole pod")
_RESTORE = MenuRow(Fault.RESTORE_NETWORK, "restore network", "reconnect the pod")
_NOT_NOW = "not possible, see below"
_DOES_NOT_RUN = "the container is not running"
_ONLY_WATCHED = "attach only watches; start with --act"
_POINTS = {
    BreakpointKind.BEFORE_KILL: "the failure that would kill is paused",
    BreakpointKind.FIRST_FAILURE: "after a success, or the first run",
    BreakpointKind.READINESS: "becomes ready, or not ready",
}
_POINT_NAMES = {
    BreakpointKind.BEFORE_KILL: "before a kill",
    BreakpointKind.FIRST_FAILURE: "first failure",
    BreakpointKind.READINESS: "readiness changes",
}
_DELAY = "fill-delay"
_NONE = timedelta()
_DELAYS = tuple(
    timedelta(milliseconds=milliseconds)
    for milliseconds in (
        0,
        100,
        200,
        500,
        1000,
        2000,
        3000,
        5000,
        10_000,
        30_000,
        60_000,
    )
)


class FaultInjectionScreen(MenuScreen):
    """The menu of a container's faults, the delay of its probes, its break-points."""

    HEADING = "Faults and break-points"

    def __init__(self, ui_state: UiState) -> None:
        super().__init__(ui_state)
        probe = None if ui_state.subject is None else ui_state.subject.probe
        self._delay = _NONE if probe is None else _first_delay(probe)

    def show_rows(self) -> None:
        subject, view = self.ui_state.subject, self.ui_state.view_model.view
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
        reasons = {
            disruption.name: self._why_not(subject, disruption.name)
            for disruption in disruptions
        }
        rows = [
            disruption._replace(note=_NOT_NOW, is_off=True)
            if reasons[disruption.name]
            else disruption
            for disruption in disruptions
        ]
        if subject.probe is not None:
            rows.append(self._delay_row(subject.probe))
        rows += _point_rows(container)
        self.menu.show(
            line(container_title(subject, view)),
            rows,
            tuple(_lines_below(reasons.values())),
        )

    def picked(self, name: str) -> None:
        subject = self.ui_state.subject
        if subject is None:
            return
        uid, container = subject.pod.pod.uid, subject.container
        if name in set(BreakpointKind):
            points = container.break_points ^ {BreakpointKind(name)}
            scope = Scope(uid, container.container.name)
            self.send_commands(SetBreakpoints(points, scope))
            return
        if name != _DELAY:
            self.send_commands(
                InjectContainerFault(uid, container.container.name, Fault(name))
            )
        elif subject.probe is not None:
            self.send_commands(DelayProbes(Scope.of(subject.probe.key), self._delay))
        self.dismiss()

    def action_change(self, step: int) -> None:
        if step > 0:
            self._delay = next(
                (delay for delay in _DELAYS if delay > self._delay), _DELAYS[-1]
            )
        else:
            self._delay = max(
                (delay for delay in _DELAYS if delay < self._delay), default=_NONE
            )
        self.show_rows()

    def _delay_row(self, probe: ProbeSnapshot) -> MenuRow:
        kind = probe.key.probe_type.lower()
        limit = probe.probe.timeout_seconds
        if not self._delay:
            note = f"{kind}: no delay"
        elif self._delay < timedelta(seconds=limit):
            note = f"{kind}: by {format_duration(self._delay)}"
        else:
            late = format_duration(self._delay)
            note = f"{kind}: by {late}, timeout is {limit}s"
        return MenuRow(_DELAY, "delay answers", note)

    def _why_not(self, subject: Subject, name: str) -> str:
        """Return why a fault cannot be injected now, empty if it can."""
        if not self.ui_state.view_model.snapshot.acts:
            return _ONLY_WATCHED
        status = subject.container.status
        if status is None or not isinstance(status.state, Running):
            return _DOES_NOT_RUN
        ask = self.ui_state.host.fault_refusal
        return "" if ask is None else ask(subject.pod.pod, Fault(name))


def _first_delay(probe: ProbeSnapshot) -> timedelta:
    """Return the initial choice: none if there is a delay, else above the timeout."""
    limit = timedelta(seconds=probe.probe.timeout_seconds)
    return (
        _NONE
        if probe.delay
        else next((delay for delay in _DELAYS if delay > limit), limit)
    )


def _point_rows(container: ContainerSnapshot) -> Iterator[MenuRow]:
    yield MenuRow("", "")
    yield MenuRow("", "Pause automatically")
    for point, note in _POINTS.items():
        mark = "[x]" if point in container.break_points else "[ ]"
        yield MenuRow(point, f"{mark} {_POINT_NAMES[point]}", note)


def _lines_below(reasons: Iterable[str]) -> Iterator[Line]:
    """Yield the lines below the menu: why faults are impossible, and hints."""
    for reason in dict.fromkeys(reason for reason in reasons if reason):
        yield line(Span("Not now: ", Role.WARNING), reason)
    yield line(muted("left and right change the delay"))
    yield line(muted("Only the probes will notice."))
