"""The node as an API server holds it: the object, its status, its lease.

Source: kubelet_node_status.go, nodestatus/setters.go, v1.32.10; component-helpers
apimachinery/lease/controller.go, v0.32.10.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from probetui.k8s.api.codec import Json, format_time
from probetui.k8s.api.strategic_merge import two_way_merge_patch
from probetui.k8s.runtime import StoredImage

STATUS_CHECK_PERIOD = timedelta(seconds=10)
STATUS_REPORT_PERIOD = timedelta(minutes=5)
LEASE_SECONDS = 40
LEASE_RENEW_PERIOD = timedelta(seconds=10)
LEASE_NAMESPACE = "kube-node-lease"
MOST_IMAGES = 50
TAINT = "probetui/node"
"""Only pods that tolerate this taint are scheduled to the node."""

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Go's names of architectures by the kernel's, if they differ."""

_PRESSURES = (
    ("MemoryPressure", "HasSufficientMemory", "has sufficient memory available"),
    ("DiskPressure", "HasNoDiskPressure", "has no disk pressure"),
    ("PIDPressure", "HasSufficientPID", "has sufficient PID available"),
)


class NodeFacts(Struct, frozen=True):
    """The facts about a node at the start of its kubelet.

    `capacity` has quantities as the API writes them. `info` is `v1.NodeSystemInfo`.
    `port` is that of the kubelet's own API, 0 where it has none. `host_address` is
    the address of type Hostname, the hostname where it is empty.
    """

    name: str
    hostname: str
    addresses: tuple[str, ...]
    capacity: Mapping[str, str]
    info: Mapping[str, str]
    port: int = 0
    host_address: str = ""


def new_node(facts: NodeFacts, status: Json) -> Json:
    """Return the node object that a kubelet registers.

    Difference: it has a taint, so that nothing is scheduled to it by accident.
    """
    architecture, system = facts.info["architecture"], facts.info["operatingSystem"]
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {
            "name": facts.name,
            "labels": {
                "beta.kubernetes.io/arch": architecture,
                "beta.kubernetes.io/os": system,
                "kubernetes.io/arch": architecture,
                "kubernetes.io/hostname": facts.hostname,
                "kubernetes.io/os": system,
            },
            "annotations": {
                "volumes.kubernetes.io/controller-managed-attach-detach": "true"
            },
        },
        "spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]},
        "status": status,
    }


def node_status(
    facts: NodeFacts,
    held: Mapping[str, Any],
    not_ready: str,
    images: Sequence[StoredImage],
    now: datetime,
) -> Json:
    """Return the status of a node.

    Args:
        facts: the constant facts.
        held: the status that the API server holds.
        not_ready: the message of Ready where the node is not, else empty.
        images: the largest images of the node.
        now: the time; each condition has it as the time of its heartbeat.
    """
    conditions = [
        _condition(kind, "False", f"Kubelet{reason}", f"kubelet {message}")
        for kind, reason, message in _PRESSURES
    ]
    conditions.append(
        _condition("Ready", "False", "KubeletNotReady", not_ready)
        if not_ready
        else _condition(
            "Ready", "True", "KubeletReady", "kubelet is posting ready status"
        )
    )
    own_types = {condition["type"] for condition in conditions}
    before = {
        condition_before["type"]: condition_before
        for condition_before in held.get("conditions") or ()
    }
    for condition in conditions:
        known = before.get(condition["type"], {})
        condition["lastHeartbeatTime"] = format_time(now)
        condition["lastTransitionTime"] = (
            known["lastTransitionTime"]
            if known.get("status") == condition["status"]
            and known.get("lastTransitionTime")
            else format_time(now)
        )
    others = [
        condition_before
        for kind, condition_before in before.items()
        if kind not in own_types
    ]
    status: Json = {
        "capacity": dict(facts.capacity),
        "allocatable": dict(facts.capacity),
        "conditions": [*others, *conditions],
        "addresses": [
            *({"type": "InternalIP", "address": ip} for ip in facts.addresses),
            {"type": "Hostname", "address": facts.host_address or facts.hostname},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
        "nodeInfo": dict(facts.info),
    }
    if images:
        status["images"] = [
            {"names": list(image.names), "sizeBytes": image.size_bytes}
            for image in images[:MOST_IMAGES]
        ]
    return {**held, **status}


def node_status_patch(held: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """Return the patch of a node's status, empty if nothing differs."""
    changes = two_way_merge_patch(held, new)
    return {"status": changes} if changes else {}


def is_only_heartbeat(held: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether two statuses differ only in their heartbeat times."""
    return _without_heartbeats(held) == _without_heartbeats(new)


def new_lease(node_name: str, node_uid: str, now: datetime) -> Json:
    """Return the lease of a node, which is its owner."""
    return {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": node_name,
            "namespace": LEASE_NAMESPACE,
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "name": node_name,
                    "uid": node_uid,
                }
            ],
        },
        "spec": {
            "holderIdentity": node_name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format_micro_time(now),
        },
    }


def renewed_lease(held: Mapping[str, Any], now: datetime) -> Json:
    """Return the lease with a new time; its version detects a concurrent update."""
    spec = {**(held.get("spec") or {}), "renewTime": format_micro_time(now)}
    return {**held, "spec": spec}


def lease_age(lease: Mapping[str, Any], now: datetime) -> timedelta | None:
    """Return the time since a lease was renewed; None if it never was."""
    text = (lease.get("spec") or {}).get("renewTime")
    return None if text is None else now - datetime.fromisoformat(text)


def format_micro_time(instant: datetime) -> str:
    """Format an instant as the API's MicroTime."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _condition(kind: str, status: str, reason: str, message: str) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _without_heartbeats(status: Mapping[str, Any]) -> Json:
    return {
        **status,
        "conditions": [
            {key: condition[key] for key in condition if key != "lastHeartbeatTime"}
            for condition in status.get("conditions") or ()
        ],
    }
