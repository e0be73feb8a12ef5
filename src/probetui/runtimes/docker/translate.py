"""Between Docker's JSON and our values, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import probetui
from probetui.k8s.pod import Pod, Resources
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.labels import (
    CONTAINER_NAME,
    DOCKER_SANDBOX_ID,
    DOCKER_TYPE,
    DOCKER_TYPE_CONTAINER,
    DOCKER_TYPE_SANDBOX,
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
    annotations_of_docker_labels,
    docker_container_labels,
    docker_sandbox_labels,
    parse_container_annotations,
)
from probetui.runtimes.docker.instants import instant

Json = Mapping[str, Any]
"""What Docker's API answers."""

RUNTIME_NAME = "docker"

OWNER = "dev.probetui.owner"
VERSION = "dev.probetui.version"
ATTEMPT = "dev.probetui.attempt"
IMAGE = "dev.probetui.image"

MAX_HOSTNAME = 63

MIN_CPU_SHARES = 2
SHARES_PER_CPU = 1024
NANOS_PER_CPU = 1_000_000_000

HOST_NETWORK = "host"


class PodName(NamedTuple):
    """What names a pod, as its containers' labels have it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Seen:
    """One of Docker's containers as an inspection showed it.

    What is ours is either a sandbox or a container of a pod.

    `published` leads from a port of the pod to one of the machine Docker runs on.
    """

    docker_id: str
    owner: str
    pod: PodName
    has_terminal: bool = False
    sandbox: SandboxStatus | None = None
    container: RuntimeContainerStatus | None = None
    published: Mapping[int, int] = field(default_factory=dict)


def to_container_id(docker_id: str) -> ContainerID:
    """Return the ID that the kubelet uses."""
    return ContainerID(f"{RUNTIME_NAME}://{docker_id}")


def to_docker_id(container_id: str) -> str:
    """Return the ID that Docker uses."""
    return container_id.removeprefix(f"{RUNTIME_NAME}://")


def owned_by(owner: str, **labels: str) -> dict[str, list[str]]:
    """Return the filter for what carries our label, and perhaps others."""
    wanted = {OWNER: owner, **labels}
    return {"label": [f"{key}={value}" for key, value in wanted.items()]}


def inside(sandbox_id: str, owner: str) -> dict[str, list[str]]:
    """Return the filter for the containers of a sandbox."""
    return owned_by(owner, **{DOCKER_SANDBOX_ID: sandbox_id})


# -- what we ask for


def sandbox_request(
    pod: Pod,
    attempt: int,
    *,
    image: str,
    command: Sequence[str],
    owner: str,
    published: Iterable[int] = (),
    publish_on: str = "",
) -> dict[str, Any]:
    """Return the body that creates a pod's sandbox.

    Args:
        pod: the pod.
        attempt: how many sandboxes it had before.
        image: what the sandbox runs.
        command: what it runs, empty for what the image says.
        owner: the value of our own label.
        published: ports of the pod that must be reachable from outside.
        publish_on: the address they are reachable on.
    """
    ports = [f"{port}/tcp" for port in published]
    bindings = {port: [{"HostIp": publish_on, "HostPort": ""}] for port in ports}
    labels = {
        **docker_sandbox_labels(pod),
        **_own_labels(owner),
        ATTEMPT: str(attempt),
        IMAGE: image,
    }
    request: dict[str, Any] = {
        "Image": image,
        "Hostname": None if pod.host_network else hostname(pod),
        "Labels": labels,
        "ExposedPorts": {port: {} for port in ports},
        # There is nothing in a sandbox that could be said goodbye to.
        "StopSignal": "SIGKILL",
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "NetworkMode": HOST_NETWORK if pod.host_network else "default",
            "IpcMode": "shareable",
            "PortBindings": bindings,
        },
    }
    if command:
        request["Entrypoint"] = list(command)
    return request


def container_request(operation: CreateContainer, owner: str) -> dict[str, Any]:
    """Return the body that creates a container in its sandbox.

    As in Kubernetes, `command` stands in for the image's entrypoint, `args` for its
    command, and a `command` alone drops both. A health check of the image's would be
    a second kubelet.
    """
    pod, container = operation.pod, operation.container
    sandbox = f"container:{operation.sandbox_id}"
    labels = {
        **docker_container_labels(
            pod, container, operation.attempt, operation.sandbox_id
        ),
        **_own_labels(owner),
        IMAGE: container.image,
    }
    return {
        "Image": operation.image_id or container.image,
        "Entrypoint": list(container.command) or None,
        "Cmd": list(container.args) or None,
        "Env": [f"{each.name}={each.value}" for each in container.env],
        "WorkingDir": container.working_dir or None,
        "Labels": labels,
        "Tty": container.tty,
        "OpenStdin": container.stdin,
        "StdinOnce": container.stdin_once,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "NetworkMode": sandbox,
            "IpcMode": sandbox,
            "PidMode": sandbox if pod.share_process_namespace else "",
            **_resources(container.resources),
        },
    }


def hostname(pod: Pod) -> str:
    """Return a pod's host name, cut to what Linux takes.

    Source: kubelet/util/util.go, v1.32.10, truncatePodHostnameIfNeeded.
    """
    return (pod.hostname or pod.name)[:MAX_HOSTNAME].rstrip("-.")


def _own_labels(owner: str) -> dict[str, str]:
    return {OWNER: owner, VERSION: probetui.__version__}


def _resources(resources: Resources) -> dict[str, int]:
    """Return limits and weights in Docker's units.

    Source: kuberuntime_container_linux.go, v1.32.10,
    calculateLinuxResources.
    """
    limits = resources.limits
    weight = resources.requests.get("cpu", limits.get("cpu", Decimal()))
    asked = {"CpuShares": max(MIN_CPU_SHARES, int(weight * SHARES_PER_CPU))}
    if cpu := limits.get("cpu"):
        asked["NanoCpus"] = int(cpu * NANOS_PER_CPU)
    if memory := limits.get("memory"):
        # As much swap as memory means none beside it.
        asked |= {"Memory": int(memory), "MemorySwap": int(memory)}
    return asked


# -- what we are told


def pod_name(labels: Mapping[str, str]) -> PodName:
    """Return what the labels of a container say of its pod."""
    return PodName(
        labels.get(POD_NAMESPACE, ""),
        labels.get(POD_NAME, ""),
        labels.get(POD_UID, ""),
    )


def seen(inspected: Json) -> Seen:
    """Return one of Docker's containers, by what kind its labels say it is."""
    labels: Mapping[str, str] = inspected["Config"]["Labels"] or {}
    is_sandbox = labels.get(DOCKER_TYPE) == DOCKER_TYPE_SANDBOX
    is_container = labels.get(DOCKER_TYPE) == DOCKER_TYPE_CONTAINER
    return Seen(
        inspected["Id"],
        labels.get(OWNER, ""),
        pod_name(labels),
        bool(inspected["Config"]["Tty"]),
        sandbox_status(inspected) if is_sandbox else None,
        container_status(inspected) if is_container else None,
        published_ports(inspected) if is_sandbox else {},
    )


def sandbox_status(inspected: Json) -> SandboxStatus:
    """Return the status of a sandbox; its address counts only while it runs."""
    labels = inspected["Config"]["Labels"] or {}
    is_ready = bool(inspected["State"]["Running"])
    networks = inspected["NetworkSettings"].get("Networks") or {}
    addresses = [
        address
        for each in networks.values()
        if (address := each.get("IPAddress") or each.get("GlobalIPv6Address"))
    ]
    attempt = labels.get(ATTEMPT, "")
    return SandboxStatus(
        inspected["Id"],
        is_ready,
        attempt=int(attempt) if attempt.isdecimal() else 0,
        created_at=instant(inspected["Created"]),
        host_network=inspected["HostConfig"]["NetworkMode"] == HOST_NETWORK,
        ip=addresses[0] if is_ready and addresses else "",
    )


def published_ports(inspected: Json) -> dict[int, int]:
    """Return where the TCP ports of a sandbox are reachable, by number."""
    ports = inspected["NetworkSettings"].get("Ports") or {}
    found = {}
    for port, bindings in ports.items():
        number, _, protocol = port.partition("/")
        if protocol == "tcp" and bindings:
            found[int(number)] = int(bindings[0]["HostPort"])
    return found


class _End(NamedTuple):
    state: RuntimeState
    reason: str = ""


def container_status(inspected: Json) -> RuntimeContainerStatus:
    """Return the status of a container in the words of the CRI.

    Source: dockershim/docker_container.go, v1.23, ContainerStatus.
    """
    labels: Mapping[str, str] = inspected["Config"]["Labels"] or {}
    annotations = parse_container_annotations(annotations_of_docker_labels(labels))
    state = inspected["State"]
    created_at = instant(inspected["Created"])
    started_at = instant(state["StartedAt"])
    finished_at = instant(state["FinishedAt"])
    end = _end(state)
    if end.state is RuntimeState.RUNNING:
        finished_at = None
    elif end.state is RuntimeState.EXITED and finished_at is None:
        started_at = finished_at = created_at
    elif started_at and finished_at and finished_at < started_at:
        # The daemon notes a start after it happened, and a quick end before that.
        started_at = finished_at
    return RuntimeContainerStatus(
        to_container_id(inspected["Id"]),
        labels.get(CONTAINER_NAME, ""),
        end.state,
        created_at=created_at,
        started_at=started_at,
        finished_at=finished_at,
        exit_code=state["ExitCode"] if end.state is RuntimeState.EXITED else 0,
        reason=end.reason,
        message=state.get("Error", ""),
        image=labels.get(IMAGE, ""),
        image_ref=inspected["Image"],
        image_id=inspected["Image"],
        restart_count=annotations.restart_count,
        hash=annotations.hash,
        oom_killed=bool(state.get("OOMKilled")),
    )


def _end(state: Json) -> _End:
    """Tell apart what runs, what ended, what could not run, and what did not yet."""
    if state["Running"]:
        return _End(RuntimeState.RUNNING)
    if instant(state["FinishedAt"]) is not None:
        if state.get("OOMKilled"):
            return _End(RuntimeState.EXITED, "OOMKilled")
        reason = "Error" if state["ExitCode"] else "Completed"
        return _End(RuntimeState.EXITED, reason)
    if state["ExitCode"]:
        return _End(RuntimeState.EXITED, "ContainerCannotRun")
    return _End(RuntimeState.CREATED)


def pod_statuses(everything: Iterable[Seen]) -> tuple[RuntimePodStatus, ...]:
    """Return the pods, by name, that sandboxes and containers belong to."""
    by_pod: dict[PodName, list[Seen]] = {}
    for each in everything:
        by_pod.setdefault(each.pod, []).append(each)
    return tuple(_pod_status(pod, by_pod[pod]) for pod in sorted(by_pod))


def _pod_status(pod: PodName, parts: list[Seen]) -> RuntimePodStatus:
    sandboxes = sorted(
        (each.sandbox for each in parts if each.sandbox),
        key=lambda each: (_order(each), each.attempt),
        reverse=True,
    )
    containers = sorted(
        (each.container for each in parts if each.container),
        key=lambda each: (_order(each), each.restart_count),
        reverse=True,
    )
    newest = sandboxes[0] if sandboxes else None
    has_ip = newest is not None and newest.is_ready and newest.ip
    return RuntimePodStatus(
        pod.uid,
        pod.name,
        pod.namespace,
        tuple(sandboxes),
        tuple(containers),
        ips=(newest.ip,) if newest and newest.ip and has_ip else (),
    )


def _order(part: SandboxStatus | RuntimeContainerStatus) -> float:
    return part.created_at.timestamp() if part.created_at else 0
