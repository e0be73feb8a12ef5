"""Type errors of an API server: Go's decoder errors, with Go's type names.

The names of structs are those of the models; those of texts with a type of their own
are in a table, and what is embedded in a struct is a step of the path.

Source: k8s.io/api v0.36.2, core/v1/types.go; sigs.k8s.io/json, internal/golang/
encoding/json, decode.go; k8s.io/apimachinery, pkg/api/resource/quantity.go; Go 1.25,
time/format.go.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import cast

from probetui.manifest.problem import quote
from probetui.manifest.schema import FieldKind, FieldSchema, ValuePlace
from probetui.manifest.yaml.nodes import ListNode, MapNode, ScalarNode, YamlNode

_PLAIN: Mapping[FieldKind, str] = types.MappingProxyType({
    FieldKind.STRING: "string",
    FieldKind.INT32: "int32",
    FieldKind.INT64: "int64",
    FieldKind.INT_OR_STRING: "int32",
    FieldKind.BOOL: "bool",
    FieldKind.TIME: "string",
    FieldKind.STRING_MAP: "map[string]string",
    FieldKind.QUANTITY_MAP: "v1.ResourceList",
})  # fmt: skip
_NUMBERS = frozenset({FieldKind.INT32, FieldKind.INT64, FieldKind.INT_OR_STRING})

_NAMED = types.MappingProxyType({
    f"{owner}.{field}": name
    for name, fields in {
        "v1.AppArmorProfileType": "AppArmorProfile.type",
        "v1.AzureDataDiskCachingMode": "AzureDiskVolumeSource.cachingMode",
        "v1.AzureDataDiskKind": "AzureDiskVolumeSource.kind",
        "v1.Capability": "Capabilities.add Capabilities.drop",
        "v1.ContainerRestartPolicy": (
            "Container.restartPolicy EphemeralContainer.restartPolicy"
        ),
        "v1.ContainerRestartRuleAction": "ContainerRestartRule.action",
        "v1.ContainerRestartRuleOnExitCodesOperator": (
            "ContainerRestartRuleOnExitCodes.operator"
        ),
        "v1.DNSPolicy": "PodSpec.dnsPolicy",
        "v1.HostPathType": "HostPathVolumeSource.type",
        "v1.LabelSelectorOperator": "LabelSelectorRequirement.operator",
        "v1.ManagedFieldsOperationType": "ManagedFieldsEntry.operation",
        "v1.MountPropagationMode": "VolumeMount.mountPropagation",
        "v1.NodeInclusionPolicy": (
            "TopologySpreadConstraint.nodeAffinityPolicy"
            " TopologySpreadConstraint.nodeTaintsPolicy"
        ),
        "v1.NodeSelectorOperator": "NodeSelectorRequirement.operator",
        "v1.OSName": "PodOS.name",
        "v1.PersistentVolumeAccessMode": "PersistentVolumeClaimSpec.accessModes",
        "v1.PersistentVolumeMode": "PersistentVolumeClaimSpec.volumeMode",
        "v1.PodConditionType": "PodReadinessGate.conditionType",
        "v1.PodFSGroupChangePolicy": "PodSecurityContext.fsGroupChangePolicy",
        "v1.PodSELinuxChangePolicy": "PodSecurityContext.seLinuxChangePolicy",
        "v1.PreemptionPolicy": "PodSpec.preemptionPolicy",
        "v1.ProcMountType": "SecurityContext.procMount",
        "v1.Protocol": "ContainerPort.protocol",
        "v1.PullPolicy": (
            "Container.imagePullPolicy EphemeralContainer.imagePullPolicy"
            " ImageVolumeSource.pullPolicy"
        ),
        "v1.RecursiveReadOnlyMode": "VolumeMount.recursiveReadOnly",
        "v1.ResourceName": "ContainerResizePolicy.resourceName",
        "v1.ResourceResizeRestartPolicy": "ContainerResizePolicy.restartPolicy",
        "v1.RestartPolicy": "PodSpec.restartPolicy",
        "v1.SeccompProfileType": "SeccompProfile.type",
        "v1.Signal": "Lifecycle.stopSignal",
        "v1.StorageMedium": "EmptyDirVolumeSource.medium",
        "v1.SupplementalGroupsPolicy": "PodSecurityContext.supplementalGroupsPolicy",
        "v1.TaintEffect": "Toleration.effect",
        "v1.TerminationMessagePolicy": (
            "Container.terminationMessagePolicy"
            " EphemeralContainer.terminationMessagePolicy"
        ),
        "v1.TolerationOperator": "Toleration.operator",
        "v1.URIScheme": "HTTPGetAction.scheme",
        "v1.UnsatisfiableConstraintAction": (
            "TopologySpreadConstraint.whenUnsatisfiable"
        ),
        "types.UID": "ObjectMeta.uid OwnerReference.uid",
        "v1.DeploymentStrategyType": "DeploymentStrategy.type",
        "v1.DaemonSetUpdateStrategyType": "DaemonSetUpdateStrategy.type",
        "v1.StatefulSetUpdateStrategyType": "StatefulSetUpdateStrategy.type",
        "v1.PodManagementPolicyType": "StatefulSetSpec.podManagementPolicy",
        "v1.PersistentVolumeClaimRetentionPolicyType": (
            "StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted"
            " StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled"
        ),
        "v1.ConcurrencyPolicy": "CronJobSpec.concurrencyPolicy",
        "v1.CompletionMode": "JobSpec.completionMode",
        "v1.PodReplacementPolicy": "JobSpec.podReplacementPolicy",
        "v1.PodFailurePolicyAction": "PodFailurePolicyRule.action",
        "v1.PodFailurePolicyOnExitCodesOperator": (
            "PodFailurePolicyOnExitCodesRequirement.operator"
        ),
        "v1.ConditionStatus": "PodFailurePolicyOnPodConditionsPattern.status",
    }.items()
    for owner, _, field in (path.partition(".") for path in fields.split())
})  # fmt: skip
"""Texts that have a type of their own, by the struct and its field."""

_EMBEDDED: Mapping[str, tuple[str, frozenset[str]]] = types.MappingProxyType({
    "Volume": ("VolumeSource", frozenset({"name"})),
    "EphemeralContainer": (
        "EphemeralContainerCommon", frozenset({"targetContainerName"}),
    ),
})  # fmt: skip
"""Embedded structs by name, and the fields that are not embedded."""

_HANDLERS = frozenset({"exec", "grpc", "httpGet", "tcpSocket"})
_WITH_REFERENCE = frozenset({
    "ConfigMapEnvSource", "ConfigMapKeySelector", "ConfigMapProjection",
    "ConfigMapVolumeSource", "SecretEnvSource", "SecretKeySelector",
    "SecretProjection",
})  # fmt: skip
"""The structs in which a LocalObjectReference is embedded."""

_BYTES = types.MappingProxyType({
    "Secret.data": "[]uint8",
    "ConfigMap.binaryData": "[]uint8",
})  # fmt: skip
"""The maps with values other than texts."""

_QUANTITY = re.compile(
    r"([+-]?[0-9]*(?:[.][0-9]*)?)([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII
)
_NO_QUANTITY = (
    "quantities must match the regular expression"
    " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_TIME_STEPS = (
    ("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"),
    ("T", "T"), ("15", r"\d\d?"), (":", ":"), ("04", r"\d\d"), (":", ":"),
    ("05", r"\d\d(?:[.,]\d+)?"), ("Z07:00", r"Z|[+-]\d\d:\d\d"),
)  # fmt: skip
_LAYOUT = "2006-01-02T15:04:05Z07:00"


def decoding_error(
    node: YamlNode, fields: Sequence[FieldSchema], place: ValuePlace, *, embeds: bool
) -> str:
    """Return the API server's error about a value of a wrong type, empty for none.

    Args:
        node: the value.
        fields: those around it, outermost first.
        place: its place in the last one.
        embeds: an embedded struct is a step of the path, as in newer decoders.
    """
    if not fields:
        return ""
    field = fields[-1]
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, float) and not math.isfinite(value):
        return f"json: unsupported value: {_NOT_FINITE[str(value)]}"
    is_entry = place is ValuePlace.ENTRY
    if place is not ValuePlace.FIELD:
        of_map = is_entry and field.kind is FieldKind.QUANTITY_MAP
        if of_map or field.kind is FieldKind.QUANTITY:
            return _quantity_error(value)
        if field.kind is FieldKind.TIME and isinstance(value, str):
            return _time_error(value)
    expected = _BYTES.get(_name(field), "string") if is_entry else _type_of(field)
    if not expected:
        return ""
    kind = _kind(node)
    if place is ValuePlace.FIELD:
        expected = f"[]{expected}"
    elif kind == "number" and field.kind in _NUMBERS:
        kind = f"number {_go_number(cast('float', value))}"
    steps = (step for part in fields for step in _steps(part, embeds=embeds))
    return (
        f"json: cannot unmarshal {kind} into Go struct field "
        f"{field.owner}.{'.'.join(steps)} of type {expected}"
    )


def _steps(field: FieldSchema, *, embeds: bool) -> tuple[str, ...]:
    """Return the steps from a struct to one of its fields."""
    owner, name = field.owner, field.name
    if not embeds:
        return (name,)
    if owner in _EMBEDDED and name not in _EMBEDDED[owner][1]:
        return _EMBEDDED[owner][0], name
    if owner == "Probe" and name in _HANDLERS:
        return "ProbeHandler", name
    if owner in _WITH_REFERENCE and name == "name":
        return "LocalObjectReference", name
    return (name,)


def _name(field: FieldSchema) -> str:
    return f"{field.owner}.{field.name}"


def _type_of(field: FieldSchema) -> str:
    if field.model is not None:
        return f"v1.{field.model.__name__}"
    if field.kind is FieldKind.STRING_MAP and _name(field) in _BYTES:
        return f"map[string]{_BYTES[_name(field)]}"
    if field.kind is FieldKind.STRING and _name(field) in _NAMED:
        return _NAMED[_name(field)]
    return _PLAIN.get(field.kind, "")


def _kind(node: YamlNode) -> str:
    """Return the JSON type of a value."""
    match node:
        case MapNode():
            return "object"
        case ListNode():
            return "array"
        case ScalarNode(value=bool()):
            return "bool"
        case ScalarNode(value=int() | float()):
            return "number"
        case _:
            return "string"


_NOT_FINITE = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}
_EXPONENT_FROM = 1e21
"""From this value on, Go formats a float with an exponent."""

_LEAST_WITHOUT_EXPONENT = 1e-6


def _go_number(number: float) -> str:
    """Format a number as Go's JSON encoder does."""
    if isinstance(number, int):
        return str(number)
    if number and not _LEAST_WITHOUT_EXPONENT <= abs(number) < _EXPONENT_FROM:
        mantissa, _, exponent = repr(number).partition("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


def _quantity_error(value: object) -> str:
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not match[0]:
        return _NO_QUANTITY
    return "unable to parse quantity's suffix"


def _time_error(text: str) -> str:
    """Return Go's error about a text that is not a time, or out of range."""
    start = f"parsing time {quote(text)}"
    rest = text
    for step, pattern in _TIME_STEPS:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            wanted = f"cannot parse {quote(rest)} as {quote(step)}"
            return f"{start} as {quote(_LAYOUT)}: {wanted}"
        rest = rest[match.end() :]
    if rest:
        return f"{start}: extra text: {quote(rest)}"
    return f"{start}: day out of range"
