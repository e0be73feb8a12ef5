"""Volumes of lightkube's models to our values."""

from __future__ import annotations

from collections.abc import Iterable

from lightkube.models import core_v1

from probetui.k8s.volume import (
    FILE_MODE,
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    EmptyDir,
    FileSource,
    HostPath,
    KeyToPath,
    OtherVolume,
    Projected,
    SecretFiles,
    Volume,
    VolumeSource,
)
from probetui.manifest import quantity
from probetui.manifest.defaults import volume_sources
from probetui.manifest.translate_environment import (
    translate_field,
    translate_resource,
)


def translate_volume(written: core_v1.Volume) -> Volume:
    """Return a volume; of one kind that we do not have, the kind."""
    return Volume(written.name, _source(written))


def _source(written: core_v1.Volume) -> VolumeSource:
    if (empty := written.emptyDir) is not None:
        limit = quantity.amount(empty.sizeLimit) if empty.sizeLimit else None
        return EmptyDir(empty.medium or "", limit)
    if (host := written.hostPath) is not None:
        return HostPath(host.path, host.type or "")
    if (config := written.configMap) is not None:
        return _files(config.defaultMode, [_config_map(config)])
    if (secret := written.secret) is not None:
        return _files(secret.defaultMode, [_secret(secret.secretName, secret)])
    if (downward := written.downwardAPI) is not None:
        return _files(downward.defaultMode, [_downward(downward.items)])
    if (projected := written.projected) is not None:
        return _files(projected.defaultMode, _projections(projected.sources))
    kinds = volume_sources(written)
    return OtherVolume(kinds[0]) if kinds else EmptyDir()


def _files(mode: int | None, sources: Iterable[FileSource]) -> Projected:
    return Projected(tuple(sources), FILE_MODE if mode is None else mode)


def _projections(
    written: Iterable[core_v1.VolumeProjection] | None,
) -> Iterable[FileSource]:
    """Yield the sources that we have; a token, for one, needs a cluster."""
    for each in written or ():
        if each.configMap is not None:
            yield _config_map(each.configMap)
        if each.secret is not None:
            yield _secret(each.secret.name, each.secret)
        if (downward := each.downwardAPI) is not None:
            yield _downward(downward.items)


def _config_map(
    written: core_v1.ConfigMapVolumeSource | core_v1.ConfigMapProjection,
) -> ConfigMapFiles:
    optional = bool(written.optional)
    return ConfigMapFiles(written.name or "", _items(written.items), optional)


def _secret(
    name: str | None, written: core_v1.SecretVolumeSource | core_v1.SecretProjection
) -> SecretFiles:
    return SecretFiles(name or "", _items(written.items), bool(written.optional))


def _items(written: Iterable[core_v1.KeyToPath] | None) -> tuple[KeyToPath, ...]:
    return tuple(KeyToPath(each.key, each.path, each.mode) for each in written or ())


def _downward(
    written: Iterable[core_v1.DownwardAPIVolumeFile] | None,
) -> DownwardAPIFiles:
    return DownwardAPIFiles(tuple(_downward_file(each) for each in written or ()))


def _downward_file(written: core_v1.DownwardAPIVolumeFile) -> DownwardAPIFile:
    if written.fieldRef is not None:
        ref = translate_field(written.fieldRef)
        return DownwardAPIFile(written.path, ref, written.mode)
    if written.resourceFieldRef is not None:
        resource = translate_resource(written.resourceFieldRef)
        return DownwardAPIFile(written.path, resource, written.mode)
    return DownwardAPIFile(written.path, None, written.mode)
