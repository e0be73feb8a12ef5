"""The conditions of pods, for a glance."""

from __future__ import annotations

from probetui.k8s.status import ConditionStatus, PodCondition
from probetui.kubelet.snapshot import PodSnapshot
from probetui.presentation.spans import Line, Role, Span, line, muted, strong
from probetui.presentation.view import View

_ALWAYS_SHOWN = ("Initialized", "Ready", "ContainersReady")
_TYPE_CELLS = 16


def condition_lines(pod: PodSnapshot, name: str, view: View) -> list[Line]:
    """Return a heading and a line for each condition that says something.

    Those that are true of every pod that runs are left out while they are.
    """
    shown = [
        each
        for each in pod.status.conditions
        if each.type in _ALWAYS_SHOWN or each.status is not ConditionStatus.TRUE
    ]
    if not shown:
        return []
    heading = line(muted("conditions of "), strong(view.safe(name)))
    return [heading, *(_line(each, view) for each in shown)]


def _line(condition: PodCondition, view: View) -> Line:
    is_true = condition.status is ConditionStatus.TRUE
    role = Role.SUCCESS if is_true else Role.WARNING
    kind = view.safe(condition.type).ljust(_TYPE_CELLS)
    reason = view.safe(condition.reason)
    return line(f"  {kind}", Span(condition.status, role), muted(f" {reason}"))
