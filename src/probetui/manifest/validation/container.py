"""The API server's rules for containers, init containers and sidecars.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateContainers,
validateInitContainers, validateContainerCommon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lightkube.models import core_v1
from msgspec import Struct

from probetui.k8s.api.quantity import parse_quantity
from probetui.k8s.pod import RESTART_ALL_CONTAINERS
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.environment import validate_environment
from probetui.manifest.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.probe import validate_lifecycle, validate_probes
from probetui.manifest.validation.volume import validate_mounts

PLAIN_INIT = "may not be set for init containers without restartPolicy=Always"
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_SIDECAR = "Always"
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_RESTART = "Restart"
_EXIT_CODE_OPERATORS = ("In", "NotIn")


class PodContext(Struct, frozen=True):
    """What the rules of containers need of the pod."""

    grace_seconds: int | None
    volumes: frozenset[str]
    strict_env_names: bool
    rules: KubeletRules = PORTED_RULES


def validate_containers(
    containers: list[core_v1.Container], path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    """Check the regular containers of a pod."""
    if not containers:
        yield required(path)
        return
    taken: set[str] = set()
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        yield from _common(container, at, pod_context)
        if container.name in taken:
            yield duplicate(f"{at}.name", container.name)
        taken.add(container.name)
        yield from _lifecycle_and_probes(container, at, pod_context)
        if pod_context.rules.container_restart_rules:
            yield from _restart_rules(container, at, pod_context.rules)
        elif container.restartPolicy is not None:
            detail = "may not be set for non-init containers"
            yield forbidden(f"{at}.restartPolicy", detail)
    yield from _host_ports(containers, path)


def validate_init_containers(
    containers: list[core_v1.Container],
    regular: Iterable[core_v1.Container],
    path: str,
    pod_context: PodContext,
) -> Iterator[FieldError]:
    """Check the init containers of a pod, sidecars among them."""
    taken = {container.name for container in regular}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        yield from _common(container, at, pod_context)
        policy = container.restartPolicy
        if pod_context.rules.container_restart_rules:
            yield from _restart_rules(container, at, pod_context.rules)
        elif policy is not None and policy != _SIDECAR:
            yield not_supported(f"{at}.restartPolicy", policy, (_SIDECAR,))
        if container.name in taken:
            yield duplicate(f"{at}.name", container.name)
        elif container.name:
            taken.add(container.name)
        yield from _host_ports([container], path)
        if policy == _SIDECAR:
            yield from _lifecycle_and_probes(container, at, pod_context)
        else:
            yield from _plain_init(container, at)


def _restart_rules(
    container: core_v1.Container, path: str, version: KubeletRules
) -> Iterator[FieldError]:
    """Check a container's restart policy and its rules.

    Source: pkg/apis/core/validation/validation.go, v1.36.2,
    validateContainerRestartPolicy.
    """
    policy, rules = container.restartPolicy, container.restartPolicyRules or []
    if policy is not None and policy not in RESTART_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, RESTART_POLICIES)
    if rules and policy is None:
        yield required(
            f"{path}.restartPolicy", "must specify restartPolicy when restart rules are"
        )
    everything = (RESTART_ALL_CONTAINERS,) if version.restart_all_containers else ()
    actions = (_RESTART, *everything)
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if rule.action not in actions:
            yield not_supported(f"{at}.action", rule.action, actions)
        codes = rule.exitCodes
        if codes is None:
            yield required(f"{at}.exitCodes", "must be specified")
        elif codes.operator not in _EXIT_CODE_OPERATORS:
            field = f"{at}.exitCodes.operator"
            yield not_supported(field, codes.operator, _EXIT_CODE_OPERATORS)


def validate_image_names(
    containers: Iterable[core_v1.Container], path: str
) -> Iterator[FieldError]:
    """Check the images of pods; templates of workloads are exempt.

    Source: validation.go, v1.32.10, validateContainersOnlyForPod.
    """
    for index, container in enumerate(containers):
        image = container.image or ""
        if image != image.strip():
            detail = "must not have leading or trailing whitespace"
            yield invalid(f"{path}[{index}].image", image, detail)


def _common(
    container: core_v1.Container, path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    if not container.name:
        yield required(f"{path}.name")
    else:
        found = names.check_label(container.name)
        yield from names.invalid_names(f"{path}.name", container.name, found)
    if not container.image:
        yield required(f"{path}.image")
    yield from _choice(
        container.terminationMessagePolicy,
        f"{path}.terminationMessagePolicy",
        _MESSAGE_POLICIES,
    )
    yield from _ports(container.ports or (), f"{path}.ports")
    yield from validate_environment(
        container, path, strict_names=pod_context.strict_env_names
    )
    yield from validate_mounts(container, f"{path}.volumeMounts", pod_context.volumes)
    yield from _choice(
        container.imagePullPolicy, f"{path}.imagePullPolicy", _PULL_POLICIES
    )
    if container.resources is not None:
        yield from _resources(container.resources, f"{path}.resources")
    yield from validate_ids(container.securityContext, f"{path}.securityContext")


def validate_ids(
    context: core_v1.SecurityContext | core_v1.PodSecurityContext | None, path: str
) -> Iterator[FieldError]:
    """Check the user and group of a security context."""
    if context is None:
        return
    for name, value in (
        ("runAsUser", context.runAsUser),
        ("runAsGroup", context.runAsGroup),
    ):
        if value is not None and not 0 <= value <= names.MAX_INT32:
            detail = f"must be between 0 and {names.MAX_INT32}, inclusive"
            yield invalid(f"{path}.{name}", value, detail)


def _lifecycle_and_probes(
    container: core_v1.Container, path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    if container.lifecycle is not None:
        yield from validate_lifecycle(
            container.lifecycle,
            pod_context.grace_seconds,
            f"{path}.lifecycle",
            pod_context.rules,
        )
    yield from validate_probes(container, path)


def _plain_init(container: core_v1.Container, path: str) -> Iterator[FieldError]:
    for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if getattr(container, name) is not None:
            yield forbidden(f"{path}.{name}", PLAIN_INIT)


def _choice(
    value: str | None, path: str, choices: tuple[str, ...]
) -> Iterator[FieldError]:
    if value not in choices:
        yield not_supported(path, value, choices)


def _ports(ports: Iterable[core_v1.ContainerPort], path: str) -> Iterator[FieldError]:
    taken: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            wrong = list(names.check_port_name(port.name))
            yield from names.invalid_names(f"{at}.name", port.name, iter(wrong))
            if not wrong and port.name in taken:
                yield duplicate(f"{at}.name", port.name)
            taken.add(port.name)
        if not port.containerPort:
            yield required(f"{at}.containerPort")
        else:
            found = names.check_port_number(port.containerPort)
            yield from names.invalid_names(
                f"{at}.containerPort", port.containerPort, found
            )
        if port.hostPort:
            found = names.check_port_number(port.hostPort)
            yield from names.invalid_names(f"{at}.hostPort", port.hostPort, found)
        yield from _choice(port.protocol, f"{at}.protocol", _PROTOCOLS)


def _host_ports(
    containers: Iterable[core_v1.Container], path: str
) -> Iterator[FieldError]:
    """Check that host ports are unique.

    Quirk, kept: in init containers the path has the container's index 0, because the
    API server checks them one by one.
    """
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports or ()):
            if not port.hostPort:
                continue
            key = f"{port.protocol}/{port.hostIP or ''}/{port.hostPort}"
            if key in taken:
                field = f"{path}[{index}].ports[{number}].hostPort"
                yield duplicate(field, key)
            taken.add(key)


def _resources(
    resources: core_v1.ResourceRequirements, path: str
) -> Iterator[FieldError]:
    """Check that quantities are not negative and requests not above their limits."""
    limits, requests = resources.limits or {}, resources.requests or {}
    for name, value in sorted(limits.items()):
        yield from _not_negative(value, f"{path}.limits[{name}]")
    for name, value in sorted(requests.items()):
        at = f"{path}.requests[{name}]"
        yield from _not_negative(value, at)
        limit = limits.get(name)
        if limit is not None and parse_quantity(value) > parse_quantity(limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield invalid(f"{path}.requests", value, detail)


def _not_negative(value: str, path: str) -> Iterator[FieldError]:
    if parse_quantity(value) < 0:
        yield invalid(path, value, "must be greater than or equal to 0")
