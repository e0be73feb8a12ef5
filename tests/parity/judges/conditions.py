"""The conditions that the kubelet owns."""

from __future__ import annotations

from typing import Any

from probetui.k8s.pod import Pod
from probetui.k8s.status import PodCondition, PodPhase
from probetui.kubelet.status.conditions import (
    containers_ready,
    initialized,
    pod_ready,
    ready_to_start_containers,
)
from tests.parity import api_json


def judge(case: dict[str, Any]) -> None:
    pod = api_json.pod({"spec": case["spec"]})

    answer = _conditions(pod, case)

    assert [
        {
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }
        for condition in answer
    ] == case["expect"]


def _conditions(pod: Pod, case: dict[str, Any]) -> list[PodCondition]:
    if case["kind"] == "sandbox":
        status = api_json.runtime_pod_status(case)
        return [ready_to_start_containers(pod, status)]
    assert case["kind"] == "containers"
    phase = PodPhase(case["phase"])
    statuses = api_json.container_statuses(case["containerStatuses"])
    existing = [api_json.condition(condition) for condition in case["conditions"]]
    return [
        initialized(pod, statuses, phase),
        pod_ready(pod, existing, statuses, phase),
        containers_ready(pod, statuses, phase),
    ]
