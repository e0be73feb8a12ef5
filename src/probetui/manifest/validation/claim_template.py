"""The API server's rules for the claim of a generic ephemeral volume.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
ValidatePersistentVolumeClaimTemplate, ValidatePersistentVolumeClaimSpec.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1, meta_v1

from probetui.k8s.api.quantity import canonical_quantity, parse_quantity
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    forbidden,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.metadata import validate_annotations, validate_labels
from probetui.manifest.validation.scheduling import validate_selector

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"
_VOLUME_MODES = ("Block", "Filesystem")
_CLAIM = "PersistentVolumeClaim"
_NOT_IN_TEMPLATE = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion",
    "generation", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
"""Metadata that a template cannot have, in the order of the API's type."""
_UNSET = (None, "", 0)
"""The values that Go omits; an empty list is not one of them."""
_POINTER = "deletionGracePeriodSeconds"
_WRITTEN = {"uid": "uID"}
"""How a field is called in an error: Go's name with a small letter. Quirk, kept."""


def validate_claim_template(
    template: core_v1.PersistentVolumeClaimTemplate, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the template of a claim: its metadata, and its spec."""
    metadata = template.metadata or meta_v1.ObjectMeta()
    at = f"{path}.metadata"
    yield from validate_annotations(metadata.annotations or {}, f"{at}.annotations")
    yield from validate_labels(metadata.labels or {}, f"{at}.labels")
    for name in _NOT_IN_TEMPLATE:
        value = getattr(metadata, name)
        if value is not None if name == _POINTER else value not in _UNSET:
            yield forbidden(f"{at}.{_WRITTEN.get(name, name)}", "cannot be set")
    yield from _spec(template.spec, f"{path}.spec", rules)


def _spec(
    spec: core_v1.PersistentVolumeClaimSpec, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    modes = spec.accessModes or []
    if not modes:
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_selector(spec.selector, f"{path}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            yield not_supported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if _ALONE in modes and {*_ACCESS_MODES[:3]} & {*modes}:
        detail = f"may not use {_ALONE} with other access modes"
        yield forbidden(f"{path}.accessModes", detail)
    resources = spec.resources or core_v1.VolumeResourceRequirements()
    size = (resources.requests or {}).get("storage")
    field = f"{path}.resources[storage]"
    if size is None:
        yield required(field)
    elif parse_quantity(size) <= 0:
        yield invalid(field, canonical_quantity(size), "must be greater than zero")
    if spec.storageClassName:
        errors = names.check_subdomain(spec.storageClassName)
        at = f"{path}.storageClassName"
        yield from names.invalid_names(at, spec.storageClassName, errors)
    if spec.volumeMode is not None and spec.volumeMode not in _VOLUME_MODES:
        yield not_supported(f"{path}.volumeMode", spec.volumeMode, _VOLUME_MODES)
    yield from _sources(spec, path)
    if spec.volumeAttributesClassName and rules.volume_attributes:
        value = spec.volumeAttributesClassName
        errors = names.check_subdomain(value)
        at = f"{path}.volumeAttributesClassName"
        yield from names.invalid_names(at, value, errors)


def _sources(
    spec: core_v1.PersistentVolumeClaimSpec, path: str
) -> Iterator[FieldError]:
    """Check the volume's data source; `dataSource` is the older of two fields."""
    old, new = spec.dataSource, spec.dataSourceRef
    if old is not None:
        yield from _source(old, f"{path}.dataSource")
    if new is not None:
        yield from _source(new, f"{path}.dataSourceRef")
        if new.namespace:
            errors = names.check_label(new.namespace)
            at = f"{path}.dataSourceRef.namespace"
            yield from names.invalid_names(at, new.namespace, errors)
    if old is None or new is None:
        return
    # Go's JSON of a path is empty: all that it has is private.
    value = GoSyntax(f"{path}.dataSource", "{}")
    if new.namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        yield invalid(path, value, detail)
    elif (old.apiGroup, old.kind, old.name) != (new.apiGroup, new.kind, new.name):
        yield invalid(path, value, "must match dataSourceRef")


def _source(
    source: core_v1.TypedLocalObjectReference | core_v1.TypedObjectReference, path: str
) -> Iterator[FieldError]:
    if not source.name:
        yield required(f"{path}.name")
    if not source.kind:
        yield required(f"{path}.kind")
    if not source.apiGroup:
        if source.kind != _CLAIM:
            detail = f"must be '{_CLAIM}' when referencing the default apiGroup"
            yield invalid(path, source.kind, detail)
    else:
        errors = names.check_subdomain(source.apiGroup)
        yield from names.invalid_names(f"{path}.apiGroup", source.apiGroup, errors)
