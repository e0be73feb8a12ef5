"""The API server's rules for a pod's metadata.

Source: k8s.io/apimachinery v0.32.10, pkg/api/validation/objectmeta.go,
ValidateObjectMetaAccessor; pkg/apis/core/validation/validation.go, v1.32.10,
ValidatePodSpecificAnnotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from lightkube.models import core_v1, meta_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    go_json,
    go_strings,
    invalid,
    required,
    too_long,
)
from probetui.manifest.validation.seccomp import validate_seccomp_annotations
from probetui.manifest.validation.warnings import APP_ARMOR, containers_with_paths

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_COST = re.compile("0|-?[1-9][0-9]*|-0+[0-9]*")
_MAX_ANNOTATION_BYTES = 256 * 1024
_MAX_MANAGER = 128
_MAX_SUBRESOURCE = 256
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = frozenset({"kubernetes", _ORPHAN, _FOREGROUND})


def validate_metadata(metadata: meta_v1.ObjectMeta, path: str) -> Iterator[FieldError]:
    """Check the metadata of objects of any kind; a missing namespace is `default`."""
    if metadata.generateName:
        errors = names.check_subdomain(names.mask_dash(metadata.generateName))
        yield from names.invalid_names(
            f"{path}.generateName", metadata.generateName, errors
        )
    if not metadata.name:
        yield required(f"{path}.name", "name or generateName is required")
    else:
        errors = names.check_subdomain(metadata.name)
        yield from names.invalid_names(f"{path}.name", metadata.name, errors)
    namespace = metadata.namespace or "default"
    errors = names.check_label(namespace)
    yield from names.invalid_names(f"{path}.namespace", namespace, errors)
    if (metadata.generation or 0) < 0:
        detail = "must be greater than or equal to 0"
        yield invalid(f"{path}.generation", metadata.generation, detail)
    yield from validate_labels(metadata.labels or {}, f"{path}.labels")
    yield from validate_annotations(metadata.annotations or {}, f"{path}.annotations")
    yield from _owners(metadata.ownerReferences or [], f"{path}.ownerReferences")
    yield from _finalizers(metadata.finalizers or [], f"{path}.finalizers")
    yield from _managed(metadata.managedFields or (), f"{path}.managedFields")
    for index, finalizer in enumerate(metadata.finalizers or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully"
            at = f"{path}.finalizers[{index}]"
            yield invalid(at, finalizer, f"{detail} qualified")


def validate_labels(labels: Mapping[str, str], path: str) -> Iterator[FieldError]:
    """Check keys and values of labels, or of a node selector."""
    for key, value in sorted(labels.items()):
        yield from names.invalid_names(path, key, names.check_qualified_name(key))
        yield from names.invalid_names(path, value, names.check_label_value(value))


def validate_pod_annotations(
    annotations: Mapping[str, str],
    spec: core_v1.PodSpec,
    path: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    """Check the annotations that have an effect in a pod."""
    mirror = annotations.get(MIRROR_ANNOTATION)
    if mirror is not None and not spec.nodeName:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR_ANNOTATION}]", mirror, detail)
    tolerations = annotations.get(TOLERATIONS)
    if tolerations:
        # Imported late: current pods do not have it.
        from probetui.manifest.validation.tolerations_annotation import (  # noqa: PLC0415
            validate_tolerations_annotation,
        )

        yield from validate_tolerations_annotation(tolerations, path, rules)
    cost = annotations.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        yield invalid(f"{path}[{_DELETION_COST}]", cost, "must be a 32bit integer")
    yield from validate_seccomp_annotations(annotations, path)
    yield from _app_armor(annotations, spec, path)


def _app_armor(
    annotations: Mapping[str, str], spec: core_v1.PodSpec, path: str
) -> Iterator[FieldError]:
    keys = [key for key in sorted(annotations) if key.startswith(APP_ARMOR)]
    if not keys:
        return
    # Imported late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        is_annotated_profile,
    )

    known = {container.name for _, container in containers_with_paths(spec)}
    for key in keys:
        profile = annotations[key]
        name = key.removeprefix(APP_ARMOR)
        if name not in known:
            yield invalid(f"{path}[{key}]", name, "container not found")
        if not is_annotated_profile(profile):
            detail = f"invalid AppArmor profile name: {quote(profile)}"
            yield invalid(f"{path}[{key}]", profile, detail)


def _is_cost(text: str) -> bool:
    return _COST.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


def validate_annotations(
    annotations: Mapping[str, str], path: str
) -> Iterator[FieldError]:
    """Check the keys of annotations, and their total size."""
    for key in sorted(annotations):
        errors = names.check_qualified_name(key.lower())
        yield from names.invalid_names(path, key, errors)
    yield from validate_annotations_size(annotations, path)


def validate_annotations_size(
    annotations: Mapping[str, str], path: str
) -> Iterator[FieldError]:
    """Check the size of annotations, keys and values together."""
    texts = chain(annotations.keys(), annotations.values())
    if sum(names.byte_length(text) for text in texts) > (_MAX_ANNOTATION_BYTES):
        yield too_long(path, _MAX_ANNOTATION_BYTES)


def _owners(owners: list[meta_v1.OwnerReference], path: str) -> Iterator[FieldError]:
    """Check owners; like the API server, omit the index in errors."""
    controller = ""
    for owner in owners:
        group, _, version = (owner.apiVersion or "").rpartition("/")
        if not version or "/" in group:
            detail = "version must not be empty"
            yield invalid(f"{path}.apiVersion", owner.apiVersion or "", detail)
        for name in ("kind", "name", "uid"):
            if not getattr(owner, name):
                yield invalid(f"{path}.{name}", "", "must not be empty")
        if (owner.apiVersion, owner.kind) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            yield invalid(path, _go_owner(owner), detail)
        if owner.controller:
            this = f"{owner.kind}/{owner.name}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. Found"
                    f' "true" in references for {controller} and {this}'
                )
                every = [_go_owner(one) for one in owners]
                listed = ", ".join(one.text for one in every)
                value = GoSyntax(
                    f"[]v1.OwnerReference{{{listed}}}",
                    f"[{','.join(one.json for one in every)}]",
                )
                yield invalid(path, value, detail)
            else:
                controller = this


def _go_owner(owner: meta_v1.OwnerReference) -> GoSyntax:
    fields: dict[str, object] = {
        name: getattr(owner, name) or ""
        for name in ("apiVersion", "kind", "name", "uid")
    }
    for name in ("controller", "blockOwnerDeletion"):
        if getattr(owner, name) is not None:
            fields[name] = getattr(owner, name)
    return GoSyntax(
        f'v1.OwnerReference{{APIVersion:"{owner.apiVersion}", Kind:"{owner.kind}",'
        f' Name:"{owner.name}", UID:"{owner.uid}"}}',
        go_json(fields),
    )


def _finalizers(finalizers: list[str], path: str) -> Iterator[FieldError]:
    for finalizer in finalizers:
        errors = names.check_qualified_name(finalizer)
        yield from names.invalid_names(path, finalizer, errors)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield invalid(path, go_strings(finalizers), detail)


def _manager(name: str, path: str) -> Iterator[FieldError]:
    """Check managers of fields; positions are in bytes, as in Go."""
    if names.byte_length(name) > _MAX_MANAGER:
        yield too_long(path, _MAX_MANAGER)
    position = 0
    for character in name:
        if not character.isprintable():
            code = f"U+{ord(character):04X}"
            detail = f"invalid character {code} (at position {position})"
            yield invalid(path, name, detail)
        position += names.byte_length(character)


def _managed(
    entries: Iterable[meta_v1.ManagedFieldsEntry], path: str
) -> Iterator[FieldError]:
    for index, entry in enumerate(entries):
        at = f"{path}[{index}]"
        if entry.operation not in {"Apply", "Update"}:
            detail = "must be `Apply` or `Update`"
            yield invalid(f"{at}.operation", entry.operation or "", detail)
        if entry.fieldsType and entry.fieldsType != "FieldsV1":
            yield invalid(f"{at}.fieldsType", entry.fieldsType, "must be `FieldsV1`")
        yield from _manager(entry.manager or "", f"{at}.manager")
        if names.byte_length(entry.subresource or "") > _MAX_SUBRESOURCE:
            yield too_long(f"{at}.subresource", _MAX_SUBRESOURCE)
