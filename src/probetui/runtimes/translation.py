"""Conversions that runtimes share: pod labels, pod statuses, the node; pure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple

import probetui
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    Node,
    RuntimeContainerStatus,
    RuntimePodStatus,
    SandboxStatus,
)
from probetui.kubelet.kuberuntime.labels import (
    POD_NAME,
    POD_NAMESPACE,
    POD_UID,
    RUNTIME_LABEL_PREFIXES,
)

OWNER = "dev.probetui.owner"
VERSION = "dev.probetui.version"
IMAGE = "dev.probetui.image"
NONCE = "dev.probetui.nonce"
MADE_BY = "dev.probetui.made-by"
"""The nonce sets a sandbox or container apart from all others, and `MADE_BY` says who
asked for it. The other labels prove nothing: images and kubelets hand them on."""

_OWN_PREFIX = "dev.probetui."

LOCALHOST = "127.0.0.1"
MAX_HOSTNAME = 63

EPOCH = datetime.fromtimestamp(0, UTC)


def hostname(pod: Pod) -> str:
    """Return a pod's host name, truncated to the limit of Linux.

    Source: kubelet/util/util.go, v1.32.10, truncatePodHostnameIfNeeded.
    """
    return (pod.hostname or pod.name)[:MAX_HOSTNAME].rstrip("-.")


def own_labels(owner: str) -> dict[str, str]:
    """Return the labels of the objects that probetui creates."""
    return {OWNER: owner, VERSION: probetui.__version__}


class PodName(NamedTuple):
    """The identity of a pod, as in the labels of its sandboxes and containers."""

    namespace: str
    name: str
    uid: str


def pod_name_from_labels(labels: Mapping[str, str]) -> PodName:
    """Parse the pod in the labels of a sandbox, container or volume."""
    return PodName(
        labels.get(POD_NAMESPACE, ""),
        labels.get(POD_NAME, ""),
        labels.get(POD_UID, ""),
    )


def labels_of_pod(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the pod's own labels among those of its sandbox."""
    return {
        key: value
        for key, value in labels.items()
        if not key.startswith((_OWN_PREFIX, *RUNTIME_LABEL_PREFIXES))
    }


def build_pod_status(
    pod: PodName,
    sandboxes: Iterable[SandboxStatus],
    containers: Iterable[RuntimeContainerStatus],
) -> RuntimePodStatus:
    """Return the status of a pod, its sandboxes and containers newest first.

    The pod has the address of its newest sandbox while that is ready.
    """
    newest_first = sorted(
        sandboxes,
        key=lambda sandbox: (sandbox.created_at or EPOCH, sandbox.attempt),
        reverse=True,
    )
    return RuntimePodStatus(
        pod.uid,
        pod.name,
        pod.namespace,
        tuple(newest_first),
        tuple(
            sorted(
                containers,
                key=lambda sandbox: (
                    sandbox.created_at or EPOCH,
                    sandbox.restart_count,
                ),
                reverse=True,
            )
        ),
        ips=tuple(
            sandbox.ip
            for sandbox in newest_first[:1]
            if sandbox.is_ready and sandbox.ip
        ),
    )


def build_node(name: str, ip: str, cpus: int | None, memory_bytes: int | None) -> Node:
    """Build a node; unknown values are empty, 0 or None."""
    resources = {"cpu": cpus, "memory": memory_bytes}
    return Node(
        name.lower() or "localhost",
        ip,
        {resource: Decimal(amount) for resource, amount in resources.items() if amount},
    )


def host_memory_bytes(sysconf: Callable[[str], int] = os.sysconf) -> int:
    """Return the memory of this machine in bytes, 0 if unknown."""
    try:
        return sysconf("SC_PAGE_SIZE") * sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return 0
