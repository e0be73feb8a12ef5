"""Resources of a pod's spec, as the status of the pod and of its containers has them.

They are read and written as the API server's JSON, so that a quantity keeps its form.

Difference: a kubelet reads back what the cgroups of a running pod and of its containers
have. There is no cgroup of a pod here, and nothing is resized: the status has what was
asked for, which is what a cgroup of version 1 gives back.

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
"""CPU in cores that a cgroup always has; as much or less is not read back.

Source: kubelet/cm/helpers_linux.go, v1.36, MinShares.
"""


def container_resources(spec: Mapping[str, Any]) -> Mapping[str, Json]:
    """Return the resources of each container of a pod's spec, by its name."""
    return {
        container["name"]: canonical_resources(container.get("resources"))
        for container in _containers(spec)
    }


def canonical_resources(resources: Mapping[str, Any] | None) -> Json:
    """Return resources with quantities as an API server writes them, without empty."""
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

    While the pod runs, only compute resources are reported, and what the pod asks for
    as a whole.

    Args:
        spec: the pod's spec.
        phase: the phase at the API server.
        has_pod_level: whether a pod can ask for resources as a whole.
    """
    own = canonical_resources(spec.get("resources") if has_pod_level else None)
    totals = {kind: _total(spec, kind, own.get(kind, {})) for kind in _KINDS}
    allocated = totals["requests"]
    if phase == PodPhase.RUNNING:
        for kind, total in totals.items():
            named = own.get(kind, {})
            compute = {name: total[name] for name in _COMPUTE & total.keys()}
            totals[kind] = {**named, **compute}
        cpu = totals["requests"].get(_CPU, "0")
        if parse_quantity(cpu) <= _LEAST_SHARES and _CPU not in own.get("requests", {}):
            totals["requests"].pop(_CPU, None)
    return {kind: total for kind, total in totals.items() if total}, allocated


def _total(spec: Mapping[str, Any], kind: str, own: Quantities) -> Quantities:
    """Return the sum of the requests or limits of a pod, with its overhead.

    Init containers run one after the other, beside the sidecars before them.
    """
    total: Quantities = {}
    for container in spec.get("containers") or ():
        _add(total, _read_quantities(container, kind))
    most: Quantities = {}
    sidecars: Quantities = {}
    for container in spec.get("initContainers") or ():
        asked = _read_quantities(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, asked)
            _add(sidecars, asked)
            _raise(most, sidecars)
        else:
            _add(asked, sidecars)
            _raise(most, asked)
    _raise(total, most)
    total |= {name: value for name, value in own.items() if _is_of_pods(name)}
    overhead = _quantities(spec.get("overhead"))
    if kind == "limits":  # what is not limited is not limited by the overhead
        overhead = {
            name: value
            for name, value in overhead.items()
            if parse_quantity(total.get(name, "0"))
        }
    _add(total, overhead)
    return total


def _is_of_pods(name: str) -> bool:
    """Return whether a pod can ask for a resource as a whole."""
    return name in _COMPUTE or name.startswith(_HUGE_PAGES)


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _read_quantities(container: Mapping[str, Any], kind: str) -> Quantities:
    return _quantities((container.get("resources") or {}).get(kind))


def _quantities(written: Mapping[str, Any] | None) -> Quantities:
    return {name: canonical_quantity(str(it)) for name, it in (written or {}).items()}


def _add(total: Quantities, more: Quantities) -> None:
    for name, value in more.items():
        total[name] = add_quantities(total[name], value) if name in total else value


def _raise(total: Quantities, least: Quantities) -> None:
    for name, value in least.items():
        if name not in total or parse_quantity(value) > parse_quantity(total[name]):
            total[name] = value
