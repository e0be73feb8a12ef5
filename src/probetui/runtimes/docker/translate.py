"""From Docker's JSON to our values, without I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from ipaddress import ip_network
from typing import Any, NamedTuple

from probetui.k8s.node import Node
from probetui.k8s.runtime import (
    ContainerID,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
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
NAME = "dev.probetui.name"
NONCE = "dev.probetui.nonce"
MADE_BY = "dev.probetui.made-by"
"""The name that was asked for, what sets this one apart from all others, and who asked:
with them a container is known, as its labels alone may be those of an image."""

_NUMBER = re.compile(r"[0-9]{1,9}")
"""A number of ours; a label may have more digits than Python reads."""

HOST = "host"
OF_ANOTHER = "container:"
"""Before the ID of the container whose network one shares."""

LOCALHOST = "127.0.0.1"
LOCALHOST_NAME = "localhost"
ALIVE = frozenset({"running", "paused", "stopping"})
BEING_STOPPED = "stopping"
"""The words for containers with processes; the last one is Podman's."""

BRIDGE = "bridge"
"""Docker's usual network, in which sandboxes are."""


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
    The last three are a container's: where it is, and how it says why it ended.
    """

    docker_id: str
    owner: str
    pod: PodName
    has_terminal: bool = False
    sandbox: SandboxStatus | None = None
    container: RuntimeContainerStatus | None = None
    published: Mapping[int, int] = field(default_factory=dict)
    sandbox_id: str = ""
    message_path: str = ""
    message_policy: str = ""
    name: str = ""
    nonce: str = ""


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


def node_of(info: Json, network: Json | None) -> Node:
    """Return the daemon's machine, as pods in a network of it see it."""
    known = {"cpu": info.get("NCPU"), "memory": info.get("MemTotal")}
    return Node(
        str(info.get("Name") or LOCALHOST_NAME).lower(),
        LOCALHOST if network is None else _gateway(network),
        {name: Decimal(amount) for name, amount in known.items() if amount},
    )


def _gateway(network: Json) -> str:
    """Return the machine's address in a network: the first one unless it is told."""
    for each in network["IPAM"].get("Config") or ():
        if gateway := each.get("Gateway"):
            return str(gateway)
        if subnet := each.get("Subnet"):
            return str(next(ip_network(subnet).hosts()))
    return LOCALHOST


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
    annotations = parse_container_annotations(annotations_of_docker_labels(labels))
    return Seen(
        inspected["Id"],
        labels.get(OWNER, ""),
        pod_name(labels),
        bool(inspected["Config"]["Tty"]),
        sandbox_status(inspected) if is_sandbox else None,
        container_status(inspected) if is_container else None,
        published_ports(inspected) if is_sandbox else {},
        labels.get(DOCKER_SANDBOX_ID, ""),
        annotations.termination_message_path,
        annotations.termination_message_policy,
        own_name(inspected),
        labels.get(NONCE, ""),
    )


def own_name(inspected: Json) -> str:
    """Return the name of a container; Docker writes a slash before it."""
    return str(inspected.get("Name") or "").removeprefix("/")


def sandbox_status(inspected: Json) -> SandboxStatus:
    """Return the status of a sandbox; its address counts only while it runs."""
    labels = inspected["Config"]["Labels"] or {}
    is_ready = bool(inspected["State"]["Running"])
    attempt = labels.get(ATTEMPT, "")
    return SandboxStatus(
        inspected["Id"],
        is_ready,
        attempt=int(attempt) if _NUMBER.fullmatch(attempt) else 0,
        created_at=instant(inspected["Created"]),
        host_network=inspected["HostConfig"]["NetworkMode"] == HOST,
        ip=own_address(inspected) if is_ready else "",
    )


def own_address(inspected: Json) -> str:
    """Return the first address that a container has of its own, empty for none."""
    networks = inspected["NetworkSettings"].get("Networks") or {}
    found = (
        each.get("IPAddress") or each.get("GlobalIPv6Address")
        for each in networks.values()
    )
    return next((str(each) for each in found if each), "")


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
    # To Podman what is being stopped runs no more, though it may for all its grace.
    if state["Running"] or state.get("Status") == BEING_STOPPED:
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
