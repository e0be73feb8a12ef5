"""The API server's rules for a pod's metadata.

Source: k8s.io/apimachinery v0.32.10, pkg/api/validation/objectmeta.go,
ValidateObjectMetaAccessor; pkg/apis/core/validation/validation.go, v1.32.10,
ValidatePodSpecificAnnotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from lightkube.models import core_v1, meta_v1

from probetui.manifest.problem import quote
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    go_json,
    go_strings,
    invalid,
    too_long,
)
from probetui.manifest.validation.rules import (
    Always,
    Context,
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Remembering,
    Required,
    Rules,
    at_least,
    check,
    in_context,
    must,
    valid,
)
from probetui.manifest.validation.seccomp import seccomp_annotations
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


def valid_labels(pairs: Mapping[str, str]) -> Iterator[FieldError]:
    """Check keys and values of labels, or of a node selector."""
    for key, value in sorted(pairs.items()):
        yield from names.invalid_names("", key, names.check_qualified_name(key))
        yield from names.invalid_names("", value, names.check_label_value(value))


def valid_annotations(pairs: Mapping[str, str]) -> Iterator[FieldError]:
    """Check the keys of annotations, and their total size."""
    for key in sorted(pairs):
        errors = names.check_qualified_name(key.lower())
        yield from names.invalid_names("", key, errors)
    yield from small_annotations(pairs)


def small_annotations(pairs: Mapping[str, str]) -> Iterator[FieldError]:
    """Check the size of annotations, keys and values together."""
    texts = chain(pairs.keys(), pairs.values())
    if sum(names.byte_length(text) for text in texts) > _MAX_ANNOTATION_BYTES:
        yield too_long("", _MAX_ANNOTATION_BYTES)


def _generated_name(name: str) -> Iterator[str]:
    return names.check_subdomain(names.mask_dash(name))


def _namespace(name: str | None) -> Errors:
    """Check a namespace; a missing one is `default`."""
    name = name or "default"
    return names.invalid_names("", name, names.check_label(name))


def _owners(
    metadata: meta_v1.ObjectMeta, _: Context
) -> Callable[[meta_v1.OwnerReference], Errors]:
    controllers: list[str] = []

    def find(owner: meta_v1.OwnerReference) -> Iterator[FieldError]:
        group, _, version = (owner.apiVersion or "").rpartition("/")
        if not version or "/" in group:
            detail = "version must not be empty"
            yield invalid("apiVersion", owner.apiVersion or "", detail)
        for name in ("kind", "name", "uid"):
            if not getattr(owner, name):
                yield invalid(name, "", "must not be empty")
        if (owner.apiVersion, owner.kind) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            yield invalid("", _go_owner(owner), detail)
        if not owner.controller:
            return
        controllers.append(f"{owner.kind}/{owner.name}")
        if len(controllers) > 1:
            detail = (
                "Only one reference can have Controller set to true. Found"
                f' "true" in references for {controllers[0]} and {controllers[-1]}'
            )
            every = [_go_owner(other) for other in metadata.ownerReferences or ()]
            value = GoSyntax(
                f"[]v1.OwnerReference{{{', '.join(other.text for other in every)}}}",
                f"[{','.join(other.json for other in every)}]",
            )
            yield invalid("", value, detail)

    return find


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


def _one_end(finalizers: list[str]) -> Iterator[FieldError]:
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        yield invalid("", go_strings(finalizers), detail)


def _manager(name: str | None) -> Iterator[FieldError]:
    """Check a manager of fields; positions are in bytes, as in Go."""
    name = name or ""
    if names.byte_length(name) > _MAX_MANAGER:
        yield too_long("", _MAX_MANAGER)
    position = 0
    for character in name:
        if not character.isprintable():
            code = f"U+{ord(character):04X}"
            detail = f"invalid character {code} (at position {position})"
            yield invalid("", name, detail)
        position += names.byte_length(character)


def _operation(operation: str | None) -> Iterator[FieldError]:
    if operation not in {"Apply", "Update"}:
        yield invalid("", operation or "", "must be `Apply` or `Update`")


def _subresource(name: str) -> Iterator[FieldError]:
    if names.byte_length(name) > _MAX_SUBRESOURCE:
        yield too_long("", _MAX_SUBRESOURCE)


METADATA = Rules(
    meta_v1.ObjectMeta,
    IfFilled("generateName", valid(_generated_name)),
    Required(
        "name",
        valid(names.check_subdomain),
        detail="name or generateName is required",
    ),
    Always("namespace", _namespace),
    IfSet("generation", at_least(0)),
    IfFilled("labels", valid_labels),
    IfFilled("annotations", valid_annotations),
    Each("ownerReferences", Remembering(_owners), at="ownerReferences"),
    Each("finalizers", valid(names.check_qualified_name), at="finalizers"),
    IfFilled("finalizers", _one_end),
    Each(
        "managedFields",
        Always("operation", _operation),
        IfFilled(
            "fieldsType",
            must(lambda kind: kind == "FieldsV1", "must be `FieldsV1`"),
        ),
        IfFilled("manager", _manager),
        IfFilled("subresource", _subresource),
    ),
    Each(
        "finalizers",
        must(
            lambda name: "/" in name or name in _STANDARD_FINALIZERS,
            "name is neither a standard finalizer name nor is it fully qualified",
        ),
    ),
)


def _is_cost(text: str) -> bool:
    return _COST.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


@in_context
def _pod_annotations(
    pairs: Mapping[str, str], context: PodContext
) -> Iterator[FieldError]:
    """Check the annotations that have an effect in a pod."""
    mirror = pairs.get(MIRROR_ANNOTATION)
    if mirror is not None and not context.spec.nodeName:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"[{MIRROR_ANNOTATION}]", mirror, detail)
    tolerations = pairs.get(TOLERATIONS)
    if tolerations:
        # Late: current pods do not have it.
        from probetui.manifest.validation.tolerations_annotation import (  # noqa: PLC0415
            TOLERATIONS_ANNOTATION,
        )

        yield from check(TOLERATIONS_ANNOTATION, tolerations, context)
    cost = pairs.get(_DELETION_COST)
    if cost is not None and not _is_cost(cost):
        yield invalid(f"[{_DELETION_COST}]", cost, "must be a 32bit integer")
    yield from seccomp_annotations(pairs)
    yield from _app_armor(pairs, context.spec)


def _app_armor(pairs: Mapping[str, str], spec: core_v1.PodSpec) -> Iterator[FieldError]:
    keys = [key for key in sorted(pairs) if key.startswith(APP_ARMOR)]
    if not keys:
        return
    # Late: few pods have one.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        is_annotated_profile,
    )

    known = {container.name for _, container in containers_with_paths(spec)}
    for key in keys:
        profile = pairs[key]
        name = key.removeprefix(APP_ARMOR)
        if name not in known:
            yield invalid(f"[{key}]", name, "container not found")
        if not is_annotated_profile(profile):
            detail = f"invalid AppArmor profile name: {quote(profile)}"
            yield invalid(f"[{key}]", profile, detail)


POD_METADATA = Rules(
    meta_v1.ObjectMeta, METADATA, IfFilled("annotations", _pod_annotations)
)
