"""The API server's rules for seccomp profiles, and for annotations beside fields.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateSeccompProfileField,
validateSeccompAnnotationsAndFields, validateAppArmorAnnotationsAndFieldsMatchOnCreate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    GoSyntax,
    forbidden,
    go_json,
    invalid,
    required,
)
from probetui.manifest.validation.rules import Required, Rules, choice
from probetui.manifest.validation.warnings import APP_ARMOR, containers_with_paths

_LOCALHOST = "localhost/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
"""The prefix of an annotation of a seccomp profile, before the container's name."""

_SAME = {
    "Unconfined": ("unconfined",),
    "RuntimeDefault": ("runtime/default", "docker/default"),
}
"""The annotations that mean the same as a type."""


def _localhost_profile(profile: core_v1.SeccompProfile) -> Iterator[FieldError]:
    at, name = "localhostProfile", profile.localhostProfile
    if profile.type == "Localhost":
        if name is None:
            yield required(at, "must be set when seccomp type is Localhost")
        else:
            yield from names.invalid_names(at, name, names.check_descending(name))
    elif name is not None:
        value = GoSyntax(
            f'core.SeccompProfile{{Type:"{profile.type}",'
            " LocalhostProfile:(*string)(...)}",
            go_json({"Type": profile.type, "LocalhostProfile": name}),
        )
        yield invalid(at, value, "can only be set when seccomp type is Localhost")


SECCOMP_PROFILE = Rules(
    core_v1.SeccompProfile,
    Required(
        "type",
        choice("Localhost", "RuntimeDefault", "Unconfined"),
        detail="type is required when seccompProfile is set",
    ),
    _localhost_profile,
)


def seccomp_annotations(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    """Check the deprecated annotations that name profiles."""
    keys = [key for key in sorted(annotations) if key.startswith(SECCOMP_CONTAINER)]
    for key in [*([SECCOMP_POD] if SECCOMP_POD in annotations else []), *keys]:
        profile = annotations[key]
        if profile.startswith(_LOCALHOST):
            file = profile.removeprefix(_LOCALHOST)
            yield from names.invalid_names(key, file, names.check_descending(file))
        elif profile not in {*_SAME["Unconfined"], *_SAME["RuntimeDefault"]}:
            yield invalid(key, profile, "must be a valid seccomp profile")


def profile_matches(pod: core_v1.Pod) -> Iterator[FieldError]:
    """Check that the annotations and the fields of a new pod name the same profiles."""
    annotations = (pod.metadata and pod.metadata.annotations) or {}
    spec = pod.spec
    if spec is None or not annotations:
        return
    context = spec.securityContext or core_v1.PodSecurityContext()
    yield from _match(
        annotations.get(SECCOMP_POD), context.seccompProfile, "spec.securityContext"
    )
    for path, container in containers_with_paths(spec):
        own = container.securityContext or core_v1.SecurityContext()
        annotation = annotations.get(f"{SECCOMP_CONTAINER}{container.name}")
        yield from _match(annotation, own.seccompProfile, f"{path}.securityContext")
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
        name = app_armor_mismatch(
            annotations.get(f"{APP_ARMOR}{container.name}"),
            own.appArmorProfile,
            context.appArmorProfile,
        )
        if name:
            what = "type" if name == "type" else "profile"
            detail = f"apparmor {what} in annotation and field must match"
            yield forbidden(f"{path}.securityContext.appArmorProfile.{name}", detail)


def _match(
    annotation: str | None, profile: core_v1.SeccompProfile | None, path: str
) -> Iterator[FieldError]:
    if annotation is None or profile is None:
        return
    at, other = (
        f"{path}.seccompProfile",
        "seccomp type in annotation and field must match",
    )
    if profile.type == "Localhost":
        if not annotation.startswith(_LOCALHOST):
            yield forbidden(f"{at}.type", other)
        elif annotation.removeprefix(_LOCALHOST) != profile.localhostProfile:
            detail = "seccomp profile in annotation and field must match"
            yield forbidden(f"{at}.localhostProfile", detail)
    elif annotation not in _SAME.get(profile.type, (annotation,)):
        yield forbidden(f"{at}.type", other)
