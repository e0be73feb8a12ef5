"""The patch that brings an API server's pod in line with the published status.

Source: status/status_manager.go, util/pod/pod.go, v1.32.10, syncPod, PatchPodStatus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.k8s.api.codec import Json
from probetui.k8s.api.status import POD_STATUS
from probetui.k8s.api.strategic_merge import two_way_merge_patch
from probetui.k8s.status import ContainerStatus, PodStatus
from probetui.kubelet.status.conditions import OWNED_BY_KUBELET
from probetui.kubelet.status.pod_resources import container_resources, pod_resources
from probetui.kubelet.status.status_manager import merge_pod_status
from probetui.kubelet_rules import KubeletRules

_NOT_OURS = frozenset(
    {
        "ephemeralContainerStatuses",
        "extendedResourceClaimStatus",
        "nominatedNodeName",
        "resize",
        "resourceClaimStatuses",
    }
)
"""Fields of a status that others set, or that are not supported here."""


_OF_NEWER = frozenset({"allocatedResources", "resources"})
"""Fields that old versions do not know and therefore keep."""


class StatusContext(Struct, frozen=True):
    """The context of a status at an API server: the node and the version.

    `node_ips` are the node's addresses, the first one first.
    """

    node_ips: tuple[str, ...]
    rules: KubeletRules


def api_status(
    spec: Mapping[str, Any],
    status: PodStatus,
    held: Mapping[str, Any],
    context: StatusContext,
    now: datetime,
    *,
    could_have_running_containers: bool,
) -> Json:
    """Return the JSON status for an API server.

    Conditions of others stay as they are, and a restart count never goes backwards: a
    runtime may have lost the containers that were counted.

    Args:
        spec: the pod's spec as the API server holds it, as its JSON.
        status: the published status.
        held: the status that the API server holds, as its JSON.
        context: the node and the kubelet's version.
        now: the time.
        could_have_running_containers: whether containers of the pod may still run.
    """
    old = POD_STATUS.read(held)
    merged = merge_pod_status(
        old, status, now, could_have_running_containers=could_have_running_containers
    )
    merged = replace(
        merged,
        container_statuses=_counted(
            merged.container_statuses, old.container_statuses or ()
        ),
        init_container_statuses=_counted(
            merged.init_container_statuses, old.init_container_statuses or ()
        ),
    )
    json = POD_STATUS.write(merged)
    json["conditions"] = _conditions(json.get("conditions", []), held)
    if context.node_ips:
        json["hostIP"] = context.node_ips[0]
        if context.rules.reports_host_ips:
            json["hostIPs"] = [{"ip": ip} for ip in context.node_ips]
    if context.rules.reports_resources:
        requested = container_resources(spec)
        for key in ("containerStatuses", "initContainerStatuses"):
            for container in json.get(key, ()):
                _add_resources(container, requested.get(container["name"]))
    if context.rules.reports_pod_resources:
        json["resources"], allocated = pod_resources(
            spec,
            held.get("phase", ""),
            has_pod_level=context.rules.pod_level_resources,
        )
        if allocated:
            json["allocatedResources"] = allocated
    else:
        json |= {key: held[key] for key in _OF_NEWER & held.keys()}
    return {
        **json,
        **{key: value for key, value in held.items() if key in _NOT_OURS},
    }


def status_patch(pod_uid: str, held: Mapping[str, Any], new: Mapping[str, Any]) -> Json:
    """Return the strategic merge patch of a pod's status, empty if nothing differs.

    It carries the uid and no version: it is refused for another pod of that name, and
    for nothing else.
    """
    changes = two_way_merge_patch(held, new)
    return {"metadata": {"uid": pod_uid}, "status": changes} if changes else {}


def _conditions(conditions: Sequence[Json], held: Mapping[str, Any]) -> list[Json]:
    """Return conditions with API-only fields; foreign ones are unchanged."""
    before = {
        condition["type"]: condition for condition in held.get("conditions") or ()
    }
    return [
        before[kind]
        if (kind := condition["type"]) not in OWNED_BY_KUBELET and kind in before
        else {"lastProbeTime": None, **condition}
        for condition in conditions
    ]


def _counted(
    statuses: tuple[ContainerStatus, ...] | None, old: Sequence[ContainerStatus]
) -> tuple[ContainerStatus, ...] | None:
    if statuses is None:
        return None
    counts = {status.name: status.restart_count for status in old}
    return tuple(
        replace(status, restart_count=count)
        if (count := counts.get(status.name, 0)) > status.restart_count
        else status
        for status in statuses
    )


def _add_resources(status: Json, resources: Json | None) -> None:
    """Add the resources of a created container."""
    if not status.get("containerID") or resources is None:
        return
    status["resources"] = resources
    if "requests" in resources:
        status["allocatedResources"] = resources["requests"]
