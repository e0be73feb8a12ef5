"""The actions that a pod needs."""

from __future__ import annotations

from typing import Any

from probetui.kubelet.kuberuntime.pod_actions import compute_pod_actions
from tests.parity import api_json


def judge(case: dict[str, Any]) -> None:
    pod = api_json.pod(case["pod"])

    actions = compute_pod_actions(
        pod,
        api_json.runtime_pod_status(case["podStatus"]),
        api_json.stored_results(case["liveness"]),
        api_json.stored_results(case["startup"]),
    )

    upcoming = actions.next_init_container
    inits, regular = actions.init_containers_to_start, actions.containers_to_start
    assert {
        "killPod": actions.kill_pod,
        "createSandbox": actions.create_sandbox,
        "sandboxID": actions.sandbox_id,
        "attempt": actions.attempt,
        "nextInitContainerToStart": None if upcoming is None else upcoming.name,
        "initContainersToStart": list(inits),
        "initContainersToStartNames": [
            pod.init_containers[init].name for init in inits
        ],
        "containersToStart": list(regular),
        "containersToStartNames": [pod.containers[index].name for index in regular],
        "ephemeralContainersToStart": list(actions.ephemeral_containers_to_start),
        "containersToKill": [
            {
                "containerID": container.container_id,
                "name": container.container.name,
                "message": container.message,
                "reason": container.reason,
            }
            for container in sorted(
                actions.containers_to_kill, key=lambda e: e.container_id
            )
        ],
    } == case["expect"]
