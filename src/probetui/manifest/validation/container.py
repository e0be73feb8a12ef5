"""The API server's rules for containers, init containers and sidecars.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateContainers,
validateInitContainers, validateContainerCommon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lightkube.models import core_v1
from msgspec import Struct

from probetui.k8s.pod import RESTART_ALL_CONTAINERS
from probetui.k8s.stop_signals import LINUX_STOP_SIGNALS, WINDOWS_STOP_SIGNALS
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.environment import validate_environment
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from probetui.manifest.validation.probe import validate_lifecycle, validate_probes
from probetui.manifest.validation.resources import (
    validate_resize_policy,
    validate_resources,
)
from probetui.manifest.validation.security import validate_container_security
from probetui.manifest.validation.volume import (
    Volumes,
    validate_devices,
    validate_mounts,
)
from probetui.manifest.validation.warnings import as_container

PLAIN_INIT = "may not be set for init containers without restartPolicy=Always"
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_SIDECAR = "Always"
_CONTAINER_POLICIES = ("Always", "Never", "OnFailure")
_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_NO_RULES = (
    "restartPolicyRules are not allowed for init containers with restart policy Always"
)
RESTART_POLICIES = ("Always", "OnFailure", "Never")
_RESTART = "Restart"
_RESTART_ON_RESIZE = "RestartContainer"
_POLICY_WITH_RULES = "must specify restartPolicy when restart rules are used"
_EXIT_CODE_OPERATORS = ("In", "NotIn")
_NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_UNSET = (None, core_v1.ResourceRequirements())
"""The values that Go omits; an empty list is not one of them."""
_NO_EPHEMERAL = "cannot be set for an Ephemeral Container"


class PodContext(Struct, frozen=True):
    """The properties of a pod that the rules of containers use."""

    grace_seconds: int | None
    volumes: Volumes
    strict_env_names: bool
    rules: KubeletRules = PORTED_RULES
    claims: frozenset[str] = frozenset()
    restart_policy: str = "Always"
    host_users: bool = True
    os_name: str = ""


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


def validate_ephemeral_containers(
    spec: core_v1.PodSpec, path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    """Check ephemeral containers, which a new pod may not have."""
    others = {other.name for other in (*spec.containers, *(spec.initContainers or ()))}
    taken = set(others)
    for index, ephemeral in enumerate(spec.ephemeralContainers or ()):
        at = f"{path}[{index}]"
        container = as_container(ephemeral)
        yield from _common(container, at, pod_context)
        yield from _image_name(container, at)
        if ephemeral.name in taken:
            yield duplicate(f"{at}.name", ephemeral.name)
        taken.add(ephemeral.name)
        target = ephemeral.targetContainerName
        if target and target not in others:
            yield not_found(f"{at}.targetContainerName", target)
        for name in _NOT_EPHEMERAL:
            if getattr(ephemeral, name) not in _UNSET:
                yield forbidden(f"{at}.{name}", _NO_EPHEMERAL)
        for number, mount in enumerate(ephemeral.volumeMounts or ()):
            for name in ("subPath", "subPathExpr"):
                if getattr(mount, name):
                    field = f"{at}.volumeMounts[{number}].{name}"
                    yield forbidden(field, _NO_EPHEMERAL)


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
        yield from _init_policy(container, at, pod_context.rules)
        if container.name in taken:
            yield duplicate(f"{at}.name", container.name)
        elif container.name:
            taken.add(container.name)
        yield from _host_ports([container], path)
        if policy == _SIDECAR:
            yield from _lifecycle_and_probes(container, at, pod_context)
        else:
            yield from _plain_init(container, at)
        yield from _init_resize(container, f"{at}.resizePolicy", pod_context.rules)


def _init_resize(
    container: core_v1.Container, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the resize policies of an init container."""
    policies = container.resizePolicy or ()
    if policies and not rules.init_resize_policies:
        detail = "must not be set for init containers"
        yield invalid(path, GoSyntax("[]core.ContainerResizePolicy{...}"), detail)
    if not rules.refuses_init_restart or container.restartPolicy == _SIDECAR:
        return
    for index, policy in enumerate(policies):
        if policy.restartPolicy == _RESTART_ON_RESIZE:
            detail = f"must not be set to '{_RESTART_ON_RESIZE}' for non-sidecar"
            field = f"{path}[{index}].restartPolicy"
            yield invalid(field, policy.restartPolicy, f"{detail} initContainers")


def _init_policy(
    container: core_v1.Container, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the restart policy of an init container, and its rules.

    Source: pkg/apis/core/validation/validation.go, v1.36.2,
    validateInitContainerRestartPolicy.
    """
    policy, has_rules = container.restartPolicy, bool(container.restartPolicyRules)
    if policy is None:
        if has_rules:
            yield required(f"{path}.restartPolicy", _POLICY_WITH_RULES)
    elif not rules.container_restart_rules:
        if policy != _SIDECAR:
            yield not_supported(f"{path}.restartPolicy", policy, (_SIDECAR,))
    elif policy != _SIDECAR or rules.restart_all_containers:
        yield from _restart_rules(container, path, rules)
    elif has_rules:
        yield forbidden(f"{path}.restartPolicyRules", _NO_RULES)


def _restart_rules(
    container: core_v1.Container, path: str, version: KubeletRules
) -> Iterator[FieldError]:
    """Check a container's restart policy and its rules.

    Source: pkg/apis/core/validation/validation.go, v1.36.2,
    validateContainerRestartPolicy.
    """
    policy, rules = container.restartPolicy, container.restartPolicyRules or []
    if policy is not None and policy not in _CONTAINER_POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _CONTAINER_POLICIES)
    if rules and policy is None:
        yield required(f"{path}.restartPolicy", _POLICY_WITH_RULES)
    if len(rules) > _MAX_RULES:
        yield too_many(f"{path}.restartPolicyRules", len(rules), _MAX_RULES)
    everything = (RESTART_ALL_CONTAINERS,) if version.restart_all_containers else ()
    actions = (_RESTART, *everything)
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if rule.action not in actions:
            yield not_supported(f"{at}.action", rule.action, actions)
        codes = rule.exitCodes
        if codes is None:
            yield required(f"{at}.exitCodes", "must be specified")
            continue
        if codes.operator not in _EXIT_CODE_OPERATORS:
            field = f"{at}.exitCodes.operator"
            yield not_supported(field, codes.operator, _EXIT_CODE_OPERATORS)
        count = len(codes.values or ())
        if count > _MAX_EXIT_CODES:
            yield too_many(f"{at}.exitCodes.values", count, _MAX_EXIT_CODES)


def validate_image_names(
    containers: Iterable[core_v1.Container], path: str
) -> Iterator[FieldError]:
    """Check the images of pods; templates of workloads are exempt.

    Source: validation.go, v1.32.10, validateContainersOnlyForPod.
    """
    for index, container in enumerate(containers):
        yield from _image_name(container, f"{path}[{index}]")


def _image_name(container: core_v1.Container, path: str) -> Iterator[FieldError]:
    image = container.image or ""
    if image != names.trim_space(image):
        detail = "must not have leading or trailing whitespace"
        yield invalid(f"{path}.image", image, detail)


def _common(
    container: core_v1.Container, path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    if not container.name:
        yield required(f"{path}.name")
    else:
        errors = names.check_label(container.name)
        yield from names.invalid_names(f"{path}.name", container.name, errors)
    if not container.image:
        yield required(f"{path}.image")
    yield from _choice(
        container.terminationMessagePolicy,
        f"{path}.terminationMessagePolicy",
        _MESSAGE_POLICIES,
    )
    yield from _ports(container.ports or (), f"{path}.ports")
    yield from validate_environment(
        container,
        path,
        strict_names=(
            pod_context.strict_env_names or not pod_context.rules.relaxed_env_names
        ),
        rules=pod_context.rules,
    )
    yield from validate_mounts(
        container, f"{path}.volumeMounts", pod_context.volumes, pod_context.rules
    )
    yield from validate_devices(container, f"{path}.volumeDevices", pod_context.volumes)
    yield from _choice(
        container.imagePullPolicy, f"{path}.imagePullPolicy", _PULL_POLICIES
    )
    yield from validate_resources(
        container.resources, pod_context.claims, f"{path}.resources"
    )
    yield from validate_resize_policy(
        container.resizePolicy or (),
        pod_context.restart_policy,
        f"{path}.resizePolicy",
        pod_context.rules,
    )
    yield from validate_container_security(
        container.securityContext,
        f"{path}.securityContext",
        host_users=pod_context.host_users,
    )


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
        yield from _stop_signal(container.lifecycle, path, pod_context)
    yield from validate_probes(container, path)


def _stop_signal(
    lifecycle: core_v1.Lifecycle, path: str, pod_context: PodContext
) -> Iterator[FieldError]:
    """Check the stop signal, which depends on the pod's operating system.

    Source: pkg/apis/core/validation/validation.go, v1.36.2, validateStopSignal.
    """
    if lifecycle.stopSignal is None:
        return
    field = f"{path}.lifecycle.stopSignal"
    if not pod_context.os_name:
        detail = "may not be set for containers with empty `spec.os.name`"
        yield forbidden(field, detail)
        return
    is_windows = pod_context.os_name == "windows"
    known = WINDOWS_STOP_SIGNALS if is_windows else tuple(LINUX_STOP_SIGNALS)
    if lifecycle.stopSignal not in known:
        yield not_supported(field, lifecycle.stopSignal, tuple(sorted(known)))


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
            elif not wrong:
                taken.add(port.name)
        if not port.containerPort:
            yield required(f"{at}.containerPort")
        else:
            errors = names.check_port_number(port.containerPort)
            yield from names.invalid_names(
                f"{at}.containerPort", port.containerPort, errors
            )
        if port.hostPort:
            errors = names.check_port_number(port.hostPort)
            yield from names.invalid_names(f"{at}.hostPort", port.hostPort, errors)
        yield from _choice(port.protocol, f"{at}.protocol", _PROTOCOLS)


def _host_ports(
    containers: Iterable[core_v1.Container], path: str
) -> Iterator[FieldError]:
    """Check that host ports are unique.

    Quirk, kept: in init containers the path has the container's index 0, because the
    API server checks them one by one.
    """
    used: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports or ()):
            if not port.hostPort:
                continue
            key = f"{port.protocol}/{port.hostIP or ''}/{port.hostPort}"
            if key in used:
                field = f"{path}[{index}].ports[{number}].hostPort"
                yield duplicate(field, key)
            used.add(key)
