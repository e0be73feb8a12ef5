"""The API server's rules for environment variables.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateEnv,
ValidateEnvFrom, validateContainerResourceDivisor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lightkube.models import core_v1

from probetui.k8s.api.quantity import canonical_quantity, parse_quantity
from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.paths import no_backsteps
from probetui.manifest.validation.warnings import containers_with_paths

_LAST_SOURCE = " or `secretKeyRef`"
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
_SUBSCRIPTED = frozenset({"metadata.annotations", "metadata.labels"})
_SUBSCRIPT = re.compile(r"(?P<path>(?:(?!\[').)+)\['(?P<key>.*)'\]", re.DOTALL)
_FIELDS = frozenset({
    *VARIABLES, *FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase",
    "spec.host",
})  # fmt: skip
"""The fields with a name here, whether or not a variable can refer to them."""

_FORMER = {"spec.host": "spec.nodeName"}
_CORES = ("1m", "1")
_BYTES = (
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
)  # fmt: skip


def validate_environment(
    container: core_v1.Container, path: str, *, strict_names: bool, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check `env` and then `envFrom` of a container."""
    for index, variable in enumerate(container.env or ()):
        at = f"{path}.env[{index}]"
        yield from _name(variable.name, f"{at}.name", strict_names=strict_names)
        if variable.valueFrom is not None:
            source = variable.valueFrom
            yield from _value_from(variable, source, f"{at}.valueFrom", rules)
    whole = f"{path}.envFrom"
    for index, many in enumerate(container.envFrom or ()):
        at = f"{whole}[{index}]"
        if many.prefix:
            errors = names.check_env_name(many.prefix, is_strict=strict_names)
            yield from names.invalid_names(f"{at}.prefix", many.prefix, errors)
        yield from _env_from(many, at, whole)


def _name(name: str, path: str, *, strict_names: bool) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    yield from names.invalid_names(
        path, name, names.check_env_name(name, is_strict=strict_names)
    )


def _value_from(
    variable: core_v1.EnvVar,
    source: core_v1.EnvVarSource,
    path: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    count = 0
    if source.fieldRef is not None:
        count += 1
        yield from validate_field_ref(source.fieldRef, f"{path}.fieldRef")
    if source.resourceFieldRef is not None:
        count += 1
        at = f"{path}.resourceFieldRef"
        yield from validate_resource_ref(source.resourceFieldRef, at, is_file=False)
    for name, key in (
        ("configMapKeyRef", source.configMapKeyRef),
        ("secretKeyRef", source.secretKeyRef),
    ):
        if key is not None:
            count += 1
            yield from _key(key, f"{path}.{name}")
    if source.fileKeyRef is not None:
        count += 1
        yield from _file_key(source.fileKeyRef, f"{path}.fileKeyRef")
    if not count:
        last = ", `secretKeyRef` or `fileKeyRef`" if rules.env_files else _LAST_SOURCE
        one_of = f"`fieldRef`, `resourceFieldRef`, `configMapKeyRef`{last}"
        yield invalid(path, "", f"must specify one of: {one_of}")
    elif variable.value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid(path, "", _MANY_SOURCES)


def validate_field_ref(
    ref: core_v1.ObjectFieldSelector, path: str, fields: Collection[str] = VARIABLES
) -> Iterator[FieldError]:
    """Check the field of a fieldRef; `fields` are the supported ones.

    Source: validation.go, v1.32.10, validateObjectFieldSelector; pods/helpers.go,
    ConvertDownwardAPIFieldLabel.
    """
    if not ref.apiVersion:
        yield required(f"{path}.apiVersion")
        return
    if not ref.fieldPath:
        yield required(f"{path}.fieldPath")
        return
    written = _SUBSCRIPT.fullmatch(ref.fieldPath)
    field = written["path"] if written is not None else ref.fieldPath
    problem = ""
    if ref.apiVersion != "v1":
        problem = f"unsupported pod version: {ref.apiVersion}"
    elif written is not None and field not in _SUBSCRIPTED:
        problem = f"field label does not support subscript: {ref.fieldPath}"
    elif written is None and field not in _FIELDS:
        problem = f"field label not supported: {ref.fieldPath}"
    if problem:
        detail = f"error converting fieldPath: {problem}"
        yield invalid(f"{path}.fieldPath", ref.fieldPath, detail)
    elif written is not None:
        key = written["key"]
        if field == "metadata.annotations":
            key = key.lower()
        yield from names.invalid_names(path, key, names.check_qualified_name(key))
    elif (known := _FORMER.get(field, field)) not in fields:
        yield not_supported(f"{path}.fieldPath", known, fields, is_named=False)


def validate_resource_ref(
    ref: core_v1.ResourceFieldSelector, path: str, *, is_file: bool
) -> Iterator[FieldError]:
    """Check the reference of a variable or file to a limit or request."""
    name = ref.resource
    if is_file and not ref.containerName:
        yield required(f"{path}.containerName")
    elif not name:
        yield required(f"{path}.resource")
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", name, _RESOURCES, is_named=False)
    divisor = ref.divisor or "0"
    if parse_quantity(divisor) == 0:
        return
    kind = name.partition(".")[2]
    divisors: tuple[str, ...] = _BYTES
    if name.startswith(_HUGE_PAGES):
        what = "hugepages"
    elif name in _RESOURCES:
        what = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        if kind == "cpu":
            divisors = _CORES
    else:
        return
    if canonical_quantity(divisor) not in divisors:
        listed = " and ".join(_CORES) if divisors is _CORES else ", ".join(_BYTES)
        detail = (
            f"only divisor's values {listed} are supported with the {what} resource"
        )
        yield invalid(f"{path}.divisor", name, detail)


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


def _file_key(ref: core_v1.FileKeySelector, path: str) -> Iterator[FieldError]:
    """Check a variable from a file in a volume.

    Source: validation.go, v1.36.2, validateFileKeySelector.
    """
    for name, check in (
        ("key", _check_file_key),
        ("volumeName", names.check_label),
    ):
        value = getattr(ref, name)
        if not value:
            yield required(f"{path}.{name}")
        else:
            yield from names.invalid_names(f"{path}.{name}", value, check(value))
    if not ref.path:
        yield required(f"{path}.path")
    else:
        yield from no_backsteps(ref.path, f"{path}.path")


def _check_file_key(value: str) -> Iterator[str]:
    return names.check_env_name(value, is_strict=False)


def validate_env_files(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check that files with variables are in emptyDir volumes of the pod.

    Source: validation.go, v1.36.2, validateFileKeyRefVolumes.
    """
    volumes = {volume.name: volume for volume in spec.volumes or ()}
    for path, container in containers_with_paths(spec):
        for index, variable in enumerate(container.env or ()):
            ref = variable.valueFrom and variable.valueFrom.fileKeyRef
            if not ref:
                continue
            at = f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName"
            volume = volumes.get(ref.volumeName)
            if volume is None:
                yield not_found(at, ref.volumeName)
            elif volume.emptyDir is None:
                detail = "referenced volume must be of type emptyDir"
                yield invalid(at, ref.volumeName, detail)


def _env_from(
    source: core_v1.EnvFromSource, path: str, whole: str
) -> Iterator[FieldError]:
    """Check one source; an error in their number is reported for the list.

    Quirk, kept: a dash may end the name, as if something were added to it.
    """
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
            errors = names.check_subdomain(names.mask_dash(ref.name))
            yield from names.invalid_names(f"{path}.{name}.name", ref.name, errors)
    if not count:
        yield invalid(whole, "", "must specify one of: `configMapRef` or `secretRef`")
    elif count > 1:
        yield invalid(whole, "", _MANY_SOURCES)
