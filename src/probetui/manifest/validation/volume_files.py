"""The API server's rules for files in volumes: from keys, fields and tokens.

Source: pkg/apis/core/validation/validation.go, v1.32.10, validateSecretVolumeSource,
validateDownwardAPIVolumeFile, validateProjectionSources.
"""

from __future__ import annotations

from collections.abc import Iterator

from lightkube.models import core_v1

from probetui.kubelet_rules import KubeletRules
from probetui.manifest.validation.environment import (
    FILES,
    validate_field_ref,
    validate_resource_ref,
)
from probetui.manifest.validation.field_error import (
    FieldError,
    forbidden,
    invalid,
    required,
)
from probetui.manifest.validation.paths import not_reserved

_MAX_MODE = 0o777
_LEAST_TOKEN_SECONDS = 600
_MOST_TOKEN_SECONDS = 1 << 32
_TAKEN = "conflicting duplicate paths"
_MANY_SOURCES = "may not specify more than 1 volume type"


def validate_entries(
    source: core_v1.SecretVolumeSource | core_v1.ConfigMapVolumeSource, path: str
) -> Iterator[FieldError]:
    """Check the entries of a Secret or a ConfigMap."""
    is_secret = isinstance(source, core_v1.SecretVolumeSource)
    name = "secretName" if is_secret else "name"
    if not getattr(source, name):
        yield required(f"{path}.{name}")
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    for index, item in enumerate(source.items or ()):
        yield from _item(item, f"{path}.items[{index}]")


def _item(item: core_v1.KeyToPath, path: str) -> Iterator[FieldError]:
    if not item.key:
        yield required(f"{path}.key")
    yield from _file_path(item.path, f"{path}.path")
    yield from _mode(item.mode, f"{path}.mode")


def validate_downward_files(
    source: core_v1.DownwardAPIVolumeSource, path: str
) -> Iterator[FieldError]:
    """Check the files of a downward API volume."""
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    for file in source.items or ():
        yield from _downward_file(file, path)


def validate_projected(
    source: core_v1.ProjectedVolumeSource, path: str, rules: KubeletRules
) -> Iterator[FieldError]:
    """Check the sources of a projected volume; paths must be unique.

    Source: validation.go, v1.32.10, v1.36.2, validateProjectionSources.
    """
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.sources or ()):
        at = f"{path}.sources[{index}]"
        yield from _projected_entries(projection, at, taken, path)
        if projection.downwardAPI is not None:
            for item in projection.downwardAPI.items or ():
                yield from _downward_file(item, f"{at}.downwardAPI")
                yield from _conflict(item.path, taken, path, item.path)
        if projection.serviceAccountToken is not None:
            yield from _token(projection.serviceAccountToken, at, path)
        yield from _certificates(projection, at, taken, path, rules)
        parts = (
            projection.secret, projection.configMap, projection.downwardAPI,
            projection.serviceAccountToken, projection.clusterTrustBundle,
            projection.podCertificate,
        )  # fmt: skip
        if len(parts) - parts.count(None) > 1:
            per_source = " per source" if rules.projection_errors else ""
            yield forbidden(at, f"{_MANY_SOURCES}{per_source}")


def _certificates(
    projection: core_v1.VolumeProjection,
    path: str,
    taken: set[str],
    volume: str,
    rules: KubeletRules,
) -> Iterator[FieldError]:
    bundle, certificate = projection.clusterTrustBundle, projection.podCertificate
    if bundle is None and certificate is None:
        return
    # Imported late: few pods have them.
    from probetui.manifest.validation import certificates  # noqa: PLC0415

    if bundle is not None:
        suffix = "" if rules.projection_errors else "PEM"
        at = f"{path}.clusterTrustBundle{suffix}"
        yield from certificates.validate_trust_bundle(bundle, at)
        if not bundle.path and "" in taken:
            yield invalid(volume, "", _TAKEN)
        yield from _conflict(bundle.path, taken, volume, bundle.path)
        taken.add(bundle.path)
    if certificate is not None:
        at = f"{path}.podCertificate"
        yield from certificates.validate_pod_certificate(certificate, at)
        for file in certificates.certificate_paths(certificate):
            yield from _conflict(file, taken, volume, file)


def _projected_entries(
    projection: core_v1.VolumeProjection, path: str, taken: set[str], volume: str
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
            yield from _item(item, f"{path}.{kind}.items[{number}]")
            yield from _conflict(item.path, taken, volume, part.name or "")


def _token(
    token: core_v1.ServiceAccountTokenProjection, path: str, volume: str
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
        yield required(f"{volume}.path")
    else:
        yield from not_reserved(token.path, f"{volume}.path")


def _conflict(
    file: str, taken: set[str], field: str, shown: str
) -> Iterator[FieldError]:
    """Report a duplicate path; `shown` is the value in the error.

    Quirk, kept: empty paths count only for trust bundles.
    """
    if file and file in taken:
        yield invalid(field, shown, _TAKEN)
    elif file:
        taken.add(file)


def _downward_file(
    file: core_v1.DownwardAPIVolumeFile, path: str
) -> Iterator[FieldError]:
    """Check one file.

    Quirk, kept: it is reported for the volume, without its index.
    """
    yield from _file_path(file.path, f"{path}.path")
    if file.fieldRef is not None:
        yield from validate_field_ref(file.fieldRef, f"{path}.fieldRef", FILES)
        if file.resourceFieldRef is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", detail)
    elif file.resourceFieldRef is not None:
        at = f"{path}.resourceFieldRef"
        yield from validate_resource_ref(file.resourceFieldRef, at, is_file=True)
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file.mode, f"{path}.mode")


def _file_path(value: str, path: str) -> Iterator[FieldError]:
    if not value:
        yield required(path)
        return
    yield from not_reserved(value, path)


def _mode(mode: int | None, path: str) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        yield invalid(path, mode, detail)
