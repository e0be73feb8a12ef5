"""The decision whether a container is started again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.pod import Container, Pod, RestartPolicy
from probetui.kubelet.kuberuntime.restart import (
    is_init_container_failed,
    should_container_be_restarted,
    should_restart_on_failure,
)
from tests.parity import api_json

DELETED_AT = datetime(2024, 1, 1, tzinfo=UTC)


def judge(case: dict[str, Any]) -> None:
    pod = Pod(
        uid="uid1",
        name="p",
        restart_policy=RestartPolicy(case["restartPolicy"]),
        containers=(Container(case["container"]),),
        deletion_requested_at=DELETED_AT if case["deletionTimestamp"] else None,
    )
    status = api_json.runtime_pod_status(case)

    newest = status.newest(case["container"])
    answer: dict[str, Any] = {
        "shouldContainerBeRestarted": should_container_be_restarted(
            case["container"], pod, status
        ),
        "shouldRestartOnFailure": should_restart_on_failure(pod),
        "statusUsed": None if newest is None else newest.container_id,
    }
    if newest is not None:
        answer["isInitContainerFailed"] = is_init_container_failed(newest)

    assert answer == case["expect"]
