"""Resources of a pod's spec in the statuses of the pod and its containers.

They are read and written as the API server's JSON, so that a quantity keeps its form.

Difference: a kubelet reads back what the cgroups of a running pod and of its containers
have. Here pods have no cgroup, and nothing is resized: the status has the requested
amounts, which is what a version 1 cgroup reads back.

Source: component-helpers resource/helpers.go, v0.36, PodRequests, PodLimits;
kubelet_pods.go, v1.36, convertToAPIPodLevelResourcesStatus,
convertToAPIContainerStatuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from probetui.k8s.api.codec import Json
from probetui.k8s.api.quantity import (
    add_quantities,
    canonical_quantity,
    parse_quantity,
)
from probetui.k8s.status import PodPhase

Quantities = dict[str, str]

_CPU, _MEMORY = "cpu", "memory"
_COMPUTE = frozenset({_CPU, _MEMORY})
_HUGE_PAGES = "hugepages-"
_KINDS = ("limits", "requests")
_LEAST_SHARES = Decimal("0.002")
"""The minimum CPU of a cgroup, in cores; it is not read back.

Source: kubelet/cm/helpers_linux.go, v1.36, MinShares.
"""


def container_resources(spec: Mapping[str, Any]) -> Mapping[str, Json]:
    """Return the resources of each container of a pod's spec, by its name."""
    return {
        container["name"]: canonical_resources(container.get("resources"))
        for container in _containers(spec)
    }


def canonical_resources(resources: Mapping[str, Any] | None) -> Json:
    """Return resources with canonical quantities, without empty maps."""
    written = dict(resources or {})
    for kind in _KINDS:
        quantities = _quantities(written.pop(kind, None))
        if quantities:
            written[kind] = quantities
    return written


def pod_resources(
    spec: Mapping[str, Any], phase: str, *, has_pod_level: bool
) -> tuple[Json, Quantities]:
    """Return `resources` and `allocatedResources` of a pod's status.

    While the pod runs, only compute resources and pod-level resources are reported.

    Args:
        spec: the pod's spec.
        phase: the phase at the API server.
        has_pod_level: whether a pod can ask for resources as a whole.
    """
    pod_level = canonical_resources(spec.get("resources") if has_pod_level else None)
    totals = {kind: _total(spec, kind, pod_level.get(kind, {})) for kind in _KINDS}
    allocated = totals["requests"]
    if phase == PodPhase.RUNNING:
        for kind, total in totals.items():
            named = pod_level.get(kind, {})
            compute = {name: total[name] for name in _COMPUTE & total.keys()}
            totals[kind] = {**named, **compute}
        cpu = totals["requests"].get(_CPU, "0")
        if parse_quantity(cpu) <= _LEAST_SHARES and _CPU not in pod_level.get(
            "requests", {}
        ):
            totals["requests"].pop(_CPU, None)
    return {kind: total for kind, total in totals.items() if total}, allocated


def _total(spec: Mapping[str, Any], kind: str, pod_level: Quantities) -> Quantities:
    """Return the sum of the requests or limits of a pod, with its overhead.

    Init containers run one after the other, beside the sidecars before them.
    """
    total: Quantities = {}
    for container in spec.get("containers") or ():
        _add(total, _read_quantities(container, kind))
    most: Quantities = {}
    sidecars: Quantities = {}
    for container in spec.get("initContainers") or ():
        amounts = _read_quantities(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(most, sidecars)
        else:
            _add(amounts, sidecars)
            _raise(most, amounts)
    _raise(total, most)
    total |= {
        name: value
        for name, value in pod_level.items()
        if name in _COMPUTE or name.startswith(_HUGE_PAGES)
    }
    overhead = _quantities(spec.get("overhead"))
    if kind == "limits":  # what is not limited is not limited by the overhead
        overhead = {
            name: value
            for name, value in overhead.items()
            if parse_quantity(total.get(name, "0"))
        }
    _add(total, overhead)
    return total


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _read_quantities(container: Mapping[str, Any], kind: str) -> Quantities:
    return _quantities((container.get("resources") or {}).get(kind))


def _quantities(written: Mapping[str, Any] | None) -> Quantities:
    return {
        name: canonical_quantity(str(amount))
        for name, amount in (written or {}).items()
    }


def _add(total: Quantities, more: Quantities) -> None:
    for name, value in more.items():
        total[name] = add_quantities(total[name], value) if name in total else value


def _raise(total: Quantities, least: Quantities) -> None:
    for name, value in least.items():
        if name not in total or parse_quantity(value) > parse_quantity(total[name]):
            total[name] = value
