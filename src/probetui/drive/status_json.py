"""A pod status read back from the JSON of the Kubernetes API."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import field

from probetui.drive.record_lines import DamageError
from probetui.drive.value_json import plausible_instant
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


class _Ended(msgspec.Struct, frozen=True, rename="camel"):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str = field(default="", name="containerID")


class _Running(msgspec.Struct, frozen=True, rename="camel"):
    started_at: str | None = None


class _Waiting(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _State(msgspec.Struct, frozen=True):
    waiting: _Waiting | None = None
    running: _Running | None = None
    terminated: _Ended | None = None


class _Mount(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    mount_path: str
    read_only: bool = False
    recursive_read_only: str | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    container_id: str = field(default="", name="containerID")
    state: _State | None = None
    last_state: _State | None = None
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    image_id: str = field(default="", name="imageID")
    volume_mounts: list[_Mount] | None = None


class _Condition(msgspec.Struct, frozen=True, rename="camel"):
    status: ConditionStatus
    type: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class _Address(msgspec.Struct, frozen=True):
    ip: str


class _PodStatusRecord(msgspec.Struct, frozen=True, rename="camel"):
    phase: PodPhase | None = None
    conditions: list[_Condition] | None = None
    reason: str = ""
    message: str = ""
    pod_ip: str = field(default="", name="podIP")
    pod_ips: list[_Address] | None = field(default=None, name="podIPs")
    qos_class: str = ""
    start_time: str | None = None
    init_container_statuses: list[_Container] | None = None
    container_statuses: list[_Container] | None = None


def decode_pod_status(json: Mapping[str, object]) -> PodStatus:
    """Return the status that a v1 `PodStatus` object describes.

    Raises:
        DamageError: it is not one.
    """
    try:
        read = msgspec.convert(json, _PodStatusRecord)
    except msgspec.ValidationError as error:
        raise DamageError(str(error)) from None
    return PodStatus(
        phase=read.phase or PodPhase.PENDING,
        conditions=tuple(map(_condition, read.conditions or ())),
        reason=read.reason,
        message=read.message,
        pod_ip=read.pod_ip,
        pod_ips=tuple(address.ip for address in read.pod_ips or ()),
        qos_class=read.qos_class,
        start_time=_instant(read.start_time),
        init_container_statuses=tuple(
            map(_container_status, read.init_container_statuses or ())
        ),
        container_statuses=tuple(map(_container_status, read.container_statuses or ())),
    )


def _container_status(read: _Container) -> ContainerStatus:
    return ContainerStatus(
        name=read.name,
        container_id=read.container_id,
        state=_state(read.state),
        last_state=_state(read.last_state),
        ready=read.ready,
        started=read.started,
        restart_count=read.restart_count,
        image=read.image,
        image_id=read.image_id,
        volume_mounts=tuple(
            VolumeMountStatus(
                name=mount.name,
                mount_path=mount.mount_path,
                read_only=mount.read_only,
                recursive_read_only=mount.recursive_read_only,
            )
            for mount in read.volume_mounts or ()
        ),
    )


def _state(read: _State | None) -> ContainerState | None:
    match read:
        case _State(waiting=_Waiting(reason=reason, message=message)):
            return Waiting(reason, message)
        case _State(running=_Running(started_at=started_at)):
            return Running(_instant(started_at))
        case _State(terminated=_Ended() as ended):
            return Terminated(
                exit_code=ended.exit_code,
                reason=ended.reason,
                message=ended.message,
                started_at=_instant(ended.started_at),
                finished_at=_instant(ended.finished_at),
                container_id=ended.container_id,
            )
        case _:
            return None


def _condition(read: _Condition) -> PodCondition:
    return PodCondition(
        type=read.type,
        status=read.status,
        reason=read.reason,
        message=read.message,
        last_transition_at=_instant(read.last_transition_time),
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else plausible_instant(text)
