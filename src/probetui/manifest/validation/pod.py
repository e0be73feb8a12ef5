"""The API server's rules for new pods.

Rules about scheduling (affinity, topology, gates, classes) are left out.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidatePodCreate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from lightkube.models import core_v1, meta_v1

from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.container import (
    RESTART_POLICIES,
    PodContext,
    validate_containers,
    validate_ids,
    validate_image_names,
    validate_init_containers,
)
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.volume import validate_volumes

_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_ANNOTATION_BYTES = 256 * 1024


def validate_pod(
    pod: core_v1.Pod,
    *,
    strict_env_names: bool = False,
    rules: KubeletRules = PORTED_RULES,
) -> Iterator[FieldError]:
    """Yield every rule that a defaulted pod breaks, in the API server's order.

    `strict_env_names` selects the kubelet's rule for pod files, `rules` are those of
    the version.
    """
    metadata = pod.metadata or meta_v1.ObjectMeta()
    spec = pod.spec or core_v1.PodSpec(containers=[])
    yield from _metadata(metadata, "metadata")
    yield from _spec(spec, rules, strict_env_names=strict_env_names)
    yield from validate_image_names(spec.containers, "spec.containers")
    yield from validate_image_names(spec.initContainers or (), "spec.initContainers")
    if spec.ephemeralContainers:
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")


def _metadata(metadata: meta_v1.ObjectMeta, path: str) -> Iterator[FieldError]:
    if not metadata.name:
        yield required(f"{path}.name", "name or generateName is required")
    else:
        found = names.check_subdomain(metadata.name)
        yield from names.invalid_names(f"{path}.name", metadata.name, found)
    namespace = metadata.namespace or "default"
    found = names.check_label(namespace)
    yield from names.invalid_names(f"{path}.namespace", namespace, found)
    yield from _labels(metadata.labels or {}, f"{path}.labels")
    yield from _annotations(metadata.annotations or {}, f"{path}.annotations")


def _labels(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key, value in sorted(labels.items()):
        yield from names.invalid_names(path, key, names.check_qualified_name(key))
        yield from names.invalid_names(path, value, names.check_label_value(value))


def _annotations(annotations: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for key in sorted(annotations):
        yield from names.invalid_names(
            path, key, names.check_qualified_name(key.lower())
        )
    texts = chain(annotations.keys(), annotations.values())
    if sum(len(text.encode("utf-8", "replace")) for text in texts) > (
        _MAX_ANNOTATION_BYTES
    ):
        yield too_long(path, f"may not be more than {_MAX_ANNOTATION_BYTES} bytes")


def _spec(
    spec: core_v1.PodSpec, rules: KubeletRules, *, strict_env_names: bool
) -> Iterator[FieldError]:
    volumes: set[str] = set()
    yield from validate_volumes(spec.volumes or (), "spec.volumes", volumes)
    grace = spec.terminationGracePeriodSeconds
    pod_context = PodContext(grace, frozenset(volumes), strict_env_names, rules)
    yield from validate_containers(spec.containers, "spec.containers", pod_context)
    yield from validate_init_containers(
        spec.initContainers or [], spec.containers, "spec.initContainers", pod_context
    )
    if spec.hostNetwork:
        yield from _host_network_ports(spec.containers)
    if spec.restartPolicy not in RESTART_POLICIES:
        yield not_supported("spec.restartPolicy", spec.restartPolicy, RESTART_POLICIES)
    if spec.dnsPolicy not in _DNS_POLICIES:
        yield not_supported("spec.dnsPolicy", spec.dnsPolicy, _DNS_POLICIES)
    yield from _labels(spec.nodeSelector or {}, "spec.nodeSelector")
    yield from validate_ids(spec.securityContext, "spec.securityContext")
    for index, gate in enumerate(spec.readinessGates or ()):
        found = names.check_qualified_name(gate.conditionType)
        field = f"spec.readinessGates[{index}].conditionType"
        yield from names.invalid_names(field, gate.conditionType, found)
    yield from _names_and_deadline(spec)
    yield from _tolerations(spec.tolerations or (), "spec.tolerations")


def _names_and_deadline(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check references by name, and the deadline, in the API server's order."""
    for field, value in (
        ("spec.serviceAccountName", spec.serviceAccountName),
        ("spec.nodeName", spec.nodeName),
    ):
        if value:
            yield from names.invalid_names(field, value, names.check_subdomain(value))
    deadline = spec.activeDeadlineSeconds
    if deadline is not None and not 1 <= deadline <= names.MAX_INT32:
        detail = f"must be between 1 and {names.MAX_INT32}, inclusive"
        yield invalid("spec.activeDeadlineSeconds", deadline, detail)
    for field, value in (
        ("spec.hostname", spec.hostname),
        ("spec.subdomain", spec.subdomain),
    ):
        if value:
            yield from names.invalid_names(field, value, names.check_label(value))


def _host_network_ports(
    containers: Iterable[core_v1.Container],
) -> Iterator[FieldError]:
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports or ()):
            if port.hostPort != port.containerPort:
                yield invalid(
                    f"spec.containers[{index}].ports[{number}].hostPort",
                    port.hostPort or 0,
                    "must match `containerPort` when `hostNetwork` is true",
                )


def _tolerations(
    tolerations: Iterable[core_v1.Toleration], path: str
) -> Iterator[FieldError]:
    for index, toleration in enumerate(tolerations):
        at, operator = f"{path}[{index}]", toleration.operator or ""
        if toleration.key:
            found = names.check_qualified_name(toleration.key)
            yield from names.invalid_names(f"{at}.key", toleration.key, found)
        elif operator != "Exists":
            yield invalid(
                f"{at}.operator",
                operator,
                "operator must be Exists when `key` is empty, which means"
                ' "match all values and all keys"',
            )
        if operator not in {"", "Equal", "Exists"}:
            yield not_supported(f"{at}.operator", operator, ("Equal", "Exists"))
