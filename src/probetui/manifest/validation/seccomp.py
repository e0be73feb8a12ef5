"""The API server's rules for seccomp profiles, and for annotations beside fields.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateSeccompProfileField,
validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lightkube.models import core_v1

from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    forbidden,
    go_json,
    invalid,
    not_supported,
    required,
)
from probetui.manifest.validation.paths import descending
from probetui.manifest.validation.warnings import APP_ARMOR, containers_with_paths

_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_LOCALHOST = "localhost/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
"""The prefix of an annotation of an AppArmor profile, before the container's name."""

_SAME = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
"""The annotations that mean the same as a type."""


def validate_seccomp(
    profile: core_v1.SeccompProfile | None, path: str
) -> Iterator[FieldError]:
    """Check a seccomp profile of a security context."""
    if profile is None:
        return
    if not profile.type:
        yield required(f"{path}.type", "type is required when seccompProfile is set")
    elif profile.type not in _TYPES:
        yield not_supported(f"{path}.type", profile.type, _TYPES)
    at = f"{path}.localhostProfile"
    if profile.type == "Localhost":
        if profile.localhostProfile is None:
            yield required(at, "must be set when seccomp type is Localhost")
        else:
            yield from descending(profile.localhostProfile, at)
    elif profile.localhostProfile is not None:
        value = GoSyntax(
            f'core.SeccompProfile{{Type:"{profile.type}",'
            " LocalhostProfile:(*string)(...)}",
            go_json(
                {"Type": profile.type, "LocalhostProfile": profile.localhostProfile}
            ),
        )
        yield invalid(at, value, "can only be set when seccomp type is Localhost")


def validate_seccomp_annotations(
    annotations: Mapping[str, str], path: str
) -> Iterator[FieldError]:
    """Check the deprecated annotations that name profiles."""
    keys = [key for key in sorted(annotations) if key.startswith(SECCOMP_CONTAINER)]
    for key in [*([SECCOMP_POD] if SECCOMP_POD in annotations else []), *keys]:
        profile = annotations[key]
        if profile.startswith(_LOCALHOST):
            yield from descending(profile.removeprefix(_LOCALHOST), f"{path}.{key}")
        elif profile not in {*_SAME["Unconfined"], *_SAME["RuntimeDefault"]}:
            yield invalid(f"{path}.{key}", profile, "must be a valid seccomp profile")


def validate_profile_matches(
    annotations: Mapping[str, str], spec: core_v1.PodSpec
) -> Iterator[FieldError]:
    """Check that the annotations and the fields of a new pod name the same profiles."""
    context = spec.securityContext or core_v1.PodSecurityContext()
    yield from _match(
        annotations.get(SECCOMP_POD),
        context.seccompProfile,
        "spec.securityContext.seccompProfile",
    )
    for path, container in containers_with_paths(spec):
        own = container.securityContext or core_v1.SecurityContext()
        yield from _match(
            annotations.get(f"{SECCOMP_CONTAINER}{container.name}"),
            own.seccompProfile,
            f"{path}.securityContext.seccompProfile",
        )
    if spec.os is not None and spec.os.name == "windows":
        return
    if not any(key.startswith(APP_ARMOR) for key in annotations):
        return
    # Late: few pods have it.
    from probetui.manifest.validation.app_armor import (  # noqa: PLC0415
        app_armor_mismatch,
    )

    for path, container in containers_with_paths(spec):
        own = container.securityContext or core_v1.SecurityContext()
        field = app_armor_mismatch(
            annotations.get(f"{APP_ARMOR}{container.name}"),
            own.appArmorProfile,
            context.appArmorProfile,
        )
        if field:
            what = "type" if field == "type" else "profile"
            detail = f"apparmor {what} in annotation and field must match"
            yield forbidden(f"{path}.securityContext.appArmorProfile.{field}", detail)


def _match(
    annotation: str | None, profile: core_v1.SeccompProfile | None, path: str
) -> Iterator[FieldError]:
    if annotation is None or profile is None:
        return
    other = "seccomp type in annotation and field must match"
    if profile.type == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            yield forbidden(f"{path}.type", other)
        elif annotation.removeprefix(_LOCALHOST) != profile.localhostProfile:
            detail = "seccomp profile in annotation and field must match"
            yield forbidden(f"{path}.localhostProfile", detail)
    elif annotation not in _SAME.get(profile.type, (annotation,)):
        yield forbidden(f"{path}.type", other)
