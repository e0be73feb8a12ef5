"""The quality of service class of a pod.

Source: pkg/apis/core/v1/helper/qos/qos.go, v1.32.10, ComputePodQOS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from probetui.k8s.pod import NO_RESOURCES, Container, Pod

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
COMPUTE_RESOURCES = ("cpu", "memory")
NOTHING = Decimal()


def qos_class(pod: Pod) -> str:
    """Return the class that a pod's requests and limits of CPU and memory give it."""
    containers = [
        each for each in pod.all_containers() if each.resources is not NO_RESOURCES
    ]
    requests = _totals(each.resources.requests for each in containers)
    limits = _totals(each.resources.limits for each in containers)
    if not (any(requests) or any(limits)):
        return BEST_EFFORT
    if requests == limits and all(map(_is_limited, pod.all_containers())):
        return GUARANTEED
    return BURSTABLE


def _totals(quantities: Iterable[Mapping[str, Decimal]]) -> list[Decimal]:
    """Return what is asked for in all, by compute resource."""
    totals = [NOTHING] * len(COMPUTE_RESOURCES)
    for each in quantities:
        for index, resource in enumerate(COMPUTE_RESOURCES):
            totals[index] += max(each.get(resource, NOTHING), NOTHING)
    return totals


def _is_limited(container: Container) -> bool:
    """Tell whether a container has a limit of both resources."""
    limits = container.resources.limits
    return all(limits.get(each, NOTHING) > NOTHING for each in COMPUTE_RESOURCES)
