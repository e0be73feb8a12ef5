"""The changes by an update of one source."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.pod_source import CONFIG_SEEN, CONFIG_SOURCE
from probetui.k8s.status import PodPhase
from probetui.kubelet.pod_workers.pod_config import (
    FAILED_VALIDATION,
    PodConfig,
    PodOperation,
    SourcedPod,
    SourceUpdate,
)
from tests.parity import api_json

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def judge(case: dict[str, Any]) -> None:
    config = PodConfig()
    for step in case["steps"]:
        pods = tuple(
            SourcedPod(api_json.pod(pod), api_json.pod_status(pod.get("status")))
            for pod in step["pods"]
        )
        update = SourceUpdate(PodOperation(step["op"]), step["source"], pods)

        merged = config.merge(update, NOW)

        assert {
            "updates": [_update(pod_update) for pod_update in merged.updates],
            "events": [
                {
                    "type": "Warning",
                    "reason": FAILED_VALIDATION,
                    "message": pod.message,
                }
                for pod in merged.refused
            ],
        } == step["expect"], step


def _update(update: SourceUpdate) -> dict[str, Any]:
    return {
        "op": update.operation,
        "source": update.source,
        "pods": sorted(map(_pod, update.pods), key=lambda pod: pod["uid"]),
    }


def _pod(sourced: SourcedPod) -> dict[str, Any]:
    pod, phase = sourced.pod, sourced.status.phase
    return {
        "uid": pod.uid,
        "name": pod.name,
        "image": pod.containers[0].image,
        # The decoder reads an absent phase as Unknown.
        "phase": "" if phase is PodPhase.UNKNOWN else phase,
        "deleting": pod.deletion_requested_at is not None,
        "source": pod.annotations.get(CONFIG_SOURCE),
        "hasSeenAnnotation": CONFIG_SEEN in pod.annotations,
    }
