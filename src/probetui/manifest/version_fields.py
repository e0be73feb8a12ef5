"""Fields that the chosen version of Kubernetes disables: dropped with a note.

An API server drops them silently, even with strict validation. The row of a rule names
the field that goes with it. Fields that a version does not know are in
`field_versions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from lightkube.models import core_v1
from msgspec import Struct

from probetui.kubelet_rules import ROWS, KubeletRules
from probetui.manifest.schema import fields_of

CONSEQUENCES = {
    ("Lifecycle", "stopSignal"): ": the image's signal is sent",
    ("GRPCAction", "mode"): ": the probe goes on in plaintext",
    ("HTTPGetAction", "protocol"): ": the request goes on with HTTP/1.1",
}
"""The consequence, if it does not follow from the field's absence."""

_ALPHA = (
    # Gate GenericWorkload (KEP-4671); pods are not scheduled here.
    "PodSpec.schedulingGroup",
    # Gate VolumeBindMountOptions (KEP-5855).
    "VolumeMount.bindMountOptions",
    # Owners and modes of volumes' files.
    "EmptyDirVolumeSource.mode",
    "SecretVolumeSource.defaultUser",
    "ConfigMapVolumeSource.defaultUser",
    "DownwardAPIVolumeSource.defaultUser",
    "ProjectedVolumeSource.defaultUser",
    "KeyToPath.user",
    "DownwardAPIVolumeFile.user",
    "ClusterTrustBundleProjection.user",
    "PodCertificateProjection.user",
    "ServiceAccountTokenProjection.user",
)
"""Fields of 1.37 whose gates cannot be set, as probetui does not implement them."""


def drop_disabled_fields(
    pod: core_v1.Pod, rules: KubeletRules
) -> list[tuple[str, str]]:
    """Clear the fields whose gates are off; return paths and consequences."""
    if pod.spec is None:
        return []
    return list(_drop(pod.spec, "spec", disabled_fields(rules)))


@cache
def disabled_fields(rules: KubeletRules) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fields that rules disable, by the type that has them."""
    off = [
        row.field
        for name, row in ROWS.items()
        if row.field and not getattr(rules, name)
    ]
    disabled: dict[str, tuple[str, ...]] = {}
    for field in (*off, *_ALPHA):
        owner, _, name = field.partition(".")
        disabled[owner] = (*disabled.get(owner, ()), name)
    return disabled


def _drop(
    owner: Struct, path: str, disabled: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    kind = type(owner).__name__
    for name in disabled.get(kind, ()):
        if getattr(owner, name) is not None:
            setattr(owner, name, None)
            yield f"{path}.{name}", CONSEQUENCES.get((kind, name), "")
    for name, field in fields_of(type(owner)).items():
        # Containers that were added to a running pod end with it: see `draft_pod`.
        if field.model is None or name == "ephemeralContainers":
            continue
        value = getattr(owner, field.attribute)
        if field.is_list:
            for index, item in enumerate(value or ()):
                yield from _drop(item, f"{path}.{name}[{index}]", disabled)
        elif value is not None:
            yield from _drop(value, f"{path}.{name}", disabled)
