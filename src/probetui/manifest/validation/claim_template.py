"""The API server's rules for the claim of a generic ephemeral volume.

Source: pkg/apis/core/validation/validation.go, v1.32.10,
ValidatePersistentVolumeClaimTemplate, ValidatePersistentVolumeClaimSpec.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1, meta_v1

from probetui.k8s.api.quantity import canonical_quantity, parse_quantity
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoPath,
    forbidden,
    invalid,
    required,
)
from probetui.manifest.validation.metadata import valid_annotations, valid_labels
from probetui.manifest.validation.rules import (
    Always,
    Each,
    IfFilled,
    IfSet,
    Required,
    Rules,
    Section,
    When,
    choice,
    valid,
)
from probetui.manifest.validation.scheduling import SELECTOR

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"
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


def _not_in_template(metadata: meta_v1.ObjectMeta) -> Iterator[FieldError]:
    for name in _NOT_IN_TEMPLATE:
        value = getattr(metadata, name)
        if value is not None if name == _POINTER else value not in _UNSET:
            yield forbidden(_WRITTEN.get(name, name), "cannot be set")


def _alone(modes: list[str]) -> Iterator[FieldError]:
    if _ALONE in modes and {*_ACCESS_MODES[:3]} & {*modes}:
        yield forbidden("", f"may not use {_ALONE} with other access modes")


def _size(spec: core_v1.PersistentVolumeClaimSpec) -> Iterator[FieldError]:
    resources = spec.resources or core_v1.VolumeResourceRequirements()
    size = (resources.requests or {}).get("storage")
    at = "resources[storage]"
    if size is None:
        yield required(at)
    elif parse_quantity(size) <= 0:
        yield invalid(at, canonical_quantity(size), "must be greater than zero")


def _group(
    source: core_v1.TypedLocalObjectReference | core_v1.TypedObjectReference,
) -> Iterator[FieldError]:
    if source.apiGroup:
        errors = names.check_subdomain(source.apiGroup)
        yield from names.invalid_names("apiGroup", source.apiGroup, errors)
    elif source.kind != _CLAIM:
        detail = f"must be '{_CLAIM}' when referencing the default apiGroup"
        yield invalid("", source.kind, detail)


def _same_sources(spec: core_v1.PersistentVolumeClaimSpec) -> Iterator[FieldError]:
    """Check that both data sources are the same; `dataSource` is the older field.

    Quirk, kept: the value in the error is the path of the field.
    """
    old, new = spec.dataSource, spec.dataSourceRef
    if old is None or new is None:
        return
    if new.namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        yield invalid("", GoPath("dataSource"), detail)
    elif (old.apiGroup, old.kind, old.name) != (new.apiGroup, new.kind, new.name):
        yield invalid("", GoPath("dataSource"), "must match dataSourceRef")


_SOURCE = Rules(
    core_v1.TypedLocalObjectReference | core_v1.TypedObjectReference,
    Required("name"),
    Required("kind"),
    _group,
)
_SUBDOMAIN = valid(names.check_subdomain)
CLAIM_TEMPLATE = Rules(
    core_v1.PersistentVolumeClaimTemplate,
    Section(
        "metadata",
        Rules(
            meta_v1.ObjectMeta,
            IfFilled("annotations", valid_annotations),
            IfFilled("labels", valid_labels),
            _not_in_template,
        ),
    ),
    Always(
        "spec",
        Rules(
            core_v1.PersistentVolumeClaimSpec,
            Required("accessModes", detail="at least 1 access mode is required"),
            IfSet("selector", SELECTOR),
            Each("accessModes", choice(*_ACCESS_MODES), at="accessModes"),
            IfFilled("accessModes", _alone),
            _size,
            IfFilled("storageClassName", _SUBDOMAIN),
            IfSet("volumeMode", choice("Block", "Filesystem")),
            IfSet("dataSource", _SOURCE),
            IfSet(
                "dataSourceRef",
                _SOURCE,
                IfFilled("namespace", valid(names.check_label)),
            ),
            _same_sources,
            When(
                lambda context: context.version.volume_attributes,
                IfFilled("volumeAttributesClassName", _SUBDOMAIN),
            ),
        ),
    ),
)
