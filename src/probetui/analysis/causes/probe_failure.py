"""Why a probe failed: the last link of a chain, read from one tick."""

from __future__ import annotations

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.kinds import CauseKind
from probetui.kubelet.journal import TickEntry


def probe_cause(case: WhyCase, tick: TickEntry) -> Cause:
    """Return why a tick's probe failed or could not be run."""
    kind = CauseKind.PROBE_FAILED
    if tick.overridden.injected:
        kind = CauseKind.RESULT_INJECTED
    return case.cause(
        kind,
        tick.timing.started_at,
        probe=tick.key.probe_type,
        evidence=Evidence(tick=tick, listeners=case.history.listeners(tick)),
    )
