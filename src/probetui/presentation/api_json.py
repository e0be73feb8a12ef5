"""A pod's status as the Kubernetes API prints it.

Source: k8s.io/api core/v1/types.go, v0.32.10, PodStatus.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from probetui.k8s.status import (
    ContainerState,
    ContainerStatus,
    PodCondition,
    PodStatus,
    Running,
    Terminated,
    VolumeMountStatus,
    Waiting,
)

Json = dict[str, Any]

STATE_API_VERSION = "probetui.dev/v1"
STATE_KIND = "SessionState"
"""What a session's state calls itself; `state_schema` has the rest of its shape."""


def pod_status_to_json(status: PodStatus) -> Json:
    """Return `v1.PodStatus`; what is empty is left out, as Go leaves it out."""
    return _without_empty(
        {
            "phase": status.phase.value,
            "conditions": [_condition(each) for each in status.conditions],
            "message": status.message,
            "reason": status.reason,
            "podIP": status.pod_ip,
            "podIPs": [{"ip": each} for each in status.pod_ips],
            "startTime": api_time(status.start_time),
            "initContainerStatuses": _statuses(status.init_container_statuses),
            "containerStatuses": _statuses(status.container_statuses),
            "qosClass": status.qos_class,
        }
    )


def api_time(instant: datetime | None) -> str | None:
    """Return an instant as the API prints it: RFC 3339 in UTC, in whole seconds."""
    if instant is None:
        return None
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def container_status_to_json(status: ContainerStatus) -> Json:
    """Return `v1.ContainerStatus`; some of its fields are printed even if empty."""
    printed: Json = {
        "name": status.name,
        "state": _state(status.state),
        "lastState": _state(status.last_state),
        "ready": status.ready,
        "restartCount": status.restart_count,
        "image": status.image,
        "imageID": status.image_id,
    }
    if status.container_id:
        printed["containerID"] = status.container_id
    if status.started is not None:
        printed["started"] = status.started
    if status.volume_mounts:
        printed["volumeMounts"] = [_volume_mount(each) for each in status.volume_mounts]
    return printed


def _statuses(statuses: tuple[ContainerStatus, ...] | None) -> list[Json]:
    return [container_status_to_json(each) for each in statuses or ()]


def _condition(condition: PodCondition) -> Json:
    return _without_empty(
        {
            "type": condition.type,
            "status": condition.status.value,
            "lastTransitionTime": api_time(condition.last_transition_at),
            "reason": condition.reason,
            "message": condition.message,
        }
    )


def _state(state: ContainerState | None) -> Json:
    match state:
        case None:
            return {}
        case Waiting():
            waiting = {"reason": state.reason, "message": state.message}
            return {"waiting": _without_empty(waiting)}
        case Running():
            return {
                "running": _without_empty({"startedAt": api_time(state.started_at)})
            }
        case Terminated():
            return {
                "terminated": {
                    "exitCode": state.exit_code,
                    **_without_empty(
                        {
                            "reason": state.reason,
                            "message": state.message,
                            "startedAt": api_time(state.started_at),
                            "finishedAt": api_time(state.finished_at),
                            "containerID": state.container_id,
                        }
                    ),
                }
            }


def _volume_mount(mount: VolumeMountStatus) -> Json:
    return {
        "name": mount.name,
        "mountPath": mount.mount_path,
        **_without_empty(
            {
                "readOnly": mount.read_only,
                "recursiveReadOnly": mount.recursive_read_only,
            }
        ),
    }


def _without_empty(fields: Json) -> Json:
    return {key: value for key, value in fields.items() if value}
