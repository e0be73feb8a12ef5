"""Translation of operations to records and of records to statuses; pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from os.path import normpath
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.stop_signals import LINUX_STOP_SIGNALS
from probetui.kubelet.effects import CreateContainer, RunPodSandbox
from probetui.kubelet.kuberuntime.container_hash import hash_of_new
from probetui.runtimes.process.descendants import new_number
from probetui.runtimes.process.mounts import home_path, is_in_home
from probetui.runtimes.process.records import (
    ProcessContainerRecord,
    ProcessSandboxRecord,
)
from probetui.runtimes.process_identity import Process
from probetui.runtimes.translation import LOCALHOST, PodName, hostname
from probetui.runtimes.volume_folders import UNKNOWN_NAME, UNKNOWN_NAMESPACE

NAME = "process"
IMAGE_ID = "process"
"""The ID of every image: processes have none, so none is missing."""

HOME_FOLDER = "home"
TMP_FOLDER = "tmp"
MARKER = "PROBETUI_CONTAINER"
"""The environment variable with the container's ID."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def marker(container_id: str) -> str:
    """Return the environment entry that all processes of a container have."""
    return f"{MARKER}={container_id}"


def sandbox_record(
    operation: RunPodSandbox, sandbox_id: str, ip: str, owner: Process, now: datetime
) -> ProcessSandboxRecord:
    """Return the record of a new sandbox."""
    pod = operation.pod
    return ProcessSandboxRecord(
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
        labels=dict(pod.labels),
    )


def unknown_sandbox(
    sandbox_id: str, pod: PodName | None, owner: Process, now: datetime
) -> ProcessSandboxRecord:
    """Return a record for a sandbox that has lost its own; it is not ready."""
    if pod is None:
        pod = PodName(UNKNOWN_NAMESPACE, f"{UNKNOWN_NAME}{sandbox_id}", sandbox_id)
    return ProcessSandboxRecord(
        sandbox_id=sandbox_id,
        pod_uid=pod.uid,
        pod_name=pod.name,
        namespace=pod.namespace,
        attempt=0,
        host_network=False,
        ip="",
        is_ready=False,
        created_at=now,
        owner=owner,
    )


def container_record(
    operation: CreateContainer,
    sandbox: ProcessSandboxRecord,
    folder: Path,
    inherited: Mapping[str, str],
    now: datetime,
) -> ProcessContainerRecord:
    """Return the record of a new container.

    Args:
        operation: what to create.
        sandbox: its sandbox.
        folder: its folder.
        inherited: the environment of probetui, of which it gets the PATH.
        now: when it is created.

    Raises:
        ContainerRuntimeError: it has no command, or an invalid working directory.
    """
    container, home = operation.container, folder / HOME_FOLDER
    message_path = container.termination_message_path
    command = container.command + container.args
    if not command:
        raise ContainerRuntimeError(
            f'no command specified for "{container.name}": '
            "a process has no image to take one from"
        )
    return ProcessContainerRecord(
        container_id=folder.name,
        name=container.name,
        image=container.image,
        attempt=operation.attempt,
        hash=hash_of_new(operation),
        command=command,
        env=_environment(operation, sandbox, folder, inherited),
        working_dir=str(_working_dir(home, container)),
        is_message_from_log=(
            container.termination_message_policy == "FallbackToLogsOnError"
        ),
        created_at=now,
        message_path=str(home_path(home, message_path)) if message_path else "",
        number=new_number(),
        stop_signal=LINUX_STOP_SIGNALS[container.stop_signal or "SIGTERM"],
        pod=PodName(sandbox.namespace, sandbox.pod_name, sandbox.pod_uid),
    )


def _working_dir(home: Path, container: Container) -> Path:
    """Return the working directory; an absolute one is this machine's."""
    path = container.working_dir
    if is_in_home(container, path):
        if normpath(path).startswith(".."):
            raise ContainerRuntimeError(
                f"workingDir: {path} leads out of the home of a process"
            )
        return home_path(home, path)
    return Path(path)


def _environment(
    operation: CreateContainer,
    sandbox: ProcessSandboxRecord,
    folder: Path,
    inherited: Mapping[str, str],
) -> dict[str, str]:
    """Return a container's environment; from probetui's it has only the PATH.

    A variable whose `valueFrom` could not be resolved is not set.
    """
    return {
        "PATH": inherited.get("PATH", DEFAULT_PATH),
        "HOSTNAME": hostname(operation.pod),
        "HOME": str(folder / HOME_FOLDER),
        "TMPDIR": str(folder / TMP_FOLDER),
        "POD_IP": sandbox.ip or LOCALHOST,
        **{
            var.name: var.value
            for var in operation.container.env
            if var.value or not var.has_value_from
        },
        MARKER: folder.name,
    }


def sandbox_status(record: ProcessSandboxRecord) -> SandboxStatus:
    """Return the status of a sandbox."""
    return SandboxStatus(
        sandbox_id=record.sandbox_id,
        is_ready=record.is_ready,
        attempt=record.attempt,
        created_at=record.created_at,
        host_network=record.host_network,
        ip=record.ip,
    )


def state(record: ProcessContainerRecord) -> RuntimeState:
    """Return a container's state."""
    if record.finished_at is not None:
        return RuntimeState.EXITED
    return RuntimeState.RUNNING if record.process else RuntimeState.CREATED


def container_status(record: ProcessContainerRecord) -> RuntimeContainerStatus:
    """Return the status of a container."""
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
