from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from probetui.k8s.api.codec import format_time
from probetui.k8s.api.status import CONTAINER_STATUS, POD_STATUS
from probetui.k8s.status import (
    ConditionStatus,
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodPhase,
    PodStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)
from tests.builders import at


def test_a_whole_status_reads_as_the_api_prints_it() -> None:
    status = PodStatus(
        phase=PodPhase.RUNNING,
        conditions=(
            PodCondition(
                "Ready", ConditionStatus.FALSE, "ContainersNotReady", "why", at(0)
            ),
        ),
        reason="R",
        message="M",
        pod_ip="10.0.0.2",
        pod_ips=("10.0.0.2", "fd00::1"),
        qos_class="BestEffort",
        start_time=at(0.5),
        init_container_statuses=(ContainerStatus("init", ready=True),),
        container_statuses=(
            ContainerStatus(
                "app",
                container_id="fake://app-1",
                state=Running(at(1)),
                ready=False,
                started=False,
                restart_count=1,
                image="busybox:1.36",
                image_id="sha256:abc",
                volume_mounts=(
                    VolumeMountStatus("v", "/v"),
                    VolumeMountStatus("w", "/w", True, "Disabled"),  # noqa: FBT003  # read-only
                ),
            ),
        ),
    )

    assert POD_STATUS.write(status) == {
        "phase": "Running",
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "lastTransitionTime": "2025-01-01T12:00:00Z",
                "reason": "ContainersNotReady",
                "message": "why",
            }
        ],
        "reason": "R",
        "message": "M",
        "podIP": "10.0.0.2",
        "podIPs": [{"ip": "10.0.0.2"}, {"ip": "fd00::1"}],
        "qosClass": "BestEffort",
        "startTime": "2025-01-01T12:00:00Z",
        "initContainerStatuses": [
            {
                "name": "init",
                "state": {},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": "",
                "imageID": "",
            }
        ],
        "containerStatuses": [
            {
                "name": "app",
                "state": {"running": {"startedAt": "2025-01-01T12:00:01Z"}},
                "lastState": {},
                "ready": False,
                "restartCount": 1,
                "image": "busybox:1.36",
                "imageID": "sha256:abc",
                "containerID": "fake://app-1",
                "started": False,
                "volumeMounts": [
                    {"name": "v", "mountPath": "/v"},
                    {
                        "name": "w",
                        "mountPath": "/w",
                        "readOnly": True,
                        "recursiveReadOnly": "Disabled",
                    },
                ],
            }
        ],
    }


def test_what_is_empty_is_left_out() -> None:
    status = PodStatus(container_statuses=None, init_container_statuses=())

    assert POD_STATUS.write(status) == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        pytest.param(None, {}, id="none"),
        pytest.param(Waiting(), {"waiting": {}}, id="waiting"),
        pytest.param(
            Waiting("CrashLoopBackOff", "back-off 10s"),
            {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
            id="waiting-for-a-reason",
        ),
        pytest.param(Running(), {"running": {}}, id="running"),
        pytest.param(Terminated(0), {"terminated": {"exitCode": 0}}, id="ended"),
        pytest.param(
            Terminated(137, "Error", "why", at(0), at(1), "fake://app-0"),
            {
                "terminated": {
                    "exitCode": 137,
                    "reason": "Error",
                    "message": "why",
                    "startedAt": "2025-01-01T12:00:00Z",
                    "finishedAt": "2025-01-01T12:00:01Z",
                    "containerID": "fake://app-0",
                }
            },
            id="ended-for-a-reason",
        ),
    ],
)
def test_a_state_is_one_of_three(
    state: ContainerState | None, expected: dict[str, object]
) -> None:
    printed = CONTAINER_STATUS.write(ContainerStatus("app", last_state=state))

    assert printed["lastState"] == expected


def test_times_are_in_utc_and_whole_seconds() -> None:
    local = datetime(2025, 1, 1, 13, 0, 0, 999_999, timezone(timedelta(hours=1)))

    assert format_time(local) == "2025-01-01T12:00:00Z"
    assert format_time(None) is None
