"""Translate the actions of test cases to commands of the engine."""

from __future__ import annotations

from probetui.debugger.commands import (
    ContainerCommand,
    DebuggerCommand,
    DelayProbes,
    InjectContainerFault,
    InjectResults,
    RestartContainer,
)
from probetui.debugger.scope import Scope
from probetui.headless.cases.case import FAULTS, ActionKind, CaseAction
from probetui.k8s.probe import ProbeKey

CaseCommand = ContainerCommand | DebuggerCommand


def action_command(action: CaseAction, pod_uid: str) -> CaseCommand:
    """Return the command for an action other than `wait`."""
    name, kind = action.container, action.kind
    if kind in FAULTS:
        return InjectContainerFault(pod_uid, name, FAULTS[kind])
    if kind is ActionKind.RESTART:
        return RestartContainer(pod_uid, name)
    if kind is ActionKind.DELAY:
        return DelayProbes(Scope(pod_uid, name, action.probe_type), action.delay)
    assert action.result is not None, "it was parsed"  # noqa: S101  # for the type
    assert action.probe_type is not None, "it was parsed"  # noqa: S101
    key = ProbeKey(pod_uid, name, action.probe_type)
    return InjectResults(key, (action.result,) * action.times)
