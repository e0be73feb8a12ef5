"""What the containers of a pod need in all, which pod-level resources are held against.

Source: k8s.io/component-helpers v0.36.2, resource/helpers.go,
AggregateContainerRequests, AggregateContainerLimits.
"""

from __future__ import annotations

from collections.abc import Mapping

from lightkube.models import core_v1

from probetui.k8s.api.quantity import add_quantities, parse_quantity

_FOR_PODS = frozenset({"cpu", "memory"})
HUGE_PAGES = "hugepages-"
"""How the names of resources begin that are memory in large pages."""


def is_for_pods(name: str) -> bool:
    """Return whether a pod can have a resource beside its containers."""
    return name in _FOR_PODS or is_huge_page(name)


def is_huge_page(name: str) -> bool:
    """Return whether a resource is memory in pages of one size."""
    return name.startswith(HUGE_PAGES)


def aggregate(spec: core_v1.PodSpec, kind: str) -> dict[str, str]:
    """Return the `requests` or `limits` of all containers, by resource.

    Regular containers and sidecars run at once. An init container runs beside the
    sidecars before it, which may be more.
    """
    total: dict[str, str] = {}
    for container in spec.containers:
        _add(total, _amounts(container, kind))
    sidecars: dict[str, str] = {}
    starting: dict[str, str] = {}
    for container in spec.initContainers or ():
        own = _amounts(container, kind)
        if container.restartPolicy == "Always":
            _add(total, own)
            _add(sidecars, own)
            _raise_to(starting, sidecars)
        else:
            beside = dict(own)
            _add(beside, sidecars)
            _raise_to(starting, beside)
    _raise_to(total, starting)
    return total


def _amounts(container: core_v1.Container, kind: str) -> Mapping[str, str]:
    resources = container.resources or core_v1.ResourceRequirements()
    return getattr(resources, kind) or {}


def _add(total: dict[str, str], amounts: Mapping[str, str]) -> None:
    for name, amount in amounts.items():
        total[name] = add_quantities(total.get(name, "0"), amount)


def _raise_to(total: dict[str, str], least: Mapping[str, str]) -> None:
    for name, amount in least.items():
        if name not in total or parse_quantity(amount) > parse_quantity(total[name]):
            total[name] = amount
