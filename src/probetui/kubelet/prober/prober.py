"""Map a probe outcome to a result and, if any, a Warning event.

Source: prober/prober.go, v1.32.10, probe.
"""

from __future__ import annotations

from typing import NamedTuple

from probetui.k8s.probe import ProbeType
from probetui.kubelet.outcome import ProbeOutcome, ProbeResult, Result
from probetui.kubelet_rules import PORTED_RULES, KubeletRules

MAX_PROBE_RETRIES = 3
"""How often the kubelet tries a probe that cannot be run: 3 times in all.

Source: prober/prober.go, v1.32.10, maxProbeRetries.
"""


class JudgedOutcome(NamedTuple):
    """The result of a probe and its Warning event, if it has one.

    With an `error`, the worker discards the result.
    """

    result: Result
    error: str | None
    reason: str | None
    message: str | None


WELL = JudgedOutcome(Result.SUCCESS, None, None, None)


def judge_outcome(
    probe_type: ProbeType, outcome: ProbeOutcome, rules: KubeletRules = PORTED_RULES
) -> JudgedOutcome:
    """Judge the last attempt of a probe; an error overrides its result."""
    last = outcome.attempts[-1]
    if last.error is not None:
        message = rules.errored_text.format(
            type=probe_type, state=last.result, error=last.error
        )
        return JudgedOutcome(Result.FAILURE, last.error, "Unhealthy", message)
    match last.result:
        case ProbeResult.SUCCESS:
            return WELL
        case ProbeResult.WARNING:
            message = f"{probe_type} probe warning: {last.output}"
            return JudgedOutcome(Result.SUCCESS, None, "ProbeWarning", message)
        case ProbeResult.UNKNOWN if not rules.reports_unknown:
            return JudgedOutcome(Result.FAILURE, None, None, None)
        case ProbeResult.FAILURE | ProbeResult.UNKNOWN:
            message = f"{probe_type} probe failed: {last.output}"
            return JudgedOutcome(Result.FAILURE, None, "Unhealthy", message)
