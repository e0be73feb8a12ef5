"""The API server's rules for volumes and mounts.

Only sources that a pod on one machine may use are validated.

Source: pkg/apis/core/validation/validation.go, v1.32.10, ValidateVolumes,
ValidateVolumeMounts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from lightkube.models import core_v1

from probetui.k8s.api.quantity import parse_quantity
from probetui.manifest.defaults import volume_sources
from probetui.manifest.validation import names
from probetui.manifest.validation.environment import FILES, validate_field_ref
from probetui.manifest.validation.field_error import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
    "FileOrCreate", "Socket",
)  # fmt: skip
_MAX_MODE = 0o777


def validate_volumes(
    volumes: Iterable[core_v1.Volume], path: str, usable: set[str]
) -> Iterator[FieldError]:
    """Check the volumes of a pod and add the names of valid ones to `usable`.

    As in the API server, a volume with an error counts as absent for the mounts.
    """
    for index, volume in enumerate(volumes):
        found = list(_volume(volume, f"{path}[{index}]"))
        if volume.name in usable:
            found.append(duplicate(f"{path}[{index}].name", volume.name))
        if not found:
            usable.add(volume.name)
        yield from found


def validate_mounts(
    container: core_v1.Container, path: str, volumes: Collection[str]
) -> Iterator[FieldError]:
    """Check the mounts of a container; `volumes` are the pod's valid volumes.

    Quirk, kept: an invalid subPath is reported without the index of its mount.
    """
    taken: set[str] = set()
    for index, mount in enumerate(container.volumeMounts or ()):
        at = f"{path}[{index}]"
        if not mount.name:
            yield required(f"{at}.name")
        if mount.name not in volumes:
            yield not_found(f"{at}.name", mount.name)
        if not mount.mountPath:
            yield required(f"{at}.mountPath")
        if mount.mountPath in taken:
            yield invalid(f"{at}.mountPath", mount.mountPath, "must be unique")
        taken.add(mount.mountPath)
        if mount.subPath:
            yield from _descending(mount.subPath, f"{path}.subPath")
        if mount.subPathExpr:
            if mount.subPath:
                detail = "subPathExpr and subPath are mutually exclusive"
                yield invalid(f"{at}.subPathExpr", mount.subPathExpr, detail)
            yield from _descending(mount.subPathExpr, f"{path}.subPathExpr")


def _volume(volume: core_v1.Volume, path: str) -> Iterator[FieldError]:
    sources = volume_sources(volume)
    for name in sources[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 volume type")
    yield from _source(volume, path)
    if volume.projected is not None:
        yield from _projected(volume.projected, f"{path}.projected")
    if not volume.name:
        yield required(f"{path}.name")
    else:
        found = names.check_label(volume.name)
        yield from names.invalid_names(f"{path}.name", volume.name, found)


def _source(volume: core_v1.Volume, path: str) -> Iterator[FieldError]:
    if volume.emptyDir is not None:
        yield from _empty_dir(volume.emptyDir, f"{path}.emptyDir")
    if volume.hostPath is not None:
        yield from _host_path(volume.hostPath, f"{path}.hostPath")
    if volume.secret is not None:
        at = f"{path}.secret"
        if not volume.secret.secretName:
            yield required(f"{at}.secretName")
        yield from _files(volume.secret, at)
    if volume.configMap is not None:
        at = f"{path}.configMap"
        if not volume.configMap.name:
            yield required(f"{at}.name")
        yield from _files(volume.configMap, at)
    if volume.downwardAPI is not None:
        at = f"{path}.downwardAPI"
        yield from _mode(volume.downwardAPI.defaultMode, f"{at}.defaultMode")
        for index, file in enumerate(volume.downwardAPI.items or ()):
            yield from _downward_file(file, f"{at}.items[{index}]")
    claim = volume.persistentVolumeClaim
    if claim is not None and not claim.claimName:
        yield required(f"{path}.persistentVolumeClaim.claimName")


def _empty_dir(source: core_v1.EmptyDirVolumeSource, path: str) -> Iterator[FieldError]:
    if source.sizeLimit is not None and parse_quantity(source.sizeLimit) < 0:
        detail = "SizeLimit field must be a valid resource quantity"
        yield forbidden(f"{path}.sizeLimit", detail)


def _host_path(source: core_v1.HostPathVolumeSource, path: str) -> Iterator[FieldError]:
    if not source.path:
        yield required(f"{path}.path")
        return
    yield from _no_backsteps(source.path, f"{path}.path")
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        yield not_supported(f"{path}.type", source.type, _HOST_PATH_TYPES)


def _files(
    source: core_v1.SecretVolumeSource | core_v1.ConfigMapVolumeSource, path: str
) -> Iterator[FieldError]:
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    yield from _items(source.items or (), path)


def _items(items: Iterable[core_v1.KeyToPath], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        at = f"{path}.items[{index}]"
        if not item.key:
            yield required(f"{at}.key")
        yield from _file_path(item.path, f"{at}.path")
        yield from _mode(item.mode, f"{at}.mode")


def _projected(
    source: core_v1.ProjectedVolumeSource, path: str
) -> Iterator[FieldError]:
    """Check the sources of a projected volume; paths must be unique.

    Source: validation.go, v1.32.10, validateProjectionSources.
    """
    yield from _mode(source.defaultMode, f"{path}.defaultMode")
    taken: set[str] = set()
    for index, projection in enumerate(source.sources or ()):
        at = f"{path}.sources[{index}]"
        for kind, part in (
            ("secret", projection.secret),
            ("configMap", projection.configMap),
        ):
            if part is not None:
                if not part.name:
                    yield required(f"{at}.{kind}.name")
                yield from _items(part.items or (), f"{at}.{kind}")
                paths = [item.path for item in part.items or ()]
                yield from _conflicts(paths, taken, path, part.name or "")
        if projection.downwardAPI is not None:
            files = projection.downwardAPI.items or []
            for number, file in enumerate(files):
                yield from _downward_file(file, f"{at}.downwardAPI.items[{number}]")
            yield from _conflicts(
                [downward_api_volume_file.path for downward_api_volume_file in files],
                taken,
                path,
                "",
            )


def _conflicts(
    paths: Iterable[str], taken: set[str], field: str, name: str
) -> Iterator[FieldError]:
    """Report duplicate paths, by the name of their source or by themselves."""
    for path in paths:
        if path in taken:
            yield invalid(field, name or path, "conflicting duplicate paths")
        elif path:
            taken.add(path)


def _downward_file(
    file: core_v1.DownwardAPIVolumeFile, path: str
) -> Iterator[FieldError]:
    yield from _file_path(file.path, f"{path}.path")
    if file.fieldRef is not None:
        yield from validate_field_ref(file.fieldRef, f"{path}.fieldRef", FILES)
    elif file.resourceFieldRef is None:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from _mode(file.mode, f"{path}.mode")


def _file_path(value: str, path: str) -> Iterator[FieldError]:
    if not value:
        yield required(path)
        return
    yield from _descending(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def _mode(mode: int | None, path: str) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= _MAX_MODE:
        detail = "must be a number between 0 and 0777 (octal), both inclusive"
        yield invalid(path, mode, detail)


def _descending(value: str, path: str) -> Iterator[FieldError]:
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from _no_backsteps(value, path)


def _no_backsteps(value: str, path: str) -> Iterator[FieldError]:
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")
