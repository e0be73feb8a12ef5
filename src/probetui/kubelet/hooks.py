"""What the kubelet tells of lifecycle hooks, whether they fail or not."""

from __future__ import annotations

from datetime import datetime

from probetui.k8s.event import EventType
from probetui.k8s.pod import Pod
from probetui.kubelet.routine import Outcome
from probetui.kubelet.turn import Ledger

CANNOT_RUN_HANDLER = "invalid handler"
"""A hook may be written with tcpSocket, but cannot be run.

Source: kubelet/lifecycle/handlers.go, v1.32.10, Run.
"""


def tell_fallback(ledger: Ledger, pod: Pod, outcome: Outcome, now: datetime) -> None:
    """Record that a hook's server does not speak TLS, if that is so.

    Source: kubelet/lifecycle/handlers.go, v1.32.10, runHTTPHandler.
    """
    if outcome.fallback_host:
        ledger.event(
            pod,
            EventType.WARNING,
            "LifecycleHTTPFallback",
            f"request to HTTPS lifecycle hook {outcome.fallback_host} got HTTP "
            "response, retry with HTTP succeeded",
            now=now,
        )
