"""Mirror pods, which represent the static pods of a node at the API server.

Source: kubelet/pod/mirror_client.go, v1.32.10; kubelet.go, tryReconcileMirrorPods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probetui.cluster.client import PODS, ApiClient, Object
from probetui.cluster.errors import ApiError
from probetui.cluster.node.api_pods import is_mirror
from probetui.k8s.api.pod import POD
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import CONFIG_HASH, CONFIG_MIRROR, api_pod

_NOT_FOUND, _CONFLICT = 404, 409
_ALL_NO_EXECUTE = {"operator": "Exists", "effect": "NoExecute"}
"""Source: kubelet/config/common.go, v1.32.10, applyDefaults."""


def mirror_of(pod: Pod, seen: Mapping[str, Object]) -> Object | None:
    """Find the mirror pod of a static pod among the pods of the API server."""
    for candidate in seen.values():
        metadata = candidate["metadata"]
        if is_mirror(candidate) and (metadata.get("namespace"), metadata["name"]) == (
            pod.namespace,
            pod.name,
        ):
            return candidate
    return None


def mirror_pod(pod: Pod, node_name: str, node_uid: str) -> Object:
    """Build the mirror pod of a static pod.

    It belongs to the node, has a uid of its own, and may not use a service account.
    """
    json = POD.write(api_pod(pod))
    json["metadata"].pop("uid", None)
    json["metadata"].pop("creationTimestamp", None)
    json["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": node_name,
            "uid": node_uid,
            "controller": True,
        }
    ]
    json["spec"]["nodeName"] = node_name
    json["spec"].pop("serviceAccountName", None)
    tolerations = json["spec"].get("tolerations") or []
    json["spec"]["tolerations"] = [*tolerations, _ALL_NO_EXECUTE]
    return json


async def reconcile_mirrors(
    api: ApiClient,
    static: Sequence[Pod],
    seen: Mapping[str, Object],
    node_name: str,
    node_uid: str,
) -> None:
    """Create missing mirror pods, and delete those without a static pod.

    Raises:
        ClusterError: the API server does not answer, or refuses.
    """
    current = set()
    for pod in static:
        mirror = mirror_of(pod, seen)
        if mirror is not None and _is_current(mirror, pod):
            current.add(mirror["metadata"]["uid"])
            continue
        if mirror is not None:
            await delete_mirror(api, mirror)
        try:
            await api.create(PODS, pod.namespace, mirror_pod(pod, node_name, node_uid))
        except ApiError as error:
            if error.code != _CONFLICT:
                raise
            # It exists, but the watch has not reported it yet.
    for uid, other in seen.items():
        if (
            is_mirror(other)
            and uid not in current
            and not any(mirror_of(pod, {"": other}) for pod in static)
        ):
            await delete_mirror(api, other)


async def delete_mirror(api: ApiClient, mirror: Object) -> None:
    """Delete a mirror pod at once; one that is gone is no error."""
    metadata = mirror["metadata"]
    try:
        await api.delete(
            PODS,
            metadata.get("namespace", "default"),
            metadata["name"],
            grace_period_seconds=0,
            uid=metadata["uid"],
        )
    except ApiError as error:
        if error.code not in {_NOT_FOUND, _CONFLICT}:
            raise


def _is_current(mirror: Object, pod: Pod) -> bool:
    """Return whether a mirror pod mirrors this version of a pod and is not ending."""
    metadata = mirror["metadata"]
    annotations = metadata.get("annotations") or {}
    return metadata.get("deletionTimestamp") is None and annotations[
        CONFIG_MIRROR
    ] == pod.annotations.get(CONFIG_HASH, "")
