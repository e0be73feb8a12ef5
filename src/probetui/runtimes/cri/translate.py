"""Conversion of the CRI's messages to our values, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
    StoredImage,
)
from probetui.kubelet.kuberuntime.labels import (
    CONTAINER_NAME,
    POD_NAME,
    parse_container_annotations,
)
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.configs import stop_signal_name
from probetui.runtimes.translation import (
    EPOCH,
    IMAGE,
    MADE_BY,
    NONCE,
    OWNER,
    VERSION,
    PodName,
    build_pod_status,
    pod_name_from_labels,
)

OUT_OF_MEMORY = "OOMKilled"

_STATES: Mapping[int, RuntimeState] = {
    cri.CONTAINER_CREATED: RuntimeState.CREATED,
    cri.CONTAINER_RUNNING: RuntimeState.RUNNING,
    cri.CONTAINER_EXITED: RuntimeState.EXITED,
}


class CriSandbox(Struct, frozen=True):
    """A sandbox of the runtime's; `owner` is empty without our labels.

    It was created by a probetui if its labels equal its metadata and name a version of
    probetui: crictl, or a manifest with our label, would not do both by chance.
    """

    owner: str
    pod: PodName
    status: SandboxStatus
    nonce: str = ""
    made_by: str = ""
    is_as_we_make_it: bool = True

    @property
    def name(self) -> str:
        """The name in the ledger until it has an ID."""
        return sandbox_name(self.pod.uid, self.status.attempt)


class CriContainer(Struct, frozen=True):
    """A container of the runtime's.

    `message_file` is the file of its termination message on this machine, empty for
    none; `log_file` is the file of its output.
    """

    owner: str
    pod: PodName
    status: RuntimeContainerStatus
    message_file: str = ""
    message_policy: str = ""
    log_file: str = ""
    name: str = ""
    nonce: str = ""
    made_by: str = ""


def sandbox_name(pod_uid: str, attempt: int) -> str:
    """Return the ledger name of a sandbox, which is unique in a runtime."""
    return f"sandbox {pod_uid} {attempt}"


def container_name(pod_uid: str, name: str, attempt: int) -> str:
    """Return the ledger name of a container."""
    return f"container {pod_uid} {name} {attempt}"


def to_container_id(runtime_name: str, cri_id: str) -> ContainerID:
    """Return the ID that the kubelet uses."""
    return ContainerID(f"{runtime_name}://{cri_id}")


def to_cri_id(container_id: str) -> str:
    """Return the ID that the runtime uses."""
    return container_id.rpartition("://")[2]


def to_instant(nanoseconds: int) -> datetime:
    """Convert nanoseconds to a time; zero is in 1970, as in Go."""
    return EPOCH + timedelta(microseconds=nanoseconds // 1000)


def to_sandbox(message: cri.PodSandboxStatus) -> CriSandbox:
    """Convert a sandbox; it has an address only while it is ready.

    Source: kuberuntime/kuberuntime_sandbox.go, v1.32.10, determinePodSandboxIPs.
    """
    is_ready = message.state == cri.SANDBOX_READY
    options = message.linux.namespaces.options
    host_network = options.network == cri.NODE
    ip: str | None = message.network.ip if is_ready and not host_network else ""
    if not message.HasField("network"):
        ip = None
    status = SandboxStatus(
        message.id,
        is_ready,
        attempt=message.metadata.attempt,
        created_at=to_instant(message.created_at),
        host_network=host_network,
        ip=ip,
    )
    pod, own = pod_name_from_labels(message.labels), message.metadata
    return CriSandbox(
        message.labels.get(OWNER, ""),
        pod,
        status,
        message.labels.get(NONCE, ""),
        message.labels.get(MADE_BY, ""),
        pod == PodName(own.namespace, own.name, own.uid) and VERSION in message.labels,
    )


def to_container(status: cri.ContainerStatus, runtime_name: str) -> CriContainer:
    """Convert a container, without its termination message.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, toKubeContainerStatus,
    getTerminationMessage.
    """
    annotations = parse_container_annotations(status.annotations)
    message_path = annotations.termination_message_path
    files = (
        mount.host_path
        for mount in status.mounts
        if message_path and mount.container_path == message_path
    )
    pod = pod_name_from_labels(status.labels)
    return CriContainer(
        status.labels.get(OWNER, ""),
        pod,
        container_status(status, runtime_name),
        next(files, ""),
        annotations.termination_message_policy,
        status.log_path,
        container_name(pod.uid, status.metadata.name, status.metadata.attempt),
        status.labels.get(NONCE, ""),
        status.labels.get(MADE_BY, ""),
    )


def container_status(
    message: cri.ContainerStatus, runtime_name: str
) -> RuntimeContainerStatus:
    """Return the status of any container.

    Quirk, kept: a container that could not be started was started in 1970.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, toKubeContainerStatus.
    """
    annotations = parse_container_annotations(message.annotations)
    status = RuntimeContainerStatus(
        to_container_id(runtime_name, message.id),
        message.labels.get(CONTAINER_NAME) or message.metadata.name,
        _STATES.get(message.state, RuntimeState.UNKNOWN),
        created_at=to_instant(message.created_at),
        image=message.annotations.get(IMAGE) or message.image.image,
        image_ref=message.image_ref,
        image_id=message.image_id or message.image_ref,
        restart_count=annotations.restart_count,
        hash=annotations.hash,
        stop_signal=stop_signal_name(message.stop_signal),
    )
    if status.state is not RuntimeState.CREATED:
        status = replace(status, started_at=to_instant(message.started_at))
    if status.state is not RuntimeState.EXITED:
        return status
    usual_reason = "Error" if message.exit_code else "Completed"
    return replace(
        status,
        # A runtime records a start after it happened, and a quick end before that.
        started_at=to_instant(min(message.started_at, message.finished_at)),
        finished_at=to_instant(message.finished_at),
        exit_code=message.exit_code,
        reason=message.reason or usual_reason,
        message=message.message,
        oom_killed=message.reason == OUT_OF_MEMORY,
    )


def pod_statuses(
    sandboxes: Iterable[CriSandbox], containers: Iterable[CriContainer]
) -> tuple[RuntimePodStatus, ...]:
    """Return the pods, by name, that sandboxes and containers belong to."""
    by_pod: dict[PodName, tuple[list[SandboxStatus], list[RuntimeContainerStatus]]] = {}
    for sandbox in sandboxes:
        by_pod.setdefault(sandbox.pod, ([], []))[0].append(sandbox.status)
    for container in containers:
        by_pod.setdefault(container.pod, ([], []))[1].append(container.status)
    return tuple(build_pod_status(pod, *by_pod[pod]) for pod in sorted(by_pod))


def is_of_owner(event: cri.ContainerEventResponse, owner: str) -> bool:
    """Return whether an event may concern a pod of an owner."""
    if not event.HasField("pod_sandbox_status"):
        return True
    return bool(event.pod_sandbox_status.labels.get(OWNER) == owner)


def image_user(image: cri.Image) -> str:
    """Return the user of an image, empty if it sets none."""
    return str(image.uid.value) if image.HasField("uid") else image.username


def to_stored_images(
    images: Iterable[cri.Image], containers: Iterable[cri.Container]
) -> tuple[StoredImage, ...]:
    """Convert the list of images, and add the containers that use them."""
    users: dict[str, list[str]] = {}
    for container in containers:
        for reference in {
            container.image_id,
            container.image_ref,
            container.image.image,
        } - {""}:
            users.setdefault(reference, []).append(_user_name(container))
    return tuple(_stored_image(image, users) for image in images)


def _user_name(container: cri.Container) -> str:
    pod = container.labels.get(POD_NAME, "")
    return f"{pod}/{container.metadata.name}" if pod else container.metadata.name


def _stored_image(image: cri.Image, users: Mapping[str, list[str]]) -> StoredImage:
    names = (*image.repo_tags, *image.repo_digests)
    users_of_names = (
        user for name in (image.id, *names) for user in users.get(name, ())
    )
    return StoredImage(
        image.id,
        names,
        image.size,
        tuple(sorted(set(users_of_names))),
        is_pinned=image.pinned,
    )
