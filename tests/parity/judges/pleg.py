"""What relists make of changes."""

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
            SandboxStatus(each["id"], is_ready=each["state"] == "running")
            for each in found
            if each["sandbox"]
        ),
        containers=tuple(
            RuntimeContainerStatus(
                ContainerID(each["id"]), each["id"], RuntimeState(each["state"])
            )
            for each in found
            if not each["sandbox"]
        ),
    )
