"""The phase of a pod."""

from __future__ import annotations

from typing import Any

from probetui.k8s.pod_source import CONFIG_SOURCE
from probetui.kubelet.status.phase import pod_phase
from tests.parity import api_json


def judge(case: dict[str, Any]) -> None:
    source = "file" if case["static"] else "api"
    metadata = {"annotations": {CONFIG_SOURCE: source}}
    pod = api_json.pod({"metadata": metadata, "spec": case["spec"]})
    statuses = api_json.container_statuses(case["containerStatuses"])

    phase = pod_phase(pod, statuses or (), is_terminal=case["podIsTerminal"])

    assert {"phase": phase} == case["expect"]
