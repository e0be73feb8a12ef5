"""Volumes, and references to fields and resources, as the Kubernetes API writes them.

Source: k8s.io/api core/v1/types.go, v0.32.10, VolumeSource and EnvVarSource.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from probetui.k8s.environment import (
    ConfigMapKeyRef,
    EnvVarSource,
    FieldRef,
    ResourceFieldRef,
    SecretKeyRef,
)
from probetui.k8s.volume import (
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
)
from probetui.presentation.quantities import quantity_text

Json = dict[str, Any]


def volume_to_json(volume: Volume) -> Json:
    """Return `v1.Volume`; a kind that probetui does not have has nothing in it."""
    return {"name": volume.name, **_source(volume)}


def env_source_to_json(source: EnvVarSource) -> Json:
    """Return `v1.EnvVarSource`."""
    match source:
        case FieldRef() | ResourceFieldRef():
            return _reference(source)
        case ConfigMapKeyRef(name, key, optional):
            return {"configMapKeyRef": _key_reference(name, key, optional=optional)}
        case SecretKeyRef(name, key, optional):
            return {"secretKeyRef": _key_reference(name, key, optional=optional)}


def _source(volume: Volume) -> Json:
    match volume.source:
        case EmptyDir(medium, size_limit):
            limit = None if size_limit is None else quantity_text(size_limit)
            return {"emptyDir": _written({"medium": medium, "sizeLimit": limit})}
        case HostPath(path, type_):
            return {"hostPath": {"path": path, "type": type_}}
        case Projected(sources, default_mode):
            return _files(sources, default_mode)
        case OtherVolume(kind):
            return {kind: {}}


def _files(sources: tuple[FileSource, ...], default_mode: int) -> Json:
    """Return a volume of files: of one source by its own kind, else projected."""
    mode = {"defaultMode": default_mode}
    match sources:
        case (ConfigMapFiles() as only,):
            return {"configMap": {**_projection(only), **mode}}
        case (SecretFiles(name=name) as only,):
            fields = {
                key: each for key, each in _projection(only).items() if key != "name"
            }
            return {"secret": {"secretName": name, **fields, **mode}}
        case (DownwardAPIFiles() as only,):
            return {"downwardAPI": {**_projection(only), **mode}}
        case _:
            written = [{_KINDS[type(each)]: _projection(each)} for each in sources]
            return {"projected": {"sources": written, **mode}}


_KINDS: dict[type[FileSource], str] = {
    ConfigMapFiles: "configMap",
    SecretFiles: "secret",
    DownwardAPIFiles: "downwardAPI",
}


def _projection(source: FileSource) -> Json:
    match source:
        case ConfigMapFiles() | SecretFiles():
            fields = {
                "items": [_item(each) for each in source.items],
                "optional": source.optional,
            }
            return {"name": source.name, **_written(fields)}
        case DownwardAPIFiles(items):
            return {"items": [_downward_file(each) for each in items]}


def _item(item: KeyToPath) -> Json:
    mode = {} if item.mode is None else {"mode": item.mode}
    return {"key": item.key, "path": item.path, **mode}


def _downward_file(file: DownwardAPIFile) -> Json:
    reference = {} if file.ref is None else _reference(file.ref)
    mode = {} if file.mode is None else {"mode": file.mode}
    return {"path": file.path, **reference, **mode}


def _reference(source: FieldRef | ResourceFieldRef) -> Json:
    match source:
        case FieldRef(path):
            return {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
        case ResourceFieldRef(resource, container_name, divisor):
            written = _written({"containerName": container_name})
            amount = quantity_text(divisor)
            return {
                "resourceFieldRef": {**written, "resource": resource, "divisor": amount}
            }


def _key_reference(name: str, key: str, *, optional: bool) -> Json:
    return {"name": name, "key": key, **_written({"optional": optional})}


def _written(fields: Iterable[Any] | Json) -> Json:
    """Return the fields that have a value, as the API leaves out the others."""
    return {key: value for key, value in dict(fields).items() if value}
