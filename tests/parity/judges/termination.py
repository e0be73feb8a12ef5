"""Grace periods; the kills that use them have a judge of their own."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import ExecAction, Probe
from probetui.kubelet.kuberuntime.grace_period import (
    KillReason,
    effective_grace_period,
    termination_grace_period,
)

KILL_JUDGE = "tests.parity.judges.termination_kill"


def judge(case: dict[str, Any]) -> None:
    match case["kind"]:
        case "gracePeriod":
            container = Container(
                "a",
                liveness_probe=_probe(case, "liveness"),
                startup_probe=_probe(case, "startup"),
            )
            reason = KillReason(case["reason"])
            grace = termination_grace_period(_pod(case), container, reason)
            assert {"gracePeriod": grace.seconds} == case["expect"]
        case "effectiveGracePeriod":
            effective = effective_grace_period(
                _pod(case), case["currentGracePeriod"], case["killOptionsOverride"]
            )
            assert {
                "gracePeriod": effective.seconds,
                "changed": effective.is_changed,
            } == case["expect"]
        case kind:
            assert importlib.util.find_spec(KILL_JUDGE), f"no judge for {kind}"
            importlib.import_module(KILL_JUDGE).judge(case)


def _pod(case: dict[str, Any]) -> Pod:
    return Pod(
        uid="uid1",
        name="p",
        termination_grace_period_seconds=case["terminationGracePeriodSeconds"],
        deletion_grace_period_seconds=case["deletionGracePeriodSeconds"],
    )


def _probe(case: dict[str, Any], which: str) -> Probe | None:
    if not case["livenessProbe"]:
        return None
    return Probe(
        ExecAction(("true",)),
        termination_grace_period_seconds=case[f"{which}TerminationGracePeriodSeconds"],
    )
