"""The last link of a chain: why the probe of one tick failed."""

from __future__ import annotations

from msgspec.structs import replace

from probetui.analysis.causes.case import WhyCase
from probetui.analysis.causes.cause import Cause, Evidence
from probetui.analysis.causes.kinds import CauseKind
from probetui.analysis.causes.probe_failure import tick_failure
from probetui.kubelet.journal import TickEntry


def probe_cause(case: WhyCase, tick: TickEntry) -> Cause:
    """Return why a tick's probe failed or could not be run."""
    evidence = Evidence(tick=tick)
    kind = CauseKind.PROBE_FAILED
    failure = tick_failure(tick, case.container, case.history, case.rules)
    if failure is not None:
        kind, evidence = failure.kind, replace(evidence, failure=failure)
    elif tick.overridden.injected:
        kind = CauseKind.RESULT_INJECTED
    return case.cause(
        kind,
        tick.timing.started_at,
        probe=tick.key.probe_type,
        evidence=evidence,
    )
