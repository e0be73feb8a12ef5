"""The API server's rules for files in volumes: from keys, fields and tokens.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateSecretVolumeSource,
validateDownwardAPIVolumeFile; v1.32.10, v1.36.2, validateProjectionSources.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.manifest.validation import names
from probetui.manifest.validation.environment import FIELD_OF_FILE, RESOURCE_OF_FILE
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    required,
)
from probetui.manifest.validation.rules import (
    Each,
    IfSet,
    PodContext,
    Required,
    Rules,
    check,
    in_context,
    must,
    valid,
)

_MAX_MODE = 0o777
_LEAST_TOKEN_SECONDS = 600
_MOST_TOKEN_SECONDS = 1 << 32
_TAKEN = "conflicting duplicate paths"
_MANY_SOURCES = "may not specify more than 1 volume type"
_PARTS = (
    "secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle",
    "podCertificate",
)  # fmt: skip
_MODE = must(
    lambda mode: 0 <= mode <= _MAX_MODE,
    "must be a number between 0 and 0777 (octal), both inclusive",
)
_ITEM = Rules(
    core_v1.KeyToPath,
    Required("key"),
    Required("path", valid(names.check_not_reserved)),
    IfSet("mode", _MODE),
)


def _one_reference(file: core_v1.DownwardAPIVolumeFile) -> Iterator[FieldError]:
    if file.fieldRef is not None:
        yield from check(FIELD_OF_FILE, file.fieldRef, at="fieldRef")
        if file.resourceFieldRef is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid("", "resource", detail)
    elif file.resourceFieldRef is not None:
        yield from check(RESOURCE_OF_FILE, file.resourceFieldRef, at="resourceFieldRef")
    else:
        yield required("", "one of fieldRef and resourceFieldRef is required")


_DOWNWARD_FILE = Rules(
    core_v1.DownwardAPIVolumeFile,
    Required("path", valid(names.check_not_reserved)),
    _one_reference,
    IfSet("mode", _MODE),
)


@in_context
def _projections(
    source: core_v1.ProjectedVolumeSource, context: PodContext
) -> Iterator[FieldError]:
    """Check the sources of a projected volume; paths must be unique."""
    taken: set[str] = set()
    for index, projection in enumerate(source.sources or ()):
        at = f"sources[{index}]"
        yield from _entries(projection, at, taken)
        if projection.downwardAPI is not None:
            for file in projection.downwardAPI.items or ():
                yield from check(_DOWNWARD_FILE, file, at=f"{at}.downwardAPI")
                yield from _conflict(file.path, taken, file.path)
        if projection.serviceAccountToken is not None:
            yield from _token(projection.serviceAccountToken, at)
        yield from _certificates(projection, at, taken, context)
        if sum(getattr(projection, name) is not None for name in _PARTS) > 1:
            per_source = " per source" if context.version.projection_errors else ""
            yield forbidden(at, f"{_MANY_SOURCES}{per_source}")


def _certificates(
    projection: core_v1.VolumeProjection,
    path: str,
    taken: set[str],
    context: PodContext,
) -> Iterator[FieldError]:
    bundle, certificate = projection.clusterTrustBundle, projection.podCertificate
    if bundle is None and certificate is None:
        return
    # Late: few pods have them.
    from probetui.manifest.validation import certificates  # noqa: PLC0415

    if bundle is not None:
        suffix = "" if context.version.projection_errors else "PEM"
        at = f"{path}.clusterTrustBundle{suffix}"
        yield from check(certificates.TRUST_BUNDLE, bundle, context, at)
        if not bundle.path and "" in taken:
            yield invalid("", "", _TAKEN)
        yield from _conflict(bundle.path, taken, bundle.path)
        taken.add(bundle.path)
    if certificate is not None:
        at = f"{path}.podCertificate"
        yield from check(certificates.POD_CERTIFICATE, certificate, context, at)
        for file in certificates.certificate_paths(certificate):
            yield from _conflict(file, taken, file)


def _entries(
    projection: core_v1.VolumeProjection, path: str, taken: set[str]
) -> Iterator[FieldError]:
    for kind, part in (
        ("secret", projection.secret),
        ("configMap", projection.configMap),
    ):
        if part is None:
            continue
        if not part.name:
            yield required(f"{path}.{kind}.name")
        for number, item in enumerate(part.items or ()):
            yield from check(_ITEM, item, at=f"{path}.{kind}.items[{number}]")
            yield from _conflict(item.path, taken, part.name or "")


def _token(
    token: core_v1.ServiceAccountTokenProjection, path: str
) -> Iterator[FieldError]:
    """Check a token; its path is reported for the volume, as the API server does."""
    at = f"{path}.serviceAccountToken.expirationSeconds"
    seconds = token.expirationSeconds or 0
    if seconds < _LEAST_TOKEN_SECONDS:
        detail = "may not specify a duration less than 10 minutes"
        yield invalid(at, seconds, detail)
    if seconds > _MOST_TOKEN_SECONDS:
        detail = "may not specify a duration larger than 2^32 seconds"
        yield invalid(at, seconds, detail)
    if not token.path:
        yield required("path")
    else:
        yield from names.invalid_names(
            "path", token.path, names.check_not_reserved(token.path)
        )


def _conflict(file: str, taken: set[str], shown: str) -> Iterator[FieldError]:
    """Report a duplicate path, for the volume; `shown` is the value in the error.

    Quirk, kept: empty paths count only for trust bundles.
    """
    if file and file in taken:
        yield invalid("", shown, _TAKEN)
    elif file:
        taken.add(file)


FILE_VOLUMES = {
    "secret": Rules(
        core_v1.SecretVolumeSource,
        Required("secretName"),
        IfSet("defaultMode", _MODE),
        Each("items", _ITEM),
    ),
    "configMap": Rules(
        core_v1.ConfigMapVolumeSource,
        Required("name"),
        IfSet("defaultMode", _MODE),
        Each("items", _ITEM),
    ),
    # Quirk, kept: a file is reported for the volume, without its index.
    "downwardAPI": Rules(
        core_v1.DownwardAPIVolumeSource,
        IfSet("defaultMode", _MODE),
        Each("items", _DOWNWARD_FILE, at=""),
    ),
    "projected": Rules(
        core_v1.ProjectedVolumeSource, IfSet("defaultMode", _MODE), _projections
    ),
}
"""The rules of volumes with files, by their field."""
