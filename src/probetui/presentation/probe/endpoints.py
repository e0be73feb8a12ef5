"""The effect of readiness: whether a pod is an endpoint of Services.

The kubelet publishes that a container, and so its pod, is not ready. The EndpointSlice
controller then marks the pod's endpoints as not ready, and they get no new connections
unless the Service publishes addresses that are not ready.

Source: staging/src/k8s.io/endpointslice/utils.go, v0.32.10, podToEndpoint.
"""

from __future__ import annotations

from collections.abc import Sequence

from probetui.k8s.pod import Pod
from probetui.k8s.service import Service

_MOST_NAMED = 3
_UNNAMED = "the Services that select the pod"


def endpoints_text(
    pod: Pod | None, services: Sequence[Service], *, is_ready: bool
) -> str:
    """Describe what a container's readiness means for the pod's endpoints.

    Args:
        pod: the pod, None if its manifest is unknown.
        services: the Services of the manifests; if none of them selects the pod, the
            text speaks of a cluster's.
        is_ready: whether the container is ready.
    """
    selecting = [
        service for service in services if pod is not None and service.selects(pod)
    ]
    if is_ready:
        once = " once the whole pod is ready" if _needs_more(pod) else ""
        return f"in the endpoints of {_named(selecting)}{once}"
    kept = [service for service in selecting if service.publishes_not_ready]
    lost = [service for service in selecting if not service.publishes_not_ready]
    parts = []
    if lost or not kept:
        parts.append(f"out of the endpoints of {_named(lost)}")
    if kept:
        parts.append(f"in those of {_named(kept)} all the same")
    return ", ".join(parts)


def _needs_more(pod: Pod | None) -> bool:
    """Return whether more than one container decides about a pod's readiness."""
    if pod is None:
        return False
    return len(pod.containers) + len(pod.sidecars) > 1 or bool(pod.readiness_gates)


def _named(services: Sequence[Service]) -> str:
    if not services:
        return _UNNAMED
    names = [service.name for service in services[:_MOST_NAMED]]
    if len(services) > _MOST_NAMED:
        names.append(f"{len(services) - _MOST_NAMED} more")
    *others, last = names
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{'Services' if others else 'Service'} {listed}"
