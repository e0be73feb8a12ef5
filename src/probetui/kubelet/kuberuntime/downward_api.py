"""The downward API: fields, requests and limits of a pod as text.

Source: kubelet/kubelet_pods.go, podFieldSelectorRuntimeValue; pkg/fieldpath/
fieldpath.go, ExtractFieldPathAsString; pkg/api/v1/resource/helpers.go,
ExtractContainerResourceValue; v1.32.10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from probetui.k8s.environment import FieldRef, ResourceFieldRef
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import Node
from probetui.kubelet.object_store import ConfigRefusal
from probetui.kubelet.runtime.go_format import go_quote

_SUBSCRIPTED = re.compile(r"(metadata\.(?:annotations|labels))\['(.*)'\]", re.DOTALL)
_MILLI = Decimal(1000)
_ONE = Decimal(1)
_NONE = Decimal()
_ALLOCATABLE = ("cpu", "memory", "ephemeral-storage")
"""The resources that default to the node's capacity for a container without a limit."""


class PodLocation(Struct, frozen=True):
    """Where a pod runs: its node and addresses.

    A pod in the network of its node has the node's addresses.
    """

    node: Node
    pod_ips: tuple[str, ...] = ()


def pod_field(pod: Pod, ref: FieldRef, location: PodLocation) -> str | ConfigRefusal:
    """Return a field of a pod as the value of a variable."""
    match ref.field_path:
        case "spec.nodeName" | "spec.host":
            return location.node.name
        case "spec.serviceAccountName":
            return pod.service_account_name
        case "status.hostIP" | "status.hostIPs":
            return location.node.ip
        case "status.podIP":
            return location.pod_ips[0] if location.pod_ips else ""
        case "status.podIPs":
            return ",".join(location.pod_ips)
        case _:
            return metadata_field(pod, ref)


def metadata_field(pod: Pod, ref: FieldRef) -> str | ConfigRefusal:
    """Return a field of a pod's metadata; files support only these.

    A label or annotation that the pod does not have is empty.
    """
    if subscripted := _SUBSCRIPTED.fullmatch(ref.field_path):
        what, key = subscripted.groups()
        mapping = pod.labels if what == "metadata.labels" else pod.annotations
        return mapping.get(key, "")
    match ref.field_path:
        case "metadata.annotations":
            return format_map(pod.annotations)
        case "metadata.labels":
            return format_map(pod.labels)
        case "metadata.name":
            return pod.name
        case "metadata.namespace":
            return pod.namespace
        case "metadata.uid":
            return pod.uid
        case other:
            return ConfigRefusal(f"unsupported fieldPath: {other}")


def format_map(mapping: Mapping[str, str]) -> str:
    """Format labels or annotations as lines `key="value"`, sorted by key."""
    return "\n".join(f"{key}={go_quote(mapping[key])}" for key in sorted(mapping))


def container_resource(
    pod: Pod, container: Container | None, ref: ResourceFieldRef, node: Node
) -> str | ConfigRefusal:
    """Return a request or limit in units of the divisor, rounded up.

    Without a limit, a container may use all of the node's capacity. `container` is the
    one with the reference, None for a volume's file, which must name one.
    """
    if ref.container_name or container is None:
        container = pod.container(ref.container_name)
        if container is None:
            return ConfigRefusal(f"container {ref.container_name} not found")
    kind, _, resource = ref.resource.partition(".")
    is_known = resource in _ALLOCATABLE or resource.startswith("hugepages-")
    if kind not in {"limits", "requests"} or not is_known:
        return ConfigRefusal(f"Unsupported container resource : {ref.resource}")
    if kind == "requests":
        amount = container.resources.requests.get(resource, _NONE)
    else:
        amount = container.resources.limits.get(resource, _NONE)
        if not amount and resource in _ALLOCATABLE:
            amount = node.allocatable.get(resource, _NONE)
    divisor = ref.divisor or _ONE
    if resource == "cpu":
        amount, divisor = amount * _MILLI, divisor * _MILLI
    return str(_divide_up(_whole(amount), _whole(divisor)))


def _whole(amount: Decimal) -> int:
    """Return a quantity in whole units, rounded up as in Go."""
    numerator, denominator = amount.as_integer_ratio()
    return _divide_up(numerator, denominator)


def _divide_up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)
