"""What Docker is asked to make: the bodies of requests, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import probetui
from probetui.k8s.pod import Pod, Resources
from probetui.kubelet.effects import CreateContainer
from probetui.kubelet.labels import docker_container_labels, docker_sandbox_labels
from probetui.runtimes.docker.mounts import NO_MOUNTS, Mounts
from probetui.runtimes.docker.translate import (
    ATTEMPT,
    HOST_NETWORK,
    IMAGE,
    OWNER,
    VERSION,
)

MAX_HOSTNAME = 63

MIN_CPU_SHARES = 2
SHARES_PER_CPU = 1024
NANOS_PER_CPU = 1_000_000_000


def sandbox_request(
    pod: Pod,
    attempt: int,
    *,
    image: str,
    command: Sequence[str],
    owner: str,
    published: Iterable[int] = (),
    publish_on: str = "",
    mounts: Mounts = NO_MOUNTS,
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
        mounts: what it holds on to for its containers.
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
            **mounts.body(),
        },
    }
    if command:
        request["Entrypoint"] = list(command)
    return request


def container_request(
    operation: CreateContainer, owner: str, mounts: Mounts = NO_MOUNTS
) -> dict[str, Any]:
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
            **mounts.body(),
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
