"""A pod status read back from the JSON of the Kubernetes API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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

Json = dict[str, Any]


def decode_pod_status(json: Json) -> PodStatus:
    """Return the status that a v1 `PodStatus` object describes.

    Raises `KeyError`, `TypeError` or `ValueError` for what is not one.
    """
    return PodStatus(
        phase=PodPhase(json.get("phase") or PodPhase.PENDING),
        conditions=tuple(_condition(each) for each in json.get("conditions") or ()),
        reason=json.get("reason", ""),
        message=json.get("message", ""),
        pod_ip=json.get("podIP", ""),
        pod_ips=tuple(each["ip"] for each in json.get("podIPs") or ()),
        qos_class=json.get("qosClass", ""),
        start_time=_instant(json.get("startTime")),
        init_container_statuses=_container_statuses(json.get("initContainerStatuses")),
        container_statuses=_container_statuses(json.get("containerStatuses")),
    )


def _container_statuses(json: list[Json] | None) -> tuple[ContainerStatus, ...]:
    return tuple(_container_status(each) for each in json or ())


def _container_status(json: Json) -> ContainerStatus:
    return ContainerStatus(
        name=json["name"],
        container_id=json.get("containerID", ""),
        state=_state(json.get("state")),
        last_state=_state(json.get("lastState")),
        ready=json.get("ready", False),
        started=json.get("started"),
        restart_count=json.get("restartCount", 0),
        image=json.get("image", ""),
        image_id=json.get("imageID", ""),
        volume_mounts=tuple(
            VolumeMountStatus(
                name=each["name"],
                mount_path=each["mountPath"],
                read_only=each.get("readOnly", False),
                recursive_read_only=each.get("recursiveReadOnly"),
            )
            for each in json.get("volumeMounts") or ()
        ),
    )


def _state(json: Json | None) -> ContainerState | None:
    match json or {}:
        case {"waiting": waiting}:
            return Waiting(waiting.get("reason", ""), waiting.get("message", ""))
        case {"running": running}:
            return Running(_instant(running.get("startedAt")))
        case {"terminated": ended}:
            return Terminated(
                exit_code=ended.get("exitCode", 0),
                reason=ended.get("reason", ""),
                message=ended.get("message", ""),
                started_at=_instant(ended.get("startedAt")),
                finished_at=_instant(ended.get("finishedAt")),
                container_id=ended.get("containerID", ""),
            )
        case _:
            return None


def _condition(json: Json) -> PodCondition:
    return PodCondition(
        type=json.get("type", ""),
        status=ConditionStatus(json["status"]),
        reason=json.get("reason", ""),
        message=json.get("message", ""),
        last_transition_at=_instant(json.get("lastTransitionTime")),
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
