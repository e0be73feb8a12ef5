"""The API server's rules for containers, init containers and sidecars.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateContainers,
validateInitContainers, validateContainerCommon, validateContainersOnlyForPod; v1.36.2,
validateContainerRestartPolicy, validateInitContainerRestartPolicy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from lightkube.models import core_v1

from probetui.k8s.pod import RESTART_ALL_CONTAINERS
from probetui.manifest.validation import names
from probetui.manifest.validation.environment import ENVIRONMENT
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.probe import LIFECYCLE_AND_PROBES
from probetui.manifest.validation.resources import RESIZE_POLICIES, RESOURCES
from probetui.manifest.validation.rules import (
    Always,
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Required,
    Rules,
    Unindexed,
    When,
    absent,
    at_most,
    check,
    choice,
    in_context,
    must,
    unique,
    valid,
)
from probetui.manifest.validation.security import SECURITY_CONTEXT
from probetui.manifest.validation.volume import MOUNTS_AND_DEVICES

PLAIN_INIT = "may not be set for init containers without restartPolicy=Always"
_SIDECAR = "Always"
_MAX_RULES = 20
_MAX_EXIT_CODES = 255
_NO_RULES = (
    "restartPolicyRules are not allowed for init containers with restart policy Always"
)
_RESTART = "Restart"
_RESTART_ON_RESIZE = "RestartContainer"
_POLICY_WITH_RULES = "must specify restartPolicy when restart rules are used"
_NOT_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_UNSET = (None, core_v1.ResourceRequirements())
"""The values that Go omits; an empty list is not one of them."""
_NO_EPHEMERAL = "cannot be set for an Ephemeral Container"


def _port_names(
    _owner: core_v1.Container, _context: PodContext
) -> Callable[[core_v1.ContainerPort], Errors]:
    """Check that ports have different names; only valid ones count."""
    taken: set[str] = set()

    def find(port: core_v1.ContainerPort) -> Iterator[FieldError]:
        if not port.name or any(names.check_port_name(port.name)):
            return
        if port.name in taken:
            yield duplicate("name", port.name)
        taken.add(port.name)

    return find


_IMAGE_NAME = Always(
    "image",
    must(
        lambda image: (image or "") == names.trim_space(image or ""),
        "must not have leading or trailing whitespace",
    ),
)
_COMMON = Rules(
    core_v1.Container | core_v1.EphemeralContainer,
    Required("name", valid(names.check_label)),
    Required("image"),
    Always("terminationMessagePolicy", choice("File", "FallbackToLogsOnError")),
    Each(
        "ports",
        IfFilled("name", valid(names.check_port_name)),
        Remembering(_port_names),
        Required("containerPort", valid(names.check_port_number)),
        IfFilled("hostPort", valid(names.check_port_number)),
        Always("protocol", choice("SCTP", "TCP", "UDP")),
    ),
    ENVIRONMENT,
    MOUNTS_AND_DEVICES,
    Always("imagePullPolicy", choice("Always", "IfNotPresent", "Never")),
    IfSet("resources", RESOURCES),
    RESIZE_POLICIES,
    IfSet("securityContext", SECURITY_CONTEXT),
)
"""The rules of every container."""


def _policy_with_rules(container: core_v1.Container) -> Iterator[FieldError]:
    if container.restartPolicyRules and container.restartPolicy is None:
        yield required("restartPolicy", _POLICY_WITH_RULES)


@in_context
def _rule_action(action: str, context: PodContext) -> Errors:
    restarts_all = context.version.restart_all_containers
    everything = (RESTART_ALL_CONTAINERS,) if restarts_all else ()
    return choice(_RESTART, *everything)(action)


_RESTART_RULES = Rules(
    core_v1.Container,
    IfSet("restartPolicy", choice("Always", "Never", "OnFailure")),
    _policy_with_rules,
    IfFilled("restartPolicyRules", at_most(_MAX_RULES)),
    Each(
        "restartPolicyRules",
        Always("action", _rule_action),
        Required(
            "exitCodes",
            Rules(
                core_v1.ContainerRestartRuleOnExitCodes,
                Always("operator", choice("In", "NotIn")),
                IfFilled("values", at_most(_MAX_EXIT_CODES)),
            ),
            detail="must be specified",
        ),
    ),
)


def _repeated_host_ports(
    containers: Iterable[core_v1.Container], path: str = ""
) -> Iterator[FieldError]:
    used: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.ports or ()):
            if not port.hostPort:
                continue
            key = f"{port.protocol}/{port.hostIP or ''}/{port.hostPort}"
            if key in used:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", key)
            used.add(key)


def _unique_host_ports(spec: core_v1.PodSpec) -> Errors:
    return _repeated_host_ports(spec.containers, "containers")


def _unique_own_host_ports(container: core_v1.Container) -> Errors:
    """Check that an init container has no host port twice.

    Quirk, kept: the path has the index 0, because the API server checks init containers
    one by one.
    """
    return _repeated_host_ports([container])


CONTAINERS = Rules(
    core_v1.PodSpec,
    Required("containers"),
    Each(
        "containers",
        _COMMON,
        unique("name"),
        LIFECYCLE_AND_PROBES,
        When(lambda context: context.version.container_restart_rules, _RESTART_RULES),
        When(
            lambda context: not context.version.container_restart_rules,
            IfSet("restartPolicy", absent("may not be set for non-init containers")),
        ),
    ),
    _unique_host_ports,
)


@in_context
def _init_policy(
    container: core_v1.Container, context: PodContext
) -> Iterator[FieldError]:
    """Check the restart policy of an init container, and its rules."""
    policy, has_rules = container.restartPolicy, bool(container.restartPolicyRules)
    if policy is None:
        yield from _policy_with_rules(container)
    elif not context.version.container_restart_rules:
        if policy != _SIDECAR:
            yield not_supported("restartPolicy", policy, (_SIDECAR,))
    elif policy != _SIDECAR or context.version.restart_all_containers:
        yield from check(_RESTART_RULES, container, context)
    elif has_rules:
        yield forbidden("restartPolicyRules", _NO_RULES)


def _init_names(
    spec: core_v1.PodSpec, _: PodContext
) -> Callable[[core_v1.Container], Errors]:
    taken = {container.name for container in spec.containers}

    def find(container: core_v1.Container) -> Iterator[FieldError]:
        if container.name in taken:
            yield duplicate("name", container.name)
        elif container.name:
            taken.add(container.name)

    return find


_PLAIN_INIT_CONTAINER = Rules(
    core_v1.Container,
    IfSet("lifecycle", absent(PLAIN_INIT)),
    IfSet("livenessProbe", absent(PLAIN_INIT)),
    IfSet("readinessProbe", absent(PLAIN_INIT)),
    IfSet("startupProbe", absent(PLAIN_INIT)),
)


@in_context
def _sidecar_only(container: core_v1.Container, context: PodContext) -> Errors:
    is_sidecar = container.restartPolicy == _SIDECAR
    table = LIFECYCLE_AND_PROBES if is_sidecar else _PLAIN_INIT_CONTAINER
    return check(table, container, context)


@in_context
def _init_resize(
    container: core_v1.Container, context: PodContext
) -> Iterator[FieldError]:
    """Check the resize policies of an init container."""
    policies, version = container.resizePolicy or (), context.version
    if policies and not version.init_resize_policies:
        value = GoSyntax("[]core.ContainerResizePolicy{...}")
        yield invalid("resizePolicy", value, "must not be set for init containers")
    if not version.refuses_init_restart or container.restartPolicy == _SIDECAR:
        return
    for index, policy in enumerate(policies):
        if policy.restartPolicy == _RESTART_ON_RESIZE:
            detail = f"must not be set to '{_RESTART_ON_RESIZE}' for non-sidecar"
            at = f"resizePolicy[{index}].restartPolicy"
            yield invalid(at, policy.restartPolicy, f"{detail} initContainers")


INIT_CONTAINERS = Rules(
    core_v1.PodSpec,
    Each(
        "initContainers",
        _COMMON,
        _init_policy,
        Remembering(_init_names),
        Unindexed(_unique_own_host_ports),
        _sidecar_only,
        _init_resize,
    ),
)


def _ephemeral_names(
    spec: core_v1.PodSpec, _: PodContext
) -> Callable[[core_v1.EphemeralContainer], Errors]:
    others = {other.name for other in (*spec.containers, *(spec.initContainers or ()))}
    taken = set(others)

    def find(container: core_v1.EphemeralContainer) -> Iterator[FieldError]:
        if container.name in taken:
            yield duplicate("name", container.name)
        taken.add(container.name)
        target = container.targetContainerName
        if target and target not in others:
            yield not_found("targetContainerName", target)

    return find


def _not_ephemeral(container: core_v1.EphemeralContainer) -> Iterator[FieldError]:
    for name in _NOT_EPHEMERAL:
        if getattr(container, name) not in _UNSET:
            yield forbidden(name, _NO_EPHEMERAL)


EPHEMERAL_CONTAINERS = Rules(
    core_v1.PodSpec,
    Each(
        "ephemeralContainers",
        _COMMON,
        _IMAGE_NAME,
        Remembering(_ephemeral_names),
        _not_ephemeral,
        Each(
            "volumeMounts",
            IfFilled("subPath", absent(_NO_EPHEMERAL)),
            IfFilled("subPathExpr", absent(_NO_EPHEMERAL)),
        ),
    ),
)
IMAGE_NAMES = Rules(
    core_v1.PodSpec,
    Each("containers", _IMAGE_NAME),
    Each("initContainers", _IMAGE_NAME),
)
"""The rules of images in pods; templates of workloads are exempt."""
