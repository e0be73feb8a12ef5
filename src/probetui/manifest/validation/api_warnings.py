"""The API server's warnings about valid pods, in its order.

Source: pkg/api/pod/warnings.go, v1.32.10, GetWarningsForPod;
pkg/api/node/util.go, v1.32.10, deprecatedNodeLabels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lightkube.models import core_v1, meta_v1

from probetui.k8s.api.quantity import canonical_quantity, is_whole, parse_quantity
from probetui.kubelet_rules import PORTED_RULES, KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation.field_error import (
    AnnotationWarning,
    ApiWarning,
    annotation_warning,
)
from probetui.manifest.validation.names import check_label, check_label_value
from probetui.manifest.validation.rules import (
    Always,
    Context,
    Each,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Rules,
    WarningCheck,
    Warnings,
    When,
    deprecated,
    find_warnings,
    in_context,
)
from probetui.manifest.validation.warnings import APP_ARMOR, containers_with_paths

_NODE_LABELS = {
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "beta.kubernetes.io/arch": (
        'deprecated since v1.14; use "kubernetes.io/arch" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "node-role.kubernetes.io/master": (
        'use "node-role.kubernetes.io/control-plane" instead'
    ),
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
}
_SYSCTLS = 'non-functional in v1.11+; use the "sysctls" field instead'
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_VOLUMES = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""The volume plugins that were removed, in the API server's order."""

_VOLUME_PATHS = {"storageos": "storageOS"}
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_BYTES = ("memory", "ephemeral-storage")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_COMPARED = 20
"""A port is compared with at most this many others of its number, so that the output
stays linear."""


class WarningContext(PodContext):
    """What the rules of a warning may know: the annotations, and the use of the name.

    `named_after` is in the API server's words, empty if it does not warn of the name.
    """

    annotations: Mapping[str, str] = {}
    named_after: str = ""


def find_api_warnings(
    pod: core_v1.Pod,
    rules: KubeletRules = PORTED_RULES,
    *,
    named_after: str = "the Pod's hostname",
) -> Warnings:
    """Return the warnings about a valid pod, in the API server's order.

    `named_after` is the use of the name in the API server's words, empty if it does not
    warn of the name.
    """
    if pod.spec is None:
        return ()
    context = WarningContext(
        rules,
        pod.spec,
        (pod.metadata.name or "") if pod.metadata else "",
        annotations=(pod.metadata.annotations or {}) if pod.metadata else {},
        named_after=named_after,
    )
    warnings: list[ApiWarning] = find_warnings(POD_WARNINGS, pod, context)
    return warnings


def _node_selector(selector: Mapping[str, str]) -> Iterator[ApiWarning]:
    for label in sorted(selector):
        if label in _NODE_LABELS:
            yield ApiWarning(f"[{label}]", _NODE_LABELS[label])


def _node_label(label: str) -> Iterator[ApiWarning]:
    if label in _NODE_LABELS:
        yield ApiWarning("", f"{label} is {_NODE_LABELS[label]}")


def _label_value(value: str) -> Iterator[ApiWarning]:
    """Warn of a value that no label can have."""
    for error in check_label_value(value):
        yield ApiWarning("", f"{value} is invalid, {error}")


def _no_selector(selector: meta_v1.LabelSelector | None) -> Iterator[ApiWarning]:
    if selector is None:
        yield ApiWarning("", "a null labelSelector results in matching no pod")


def _git_repo(
    _: core_v1.GitRepoVolumeSource, context: WarningContext
) -> Iterator[ApiWarning]:
    yield ApiWarning("", context.version.git_repo_warning)


def _whole_bytes(*names: str) -> WarningCheck:
    """Return the check of amounts that must not have fractions of a byte."""

    def find(amounts: Mapping[str, str]) -> Iterator[ApiWarning]:
        for name in names:
            value = amounts.get(name)
            if value is not None and not is_whole(parse_quantity(value)):
                shown = quote(canonical_quantity(value))
                text = f"fractional byte value {shown} is invalid, must be an integer"
                yield ApiWarning(f"[{name}]", text)

    return find


def _annotations(annotations: Mapping[str, str]) -> Iterator[ApiWarning]:
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield ApiWarning(f"[{key}]", text)


def _pod_seccomp(spec: core_v1.PodSpec, context: WarningContext) -> Warnings:
    return _seccomp(_SECCOMP_POD, spec.securityContext, context)


def _container_seccomp(
    container: core_v1.Container, context: WarningContext
) -> Warnings:
    key = f"{_SECCOMP_CONTAINER}{container.name}"
    return _seccomp(key, container.securityContext, context)


def _seccomp(
    key: str,
    security: core_v1.PodSecurityContext | core_v1.SecurityContext | None,
    context: WarningContext,
) -> Iterator[AnnotationWarning]:
    """Warn of an annotation whose field is not set."""
    if key in context.annotations and (
        security is None or security.seccompProfile is None
    ):
        yield annotation_warning(key, _SECCOMP)


def _app_armor(
    spec: core_v1.PodSpec, context: WarningContext
) -> Iterator[AnnotationWarning]:
    """Yield annotations of AppArmor profiles that should be fields.

    An annotation that equals the pod's field is ignored.
    """
    annotations = context.annotations
    if context.os_name == "windows":
        return
    if not any(key.startswith(APP_ARMOR) for key in annotations):
        return
    # Late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        annotated_profile,
    )

    of_pod = spec.securityContext and spec.securityContext.appArmorProfile
    for _, container in containers_with_paths(spec):
        key = f"{APP_ARMOR}{container.name}"
        own = container.securityContext and container.securityContext.appArmorProfile
        if key not in annotations or own:
            continue
        named = annotated_profile(annotations[key])
        if named is None or named != of_pod:
            text = 'deprecated since v1.30; use the "appArmorProfile" field instead'
            yield annotation_warning(key, text)


def _hostname(_: core_v1.Pod, context: WarningContext) -> Iterator[ApiWarning]:
    """Yield the warning about a pod's name that is not a DNS label.

    Source: pkg/registry/core/pod/strategy.go, v1.32.10, WarningsOnCreate.
    """
    wrong = " ".join(check_label(context.pod_name))
    if context.named_after and wrong:
        text = (
            f"this is used in {context.named_after}, which can result in surprising"
            f" behavior; a DNS label is recommended: [{wrong}]"
        )
        yield ApiWarning("metadata.name", text)


def _overlapping_paths(volume: core_v1.Volume) -> Warnings:
    # Late: most pods have no volumes.
    from probetui.manifest.validation.overlaps import (  # noqa: PLC0415
        overlapping_paths,
    )

    return overlapping_paths(volume)


def _files_under_tokens(volumes: list[core_v1.Volume]) -> Warnings:
    from probetui.manifest.validation.overlaps import (  # noqa: PLC0415  # as above
        files_under_tokens,
    )

    return files_under_tokens(volumes)


def _odd_address(text: str) -> Warnings:
    # Late: few pods have any.
    from probetui.manifest.validation.addresses import odd_address  # noqa: PLC0415

    return odd_address(text)


def _negative_grace(seconds: int) -> Iterator[ApiWarning]:
    if seconds < 0:
        text = "must be >= 0; negative values are invalid and will be treated as 1"
        yield ApiWarning("", text)


def _repeated(name: str) -> Remembering:
    """Return the rule in `Each` that warns of a value that an earlier item has."""

    def start(_owner: object, _context: object) -> WarningCheck:
        seen: set[str] = set()

        def find(item: object) -> Iterator[ApiWarning]:
            value = getattr(item, name) or ""
            if value in seen:
                yield ApiWarning(name, f"duplicate {name} {quote(value)}")
            seen.add(value)

        return find

    return Remembering(start)


def _nameless(secret: core_v1.LocalObjectReference) -> Iterator[ApiWarning]:
    if not secret.name:
        yield ApiWarning("name", f"invalid empty name {quote('')}")


def _hidden_variables(
    _owner: object, _context: object
) -> Callable[[core_v1.EnvVar], Iterator[ApiWarning]]:
    """Find variables that hide an earlier one without using its value."""
    seen: set[str] = set()

    def find(variable: core_v1.EnvVar) -> Iterator[ApiWarning]:
        reference = f"$({variable.name})"
        value = variable.value or ""
        builds_on = reference in value and value != reference
        if variable.name in seen and (variable.valueFrom or not builds_on):
            text = f"hides previous definition of {quote(variable.name)}"
            yield ApiWarning("", f"{text}, which may be dropped when using apply")
        seen.add(variable.name)

    return find


def _port_clashes(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    seen: dict[tuple[int, str], list[tuple[str, core_v1.ContainerPort]]] = {}
    for path, container in containers_with_paths(spec):
        for index, port in enumerate(container.ports or ()):
            at = f"{path}.ports[{index}]"
            if port.hostIP and not port.hostPort:
                yield ApiWarning(at, f"hostIP set without hostPort: {_go_port(port)}")
            others = seen.setdefault((port.containerPort, port.protocol or ""), [])
            for other_path, other in others:
                clash = _describe_clash(port, other)
                if clash:
                    text = f"{clash} port definition with {other_path}"
                    yield ApiWarning(at, text)
            if len(others) < _MAX_COMPARED:
                others.append((at, port))


def _shared_port_names(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    """Yield port names that an earlier container or port has already.

    Quirk, kept: an init container that is not a sidecar ends the search.

    Source: pkg/apis/core/pods/helpers.go, VisitContainersAndSidecarContainersWithPath.
    """
    first: dict[str, str] = {}
    for path, container in _containers_and_sidecars(spec):
        for index, port in enumerate(container.ports or ()):
            at = f"{path}.ports[{index}]"
            if not port.name:
                continue
            other = first.setdefault(port.name, at)
            if other != at:
                start = f"duplicate port name {quote(port.name)} with {other}"
                end = f"services and probes that select ports by name will use {other}"
                yield ApiWarning(at, f"{start}, {end}")


def _containers_and_sidecars(
    spec: core_v1.PodSpec,
) -> Iterator[tuple[str, core_v1.Container]]:
    for index, container in enumerate(spec.initContainers or ()):
        if container.restartPolicy != "Always":
            return
        yield f"spec.initContainers[{index}]", container
    for index, container in enumerate(spec.containers):
        yield f"spec.containers[{index}]", container


def _go_port(port: core_v1.ContainerPort) -> str:
    """Return a port as Go prints a struct."""
    fields = {
        "Name": port.name or "",
        "HostPort": port.hostPort or 0,
        "ContainerPort": port.containerPort,
        "Protocol": port.protocol,
        "HostIP": port.hostIP,
    }
    return f"{{{' '.join(f'{name}:{value}' for name, value in fields.items())}}}"


def _describe_clash(port: core_v1.ContainerPort, other: core_v1.ContainerPort) -> str:
    """Return how two declarations of one port conflict, empty if they do not."""
    addresses = {port.hostIP or "", other.hostIP or ""}
    numbers = {port.hostPort or 0, other.hostPort or 0}
    if len(addresses) == len(numbers) == 1:
        return "duplicate"
    if 0 in numbers:
        return "overlapping"
    if len(numbers) == 1 and "" in addresses:
        return "dangerously ambiguous"
    return ""


def _checks_values(context: Context) -> bool:
    return context.version.node_affinity_values


_SCHEDULING = Rules(
    core_v1.PodSpec,
    IfFilled("nodeSelector", _node_selector),
    IfSet(
        "affinity",
        IfSet(
            "nodeAffinity",
            IfSet(
                _REQUIRED,
                Each(
                    "nodeSelectorTerms",
                    Each("matchExpressions", Always("key", _node_label)),
                ),
            ),
            Each(
                _PREFERRED,
                Always(
                    "preference",
                    Each(
                        "matchExpressions",
                        Always("key", _node_label),
                        When(_checks_values, Each("values", _label_value)),
                    ),
                ),
            ),
        ),
    ),
    Each(
        "topologySpreadConstraints",
        Always("topologyKey", _node_label),
        Always("labelSelector", _no_selector),
    ),
)

_VOLUME = Rules(
    core_v1.Volume,
    *(
        IfSet(name, deprecated(text), at=_VOLUME_PATHS.get(name))
        for name, text in _VOLUMES.items()
    ),
    IfSet("gitRepo", in_context(_git_repo)),
    IfSet(
        "ephemeral",
        IfSet(
            "volumeClaimTemplate",
            Always(
                "spec",
                IfSet(
                    "resources",
                    IfFilled("requests", _whole_bytes("storage")),
                    IfFilled("limits", _whole_bytes("storage")),
                ),
            ),
        ),
    ),
)

_POD_TERMS = (
    Each(_REQUIRED, Always("labelSelector", _no_selector)),
    Each(_PREFERRED, Always("podAffinityTerm", Always("labelSelector", _no_selector))),
)
_POD_AFFINITY = IfSet(
    "affinity", IfSet("podAffinity", *_POD_TERMS), IfSet("podAntiAffinity", *_POD_TERMS)
)
"""Terms that no pod matches."""


def _warns_more(context: Context) -> bool:
    return context.version.warns_more


_CONTAINER = Rules(
    core_v1.Container | core_v1.EphemeralContainer,
    in_context(_container_seccomp),
    IfSet(
        "resources",
        *(
            IfFilled(kind, _whole_bytes(name))
            for name in _BYTES
            for kind in ("limits", "requests")
        ),
    ),
    Each("env", Remembering(_hidden_variables)),
)

POD_WARNINGS = Rules(
    core_v1.Pod,
    When(
        lambda context: context.version.app_armor_fields,
        Always("spec", in_context(_app_armor)),
    ),
    When(lambda context: context.version.warns_of_names, in_context(_hostname)),
    Always("spec", _SCHEDULING),
    IfSet("metadata", IfFilled("annotations", _annotations)),
    Always(
        "spec",
        Each("volumes", _VOLUME),
        When(_warns_more, Each("volumes", _overlapping_paths)),
        When(
            lambda context: not context.version.warns_more,
            IfFilled("volumes", _files_under_tokens),
        ),
        Each("hostAliases", _repeated("ip")),
        Each("imagePullSecrets", _repeated("name")),
        Each("imagePullSecrets", _nameless),
        IfFilled("overhead", _whole_bytes(*_BYTES)),
        in_context(_pod_seccomp),
        Each("initContainers", _CONTAINER),
        Each("containers", _CONTAINER),
        Each("ephemeralContainers", _CONTAINER),
    ),
    # They name other containers, by their paths.
    Always("spec", _port_clashes, When(_warns_more, _shared_port_names), at=""),
    Always(
        "spec",
        When(_warns_more, IfSet("terminationGracePeriodSeconds", _negative_grace)),
        _POD_AFFINITY,
        When(
            _warns_more,
            IfSet("dnsConfig", Each("nameservers", _odd_address)),
            Each("hostAliases", Always("ip", _odd_address)),
        ),
    ),
)
