"""What a tick leads to.

Source: kubelet.go, v1.32.10, syncLoopIteration; prober/worker.go, doProbe.
"""

from __future__ import annotations

from probetui.k8s.probe import ProbeType
from probetui.kubelet.journal import (
    Action,
)
from probetui.kubelet.outcome import Result
from probetui.kubelet.worker import Recorded


def tick_action(
    probe_type: ProbeType,
    result: Result | None,
    recorded: Recorded,
    stored_before: Result | None,
    *,
    kills: bool,
) -> Action:
    """Say what a tick led to; to believe what was believed is no action.

    `kills` is false where what would be killed is only told.
    """
    if result is None:
        return Action.DISCARDED
    if not recorded.stored and not recorded.muted:
        return Action.NONE
    if result is stored_before and result is not Result.FAILURE:
        return Action.NONE
    action = _consequence(probe_type, result, stored_before, kills=kills)
    return Action.MUTED if recorded.muted and action is not Action.NONE else action


def _consequence(
    probe_type: ProbeType,
    result: Result,
    stored_before: Result | None,
    *,
    kills: bool,
) -> Action:
    """Say what comes of a result that is stored."""
    failed = result is Result.FAILURE
    if failed and probe_type is not ProbeType.READINESS:
        return Action.KILL if kills else Action.WOULD_KILL
    if result is stored_before or probe_type is ProbeType.LIVENESS:
        return Action.NONE
    if probe_type is ProbeType.STARTUP:
        return Action.STARTED
    return Action.NOT_READY if failed else Action.READY
