"""The API server's rules for AppArmor profiles: the field, and the older annotation.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateAppArmorProfileField,
ValidateAppArmorProfileFormat; pkg/api/pod/util.go, ApparmorFieldForAnnotation.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    not_supported,
    required,
    too_long,
)
from probetui.manifest.validation.rules import Rules, check
from probetui.manifest.validation.warnings import APP_ARMOR

_LOCALHOST = "localhost/"
_RUNTIME_DEFAULT = "runtime/default"
_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_ANNOTATED = {"unconfined": "Unconfined", _RUNTIME_DEFAULT: "RuntimeDefault"}
_MAX_PROFILE = 4095


def _app_armor(profile: core_v1.AppArmorProfile) -> Iterator[FieldError]:
    at, name = "localhostProfile", profile.localhostProfile
    if profile.type == "Localhost":
        if name is None or not name:
            yield required(at, "must be set when AppArmor type is Localhost")
        elif names.trim_space(name) != name:
            yield invalid(at, name, "must not be padded with whitespace")
        if name is not None and names.byte_length(name) > _MAX_PROFILE:
            yield too_long(at, _MAX_PROFILE)
    elif profile.type in _TYPES:
        if name is not None:
            detail = "can only be set when AppArmor type is Localhost"
            yield invalid(at, name, detail)
    elif not profile.type:
        yield required("type", "type is required when appArmorProfile is set")
    else:
        yield not_supported("type", profile.type, _TYPES)


APP_ARMOR_PROFILE = Rules(core_v1.AppArmorProfile, _app_armor)


def is_annotated_profile(text: str) -> bool:
    """Return whether the value of an annotation has the form of a profile."""
    return not text or text in _ANNOTATED or text.startswith(_LOCALHOST)


def annotated_profile(text: str) -> core_v1.AppArmorProfile | None:
    """Return the profile of an annotation, None if a field cannot express it."""
    if text in _ANNOTATED:
        return core_v1.AppArmorProfile(type=_ANNOTATED[text])
    if not text.startswith(_LOCALHOST):
        return None
    name = text.removeprefix(_LOCALHOST)
    profile = core_v1.AppArmorProfile(type="Localhost", localhostProfile=name)
    return None if check(APP_ARMOR_PROFILE, profile) else profile


def annotations_to_fields(pod: core_v1.Pod) -> None:
    """Set each container's profile from its annotation, as on creation.

    The pod's own profile is not repeated.

    Source: pkg/registry/core/pod/strategy.go, v1.36.2, applyAppArmorVersionSkew.
    """
    annotations = (pod.metadata and pod.metadata.annotations) or {}
    spec = pod.spec
    if spec is None or (spec.os is not None and spec.os.name == "windows"):
        return
    of_pod = spec.securityContext and spec.securityContext.appArmorProfile
    for container in (*(spec.initContainers or ()), *spec.containers):
        text = annotations.get(f"{APP_ARMOR}{container.name}")
        own = container.securityContext and container.securityContext.appArmorProfile
        profile = annotated_profile(text) if text is not None and not own else None
        if profile is not None and profile != of_pod:
            context = container.securityContext or core_v1.SecurityContext()
            context.appArmorProfile = profile
            container.securityContext = context


def app_armor_mismatch(
    annotation: str | None,
    own: core_v1.AppArmorProfile | None,
    of_pod: core_v1.AppArmorProfile | None,
) -> str:
    """Return the field that differs from a container's annotation, empty if none.

    If a container has no field, it is set from the annotation before the comparison, so
    that the two are equal.
    """
    if annotation is None or (own is None and annotated_profile(annotation)):
        return ""
    profile = own or of_pod
    if profile is None:
        return ""
    if profile.type == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            return "type"
        name = annotation.removeprefix(_LOCALHOST)
        return "" if name == profile.localhostProfile else "localhostProfile"
    same = {kind: text for text, kind in _ANNOTATED.items()}
    return "" if same.get(profile.type, annotation) == annotation else "type"
