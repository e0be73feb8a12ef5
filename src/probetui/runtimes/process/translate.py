"""From operations to records, from records to what a relist shows; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from os.path import normpath
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.node import Node
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.container_hash import container_hash
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.runtimes.process.addresses import LOCALHOST
from probetui.runtimes.process.descendants import new_number
from probetui.runtimes.process.mounts import inside, is_in_home
from probetui.runtimes.process.records import ContainerRecord, SandboxRecord
from probetui.runtimes.process_identity import Process
from probetui.runtimes.volume_folders import UNKNOWN_NAME, UNKNOWN_NAMESPACE

NAME = "process"
IMAGE_ID = "process"
"""The ID of every image: there are none, so none is missing."""

HOME_FOLDER = "home"
TMP_FOLDER = "tmp"
MARKER = "PROBETUI_CONTAINER"
"""Names the container in the environment of everything that runs in it."""

MAX_HOSTNAME = 63
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def marker(container_id: str) -> str:
    """Return what is in the environment of all that runs in a container."""
    return f"{MARKER}={container_id}"


def node_of(name: str, cpus: int | None, memory_bytes: int) -> Node:
    """Return this machine; what is not known of it is 0 or None."""
    known = {"cpu": cpus, "memory": memory_bytes}
    return Node(
        name.lower() or "localhost",
        LOCALHOST,
        {each: Decimal(amount) for each, amount in known.items() if amount},
    )


def memory_bytes(sysconf: Callable[[str], int]) -> int:
    """Return how much memory this machine has, 0 where the system does not say."""
    try:
        return sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0


def sandbox_record(
    operation: RunPodSandbox, sandbox_id: str, ip: str, owner: Process, now: datetime
) -> SandboxRecord:
    """Return the record of a new sandbox."""
    pod = operation.pod
    return SandboxRecord(
        sandbox_id=sandbox_id,
        pod_uid=pod.uid,
        pod_name=pod.name,
        namespace=pod.namespace,
        attempt=operation.attempt,
        host_network=pod.host_network,
        ip="" if pod.host_network else ip,
        is_ready=True,
        created_at=now,
        owner=owner,
    )


def unknown_sandbox(sandbox_id: str, owner: Process, now: datetime) -> SandboxRecord:
    """Return a record for a sandbox whose own is lost: nothing runs in it again."""
    return SandboxRecord(
        sandbox_id=sandbox_id,
        pod_uid=sandbox_id,
        pod_name=f"{UNKNOWN_NAME}{sandbox_id}",
        namespace=UNKNOWN_NAMESPACE,
        attempt=0,
        host_network=False,
        ip="",
        is_ready=False,
        created_at=now,
        owner=owner,
    )


def container_record(
    operation: CreateContainer,
    sandbox: SandboxRecord,
    folder: Path,
    inherited: Mapping[str, str],
    now: datetime,
) -> ContainerRecord:
    """Return the record of a new container that lives in `folder`.

    `inherited` is the environment of probetui. Raises `ContainerRuntimeError` when
    there is nothing to run.
    """
    container, home = operation.container, folder / HOME_FOLDER
    message_path = container.termination_message_path
    command = container.command + container.args
    if not command:
        raise ContainerRuntimeError(
            f'no command specified for "{container.name}": '
            "a process has no image to take one from"
        )
    return ContainerRecord(
        container_id=folder.name,
        name=container.name,
        image=container.image,
        attempt=operation.attempt,
        hash=container_hash(container),
        command=command,
        env=_environment(operation, sandbox, folder, inherited),
        working_dir=str(_working_dir(home, container)),
        is_message_from_log=(
            container.termination_message_policy == "FallbackToLogsOnError"
        ),
        created_at=now,
        message_path=str(inside(home, message_path)) if message_path else "",
        number=new_number(),
    )


def _working_dir(home: Path, container: Container) -> Path:
    """Return where a container runs; an absolute path is this machine's own."""
    path = container.working_dir
    if is_in_home(container, path):
        if normpath(path).startswith(".."):
            raise ContainerRuntimeError(
                f"workingDir: {path} leads out of the home of a process"
            )
        return inside(home, path)
    return Path(path)


def _environment(
    operation: CreateContainer,
    sandbox: SandboxRecord,
    folder: Path,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    """Return a container's environment; of probetui's own it has only the PATH.

    A variable with a source, of which nobody knows the value, is not set.
    """
    return {
        "PATH": inherited.get("PATH", DEFAULT_PATH),
        "HOSTNAME": hostname(operation.pod),
        "HOME": str(folder / HOME_FOLDER),
        "TMPDIR": str(folder / TMP_FOLDER),
        "POD_IP": sandbox.ip or LOCALHOST,
        **{
            each.name: each.value
            for each in operation.container.env
            if each.value or not each.has_value_from
        },
        MARKER: folder.name,
    }


def hostname(pod: Pod) -> str:
    """Return a pod's host name.

    Source: kubelet_pods.go, v1.32.10, GeneratePodHostNameAndDomain.
    """
    return (pod.hostname or pod.name)[:MAX_HOSTNAME].rstrip("-.")


def sandbox_status(record: SandboxRecord) -> SandboxStatus:
    """Return what is to be told of a sandbox."""
    return SandboxStatus(
        sandbox_id=record.sandbox_id,
        is_ready=record.is_ready,
        attempt=record.attempt,
        created_at=record.created_at,
        host_network=record.host_network,
        ip=record.ip,
    )


def state(record: ContainerRecord) -> RuntimeState:
    """Return a container's state."""
    if record.finished_at is not None:
        return RuntimeState.EXITED
    return RuntimeState.RUNNING if record.process else RuntimeState.CREATED


def container_status(record: ContainerRecord) -> RuntimeContainerStatus:
    """Return what is to be told of a container."""
    return RuntimeContainerStatus(
        container_id=ContainerID(f"{NAME}://{record.container_id}"),
        name=record.name,
        state=state(record),
        created_at=record.created_at,
        started_at=record.started_at,
        finished_at=record.finished_at,
        exit_code=record.exit_code,
        reason=record.reason,
        message=record.message,
        image=record.image,
        image_ref=IMAGE_ID,
        restart_count=record.attempt,
        hash=record.hash,
    )
