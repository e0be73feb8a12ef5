"""Translation of Docker's JSON to the types of the kubelet; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

from msgspec import Struct, field

from probetui.k8s.runtime import (
    ContainerID,
    Node,
    RuntimeCondition,
    RuntimeContainerStatus,
    RuntimePodStatus,
    RuntimeState,
    SandboxStatus,
)
from probetui.k8s.stop_signals import LINUX_STOP_SIGNALS
from probetui.kubelet.kuberuntime.labels import (
    CONTAINER_NAME,
    DOCKER_SANDBOX_ID,
    DOCKER_TYPE,
    DOCKER_TYPE_CONTAINER,
    DOCKER_TYPE_SANDBOX,
    annotations_of_docker_labels,
    parse_container_annotations,
)
from probetui.kubelet.runtime_health import NETWORK_READY, RUNTIME_READY
from probetui.runtimes.translation import (
    IMAGE,
    LOCALHOST,
    NONCE,
    OWNER,
    PodName,
    build_node,
    build_pod_status,
    pod_name_from_labels,
)

Json = Mapping[str, Any]
"""A response of Docker's API."""

RUNTIME_NAME = "docker"

ATTEMPT = "dev.probetui.attempt"
NAME = "dev.probetui.name"
"""The name that a container was asked for with."""

_NUMBER = re.compile(r"[0-9]{1,9}")
"""A valid attempt; a label may have more digits than Python parses."""

HOST = "host"
OF_ANOTHER = "container:"
"""The prefix of a network mode that names another container's network."""

ALIVE = frozenset({"running", "paused", "stopping"})
BEING_STOPPED = "stopping"
"""The states of containers with processes; the last one is Podman's."""

BRIDGE = "bridge"
"""Docker's default network, in which sandboxes are."""

JSON_LOG = "json-file"
"""The driver that keeps logs where nobody has chosen another one."""


class InspectedContainer(Struct, frozen=True):
    """A container of Docker as it was inspected; ours is a sandbox or a container.

    Attributes:
        docker_id: Docker's ID.
        owner: the value of the owner label.
        pod: its pod by the labels.
        has_terminal: it has a terminal.
        sandbox: its status if it is a sandbox.
        container: its status if it is a container of a pod.
        published: of a sandbox, the host port of each published port.
        sandbox_id: of a container, its sandbox.
        message_path: of a container, its terminationMessagePath.
        message_policy: of a container, its terminationMessagePolicy.
        name: its name.
        nonce: the value of the nonce label.
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


def parse_docker_time(text: str) -> datetime | None:
    """Parse a time (RFC 3339); None for Go's zero time and for invalid text."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if at.year == 1 or at.tzinfo is None else at.astimezone(UTC)


def to_container_id(docker_id: str) -> ContainerID:
    """Return the kubelet's ID of a container."""
    return ContainerID(f"{RUNTIME_NAME}://{docker_id}")


def to_docker_id(container_id: str) -> str:
    """Return Docker's ID of a container."""
    return container_id.removeprefix(f"{RUNTIME_NAME}://")


def owner_filter(owner: str, **labels: str) -> dict[str, list[str]]:
    """Return a filter for our owner label and others."""
    wanted = {OWNER: owner, **labels}
    return {"label": [f"{key}={value}" for key, value in wanted.items()]}


def inside(sandbox_id: str, owner: str) -> dict[str, list[str]]:
    """Return a filter for the containers of a sandbox."""
    return owner_filter(owner, **{DOCKER_SANDBOX_ID: sandbox_id})


def conditions_of(info: Json) -> tuple[RuntimeCondition, ...]:
    """Return the conditions of a daemon that answers; pods need its bridge network."""
    networks = (info.get("Plugins") or {}).get("Network") or ()
    if BRIDGE in networks:
        network = RuntimeCondition(NETWORK_READY, status=True)
    else:
        names = ", ".join(map(str, networks)) or "none"
        message = f"docker: there is no network driver {BRIDGE} (has: {names})"
        network = RuntimeCondition(
            NETWORK_READY,
            status=False,
            reason="NetworkPluginNotReady",
            message=message,
        )
    return RuntimeCondition(RUNTIME_READY, status=True), network


def node_of(info: Json, network: Json | None) -> Node:
    """Return the daemon's machine, with its address in a network of pods."""
    ip = LOCALHOST if network is None else _gateway(network)
    name = str(info.get("Name") or "")
    return build_node(name, ip, info.get("NCPU"), info.get("MemTotal"))


def _gateway(network: Json) -> str:
    """Return a network's gateway, by default the first address of its subnet."""
    for config in network["IPAM"].get("Config") or ():
        if gateway := config.get("Gateway"):
            return str(gateway)
        if subnet := config.get("Subnet"):
            return str(next(ip_network(subnet).hosts()))
    return LOCALHOST


def to_inspected_container(inspected: Json) -> InspectedContainer:
    """Translate an inspection, as a sandbox or a container by its labels."""
    labels: Mapping[str, str] = inspected["Config"]["Labels"] or {}
    is_sandbox = labels.get(DOCKER_TYPE) == DOCKER_TYPE_SANDBOX
    is_container = labels.get(DOCKER_TYPE) == DOCKER_TYPE_CONTAINER
    annotations = parse_container_annotations(annotations_of_docker_labels(labels))
    return InspectedContainer(
        inspected["Id"],
        labels.get(OWNER, ""),
        pod_name_from_labels(labels),
        bool(inspected["Config"]["Tty"]),
        sandbox_status(inspected) if is_sandbox else None,
        container_status(inspected) if is_container else None,
        published_ports(inspected) if is_sandbox else {},
        labels.get(DOCKER_SANDBOX_ID, ""),
        annotations.termination_message_path,
        annotations.termination_message_policy,
        name_without_slash(inspected),
        labels.get(NONCE, ""),
    )


def name_without_slash(inspected: Json) -> str:
    """Return the name of a container without Docker's leading slash."""
    return str(inspected.get("Name") or "").removeprefix("/")


def sandbox_status(inspected: Json) -> SandboxStatus:
    """Return the status of a sandbox; it has an address only while it runs."""
    labels = inspected["Config"]["Labels"] or {}
    is_ready = bool(inspected["State"]["Running"])
    attempt = labels.get(ATTEMPT, "")
    return SandboxStatus(
        inspected["Id"],
        is_ready,
        attempt=int(attempt) if _NUMBER.fullmatch(attempt) else 0,
        created_at=parse_docker_time(inspected["Created"]),
        host_network=inspected["HostConfig"]["NetworkMode"] == HOST,
        ip=own_address(inspected) if is_ready else "",
    )


def own_address(inspected: Json) -> str:
    """Return a container's own first address, empty for none."""
    networks = inspected["NetworkSettings"].get("Networks") or {}
    addresses = (
        network.get("IPAddress") or network.get("GlobalIPv6Address")
        for network in networks.values()
    )
    return next((str(address) for address in addresses if address), "")


def published_ports(inspected: Json) -> dict[int, int]:
    """Return the host port of each published TCP port."""
    ports = inspected["NetworkSettings"].get("Ports") or {}
    published = {}
    for port, bindings in ports.items():
        number, _, protocol = port.partition("/")
        if protocol == "tcp" and bindings:
            published[int(number)] = int(bindings[0]["HostPort"])
    return published


class _End(Struct, frozen=True):
    state: RuntimeState
    reason: str = ""


def container_status(inspected: Json) -> RuntimeContainerStatus:
    """Return the status of a container in the terms of the CRI.

    Source: dockershim/docker_container.go, v1.23, ContainerStatus.
    """
    labels: Mapping[str, str] = inspected["Config"]["Labels"] or {}
    annotations = parse_container_annotations(annotations_of_docker_labels(labels))
    state = inspected["State"]
    signal = inspected["Config"].get("StopSignal")
    created_at = parse_docker_time(inspected["Created"])
    started_at = parse_docker_time(state["StartedAt"])
    finished_at = parse_docker_time(state["FinishedAt"])
    end = _end(state)
    if end.state is RuntimeState.RUNNING:
        finished_at = None
    elif end.state is RuntimeState.EXITED and finished_at is None:
        started_at = finished_at = created_at
    elif started_at and finished_at and finished_at < started_at:
        # The daemon records a start after it happened, and a quick end before that.
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
        stop_signal=signal if signal in LINUX_STOP_SIGNALS else "",
    )


def _end(state: Json) -> _End:
    """Return whether a container is created, running, or why it has exited."""
    # In Podman a stopping container is not running, though its grace period lasts.
    if state["Running"] or state.get("Status") == BEING_STOPPED:
        return _End(RuntimeState.RUNNING)
    if parse_docker_time(state["FinishedAt"]) is not None:
        if state.get("OOMKilled"):
            return _End(RuntimeState.EXITED, "OOMKilled")
        reason = "Error" if state["ExitCode"] else "Completed"
        return _End(RuntimeState.EXITED, reason)
    if state["ExitCode"]:
        return _End(RuntimeState.EXITED, "ContainerCannotRun")
    return _End(RuntimeState.CREATED)


def pod_statuses(
    everything: Iterable[InspectedContainer],
) -> tuple[RuntimePodStatus, ...]:
    """Return the pods, by name, that sandboxes and containers belong to."""
    by_pod: dict[PodName, list[InspectedContainer]] = {}
    for inspected in everything:
        by_pod.setdefault(inspected.pod, []).append(inspected)
    return tuple(
        build_pod_status(
            pod,
            (part.sandbox for part in by_pod[pod] if part.sandbox),
            (part.container for part in by_pod[pod] if part.container),
        )
        for pod in sorted(by_pod)
    )
