"""The events of relists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.pleg.pleg import Pleg, PodCache

START = datetime(2024, 1, 1, tzinfo=UTC)
UID = "uid1"


def judge(case: dict[str, Any]) -> None:
    pleg = Pleg(PodCache())
    for second, step in enumerate(case["steps"]):
        pods = [_pod(step["containers"])] if step["containers"] else []
        errors = {UID: "cannot be read"} if step["podStatusError"] else {}

        events = pleg.relist(pods, START + timedelta(seconds=second), errors)

        assert {
            "events": [
                {"type": event.change, "containerID": event.container_id}
                for event in events
            ]
        } == step["expect"], step


def _pod(found: list[dict[str, Any]]) -> RuntimePodStatus:
    return RuntimePodStatus(
        UID,
        sandboxes=tuple(
            SandboxStatus(container["id"], is_ready=container["state"] == "running")
            for container in found
            if container["sandbox"]
        ),
        containers=tuple(
            RuntimeContainerStatus(
                ContainerID(container["id"]),
                container["id"],
                RuntimeState(container["state"]),
            )
            for container in found
            if not container["sandbox"]
        ),
    )
