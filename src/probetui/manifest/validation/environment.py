"""The API server's rules for environment variables.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateEnv,
ValidateEnvFrom, validateContainerResourceDivisor; v1.36.2, validateFileKeySelector.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import partial

from lightkube.models import core_v1

from probetui.k8s.api.quantity import canonical_quantity, parse_quantity
from probetui.manifest.validation import names
from probetui.manifest.validation.field_error import (
    FieldError,
    invalid,
    not_found,
    not_supported,
    required,
)
from probetui.manifest.validation.rules import (
    Always,
    Each,
    Errors,
    IfFilled,
    IfSet,
    PodContext,
    Required,
    Rules,
    Unindexed,
    in_context,
    valid,
)
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


def _field_ref(
    ref: core_v1.ObjectFieldSelector, fields: Collection[str]
) -> Iterator[FieldError]:
    """Check the field of a fieldRef; `fields` are the supported ones.

    Source: validation.go, v1.32.10, validateObjectFieldSelector; pods/helpers.go,
    ConvertDownwardAPIFieldLabel.
    """
    if not ref.apiVersion:
        yield required("apiVersion")
        return
    if not ref.fieldPath:
        yield required("fieldPath")
        return
    written = _SUBSCRIPT.fullmatch(ref.fieldPath)
    label = written["path"] if written is not None else ref.fieldPath
    problem = ""
    if ref.apiVersion != "v1":
        problem = f"unsupported pod version: {ref.apiVersion}"
    elif written is not None and label not in _SUBSCRIPTED:
        problem = f"field label does not support subscript: {ref.fieldPath}"
    elif written is None and label not in _FIELDS:
        problem = f"field label not supported: {ref.fieldPath}"
    if problem:
        detail = f"error converting fieldPath: {problem}"
        yield invalid("fieldPath", ref.fieldPath, detail)
    elif written is not None:
        key = written["key"]
        if label == "metadata.annotations":
            key = key.lower()
        yield from names.invalid_names("", key, names.check_qualified_name(key))
    elif (known := _FORMER.get(label, label)) not in fields:
        yield not_supported("fieldPath", known, fields, is_named=False)


def _resource_ref(
    ref: core_v1.ResourceFieldSelector, *, is_file: bool
) -> Iterator[FieldError]:
    """Check the reference of a variable or file to a limit or request."""
    name = ref.resource
    if is_file and not ref.containerName:
        yield required("containerName")
    elif not name:
        yield required("resource")
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield not_supported("resource", name, _RESOURCES, is_named=False)
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
        yield invalid("divisor", name, detail)


FIELD_OF_VARIABLE = Rules(
    core_v1.ObjectFieldSelector, partial(_field_ref, fields=VARIABLES)
)
FIELD_OF_FILE = Rules(core_v1.ObjectFieldSelector, partial(_field_ref, fields=FILES))
RESOURCE_OF_VARIABLE = Rules(
    core_v1.ResourceFieldSelector, partial(_resource_ref, is_file=False)
)
RESOURCE_OF_FILE = Rules(
    core_v1.ResourceFieldSelector, partial(_resource_ref, is_file=True)
)


@in_context
def _variable_name(name: str, context: PodContext) -> Errors:
    """Check a name, or the prefix of names; the kubelet is strict with pod files."""
    is_strict = context.strict_env_names or not context.version.relaxed_env_names
    return names.invalid_names(
        "", name, names.check_env_name(name, is_strict=is_strict)
    )


def _check_file_key(value: str) -> Iterator[str]:
    return names.check_env_name(value, is_strict=False)


_KEY = Rules(
    core_v1.ConfigMapKeySelector | core_v1.SecretKeySelector,
    Always("name", valid(names.check_subdomain)),
    Required("key", valid(names.check_config_key)),
)
_SOURCES = (
    "fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef",
)  # fmt: skip


@in_context
def _one_source(variable: core_v1.EnvVar, context: PodContext) -> Iterator[FieldError]:
    source = variable.valueFrom
    if source is None:
        return
    count = sum(getattr(source, name) is not None for name in _SOURCES)
    if not count:
        last = _LAST_SOURCE
        if context.version.env_files:
            last = ", `secretKeyRef` or `fileKeyRef`"
        one_of = f"`fieldRef`, `resourceFieldRef`, `configMapKeyRef`{last}"
        yield invalid("valueFrom", "", f"must specify one of: {one_of}")
    elif variable.value:
        detail = "may not be specified when `value` is not empty"
        yield invalid("valueFrom", "", detail)
    elif count > 1:
        yield invalid("valueFrom", "", _MANY_SOURCES)


_VARIABLE = Rules(
    core_v1.EnvVar,
    Required("name", _variable_name),
    IfSet(
        "valueFrom",
        Rules(
            core_v1.EnvVarSource,
            IfSet("fieldRef", FIELD_OF_VARIABLE),
            IfSet("resourceFieldRef", RESOURCE_OF_VARIABLE),
            IfSet("configMapKeyRef", _KEY),
            IfSet("secretKeyRef", _KEY),
            IfSet(
                "fileKeyRef",
                Rules(
                    core_v1.FileKeySelector,
                    Required("key", valid(_check_file_key)),
                    Required("volumeName", valid(names.check_label)),
                    Required("path", valid(names.check_no_backsteps)),
                ),
            ),
        ),
    ),
    _one_source,
)


def _object_name(name: str) -> Iterator[str]:
    """Check the name of a whole object.

    Quirk, kept: a dash may end it, as if something were added to it.
    """
    return names.check_subdomain(names.mask_dash(name))


_OBJECT = Rules(
    core_v1.ConfigMapEnvSource | core_v1.SecretEnvSource,
    Required("name", valid(_object_name)),
)


def _one_object(source: core_v1.EnvFromSource) -> Iterator[FieldError]:
    count = (source.configMapRef is not None) + (source.secretRef is not None)
    if not count:
        yield invalid("", "", "must specify one of: `configMapRef` or `secretRef`")
    elif count > 1:
        yield invalid("", "", _MANY_SOURCES)


ENVIRONMENT = Rules(
    core_v1.Container,
    Each("env", _VARIABLE),
    Each(
        "envFrom",
        IfFilled("prefix", _variable_name),
        IfSet("configMapRef", _OBJECT),
        IfSet("secretRef", _OBJECT),
        Unindexed(_one_object),
    ),
)


def env_files(spec: core_v1.PodSpec) -> Iterator[FieldError]:
    """Check that files with variables are in emptyDir volumes of the pod.

    Source: validation.go, v1.36.2, validateFileKeyRefVolumes.
    """
    volumes = {volume.name: volume for volume in spec.volumes or ()}
    for path, container in containers_with_paths(spec, ""):
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
