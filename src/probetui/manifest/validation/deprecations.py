"""The API server's warnings about deprecated fields and terms without a match.

Source: pkg/api/pod/warnings.go, v1.32.10, warningsForPodSpecAndMeta;
pkg/api/node/util.go, v1.32.10, deprecatedNodeLabels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lightkube.models import core_v1

from probetui.k8s.api.quantity import canonical_quantity, is_whole, parse_quantity
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation import names

ApiWarning = tuple[str, str]
"""A field's path, and the API server's text about it."""

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
_VOLUME_PATHS = {"storageos": "storageOS"}
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_BYTES = ("memory", "ephemeral-storage")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def scheduling_deprecations(
    spec: core_v1.PodSpec, rules: KubeletRules
) -> Iterator[ApiWarning]:
    """Yield deprecated node labels, and spread constraints that count no pod."""
    for label in sorted(spec.nodeSelector or {}):
        if label in _NODE_LABELS:
            yield f"spec.nodeSelector[{label}]", _NODE_LABELS[label]
    affinity = spec.affinity or core_v1.Affinity()
    nodes = affinity.nodeAffinity or core_v1.NodeAffinity()
    required = getattr(nodes, _REQUIRED)
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    for index, term in enumerate(required.nodeSelectorTerms if required else ()):
        yield from _term(term, f"{path}[{index}]", checks_values=False)
    path = f"spec.affinity.nodeAffinity.{_PREFERRED}"
    for index, preferred in enumerate(getattr(nodes, _PREFERRED) or ()):
        at = f"{path}[{index}].preference"
        checks_values = rules.node_affinity_values
        yield from _term(preferred.preference, at, checks_values=checks_values)
    for index, spread in enumerate(spec.topologySpreadConstraints or ()):
        path, key = f"spec.topologySpreadConstraints[{index}]", spread.topologyKey
        if key in _NODE_LABELS:
            yield f"{path}.topologyKey", f"{key} is {_NODE_LABELS[key]}"
        if spread.labelSelector is None:
            yield f"{path}.labelSelector", _NO_SELECTOR


def annotation_deprecations(annotations: Mapping[str, str]) -> Iterator[ApiWarning]:
    """Yield annotations that have no effect any more."""
    for key, text in _ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]", text


def volume_deprecations(
    volumes: list[core_v1.Volume], rules: KubeletRules
) -> Iterator[ApiWarning]:
    """Yield removed volume plugins, and fractions of a byte in a claim."""
    plugins = {**_VOLUMES, "gitRepo": rules.git_repo_warning}
    for index, volume in enumerate(volumes):
        for name, text in plugins.items():
            if getattr(volume, name) is not None:
                yield f"spec.volumes[{index}].{_VOLUME_PATHS.get(name, name)}", text
        template = volume.ephemeral and volume.ephemeral.volumeClaimTemplate
        if template and template.spec.resources:
            at = f"spec.volumes[{index}].ephemeral.volumeClaimTemplate.spec"
            for kind in ("requests", "limits"):
                amounts = getattr(template.spec.resources, kind) or {}
                yield from _fraction(amounts, "storage", f"{at}.resources.{kind}")


def overhead_fractions(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    """Yield fractions of a byte in a pod's overhead."""
    for name in _BYTES:
        yield from _fraction(spec.overhead or {}, name, "spec.overhead")


def pod_seccomp_annotation(
    annotations: Mapping[str, str], spec: core_v1.PodSpec
) -> Iterator[ApiWarning]:
    """Yield the annotation of a seccomp profile without its field."""
    context = spec.securityContext or core_v1.PodSecurityContext()
    if context.seccompProfile is None and _SECCOMP_POD in annotations:
        yield f"metadata.annotations[{_SECCOMP_POD}]", _SECCOMP


def container_deprecations(
    annotations: Mapping[str, str], container: core_v1.Container, path: str
) -> Iterator[ApiWarning]:
    """Yield a container's annotation without its field, and fractions of a byte."""
    context = container.securityContext or core_v1.SecurityContext()
    key = f"{_SECCOMP_CONTAINER}{container.name}"
    if context.seccompProfile is None and key in annotations:
        yield f"metadata.annotations[{key}]", _SECCOMP
    resources = container.resources or core_v1.ResourceRequirements()
    for name in _BYTES:
        for kind in ("limits", "requests"):
            amounts = getattr(resources, kind) or {}
            yield from _fraction(amounts, name, f"{path}.resources.{kind}")


def affinity_without_selectors(spec: core_v1.PodSpec) -> Iterator[ApiWarning]:
    """Yield pod affinity terms that no pod matches."""
    affinity = spec.affinity or core_v1.Affinity()
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = getattr(affinity, kind)
        if pods is None:
            continue
        path = f"spec.affinity.{kind}"
        for index, term in enumerate(getattr(pods, _REQUIRED) or ()):
            if term.labelSelector is None:
                yield f"{path}.{_REQUIRED}[{index}].labelSelector", _NO_SELECTOR
        for index, weighted in enumerate(getattr(pods, _PREFERRED) or ()):
            if weighted.podAffinityTerm.labelSelector is None:
                at = f"{path}.{_PREFERRED}[{index}].podAffinityTerm"
                yield f"{at}.labelSelector", _NO_SELECTOR


def _term(
    term: core_v1.NodeSelectorTerm, path: str, *, checks_values: bool
) -> Iterator[ApiWarning]:
    """Yield deprecated labels, and values that no label can have."""
    for index, requirement in enumerate(term.matchExpressions or ()):
        if requirement.key in _NODE_LABELS:
            text = f"{requirement.key} is {_NODE_LABELS[requirement.key]}"
            yield f"{path}.matchExpressions[{index}].key", text
        for number, value in enumerate(
            requirement.values or () if checks_values else ()
        ):
            for error in names.check_label_value(value):
                at = f"{path}.matchExpressions[{index}].values[{number}]"
                yield at, f"{value} is invalid, {error}"


def _fraction(amounts: Mapping[str, str], name: str, path: str) -> Iterator[ApiWarning]:
    value = amounts.get(name)
    if value is not None and not is_whole(parse_quantity(value)):
        shown = quote(canonical_quantity(value))
        text = f"fractional byte value {shown} is invalid, must be an integer"
        yield f"{path}[{name}]", text
