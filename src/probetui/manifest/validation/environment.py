"""The API server's rules for environment variables.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateEnv,
ValidateEnvFrom.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    not_supported,
    required,
)

_MANY_SOURCES = "may not have more than one field specified at a time"
_RESOURCES = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
    "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
    "status.podIPs",
)  # fmt: skip
"""The fields that variables may have; files may have `FILES`."""

FILES = (
    "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
    "metadata.uid",
)  # fmt: skip
_SUBSCRIPTED = ("metadata.annotations['", "metadata.labels['")


def validate_environment(
    container: core_v1.Container, path: str, *, strict_names: bool
) -> Iterator[FieldError]:
    """Check `env` and then `envFrom` of a container."""
    for index, variable in enumerate(container.env or ()):
        at = f"{path}.env[{index}]"
        yield from _name(variable.name, f"{at}.name", strict_names=strict_names)
        if variable.valueFrom is not None:
            yield from _value_from(variable, variable.valueFrom, f"{at}.valueFrom")
    whole = f"{path}.envFrom"
    for index, source in enumerate(container.envFrom or ()):
        at = f"{whole}[{index}]"
        if source.prefix:
            found = names.check_env_name(source.prefix, is_strict=strict_names)
            yield from names.invalid_names(f"{at}.prefix", source.prefix, found)
        yield from _env_from(source, at, whole)


def _name(name: str, path: str, *, strict_names: bool) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    yield from names.invalid_names(
        path, name, names.check_env_name(name, is_strict=strict_names)
    )


def _value_from(
    variable: core_v1.EnvVar, source: core_v1.EnvVarSource, path: str
) -> Iterator[FieldError]:
    count = 0
    if source.fieldRef is not None:
        count += 1
        yield from validate_field_ref(source.fieldRef, f"{path}.fieldRef")
    if source.resourceFieldRef is not None:
        count += 1
        yield from _resource(source.resourceFieldRef, f"{path}.resourceFieldRef")
    for name, key in (
        ("configMapKeyRef", source.configMapKeyRef),
        ("secretKeyRef", source.secretKeyRef),
    ):
        if key is not None:
            count += 1
            yield from _key(key, f"{path}.{name}")
    if not count:
        one_of = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(path, "", f"must specify one of: {one_of}")
    elif variable.value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid(path, "", _MANY_SOURCES)


def validate_field_ref(
    ref: core_v1.ObjectFieldSelector, path: str, fields: Collection[str] = VARIABLES
) -> Iterator[FieldError]:
    """Check the field of a fieldRef; `fields` are the supported ones.

    Difference: a label's or annotation's key in brackets is not checked.
    """
    if not ref.fieldPath:
        yield required(f"{path}.fieldPath")
    elif ref.fieldPath not in fields and not ref.fieldPath.startswith(_SUBSCRIPTED):
        yield not_supported(f"{path}.fieldPath", ref.fieldPath, fields)


def _resource(ref: core_v1.ResourceFieldSelector, path: str) -> Iterator[FieldError]:
    if not ref.resource:
        yield required(f"{path}.resource")
    elif ref.resource not in _RESOURCES and not ref.resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", ref.resource, _RESOURCES)


def _key(
    ref: core_v1.ConfigMapKeySelector | core_v1.SecretKeySelector, path: str
) -> Iterator[FieldError]:
    name = ref.name or ""
    yield from names.invalid_names(f"{path}.name", name, names.check_subdomain(name))
    if not ref.key:
        yield required(f"{path}.key")
        return
    yield from names.invalid_names(
        f"{path}.key", ref.key, names.check_config_key(ref.key)
    )


def _env_from(
    source: core_v1.EnvFromSource, path: str, whole: str
) -> Iterator[FieldError]:
    """Check one source; an error in their number is reported for the list."""
    count = 0
    for name, ref in (
        ("configMapRef", source.configMapRef),
        ("secretRef", source.secretRef),
    ):
        if ref is None:
            continue
        count += 1
        if not ref.name:
            yield required(f"{path}.{name}.name")
        else:
            found = names.check_subdomain(ref.name)
            yield from names.invalid_names(f"{path}.{name}.name", ref.name, found)
    if not count:
        yield invalid(whole, "", "must specify one of: `configMapRef` or `secretRef`")
    elif count > 1:
        yield invalid(whole, "", _MANY_SOURCES)
