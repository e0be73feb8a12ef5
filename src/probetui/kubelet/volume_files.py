"""What files a volume holds that is made of ConfigMaps, Secrets and fields.

Source: pkg/volume/configmap/configmap.go, pkg/volume/secret/secret.go, MakePayload;
pkg/volume/downwardapi/downwardapi.go, CollectData; pkg/volume/projected/projected.go,
collectData; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from probetui.k8s.config import ConfigMap, Secret
from probetui.k8s.environment import FieldRef
from probetui.k8s.node import Node
from probetui.k8s.pod import Pod
from probetui.k8s.volume import (
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    FileSource,
    KeyToPath,
    Projected,
    SecretFiles,
    VolumeFile,
)
from probetui.kubelet.downward_api import container_resource, metadata_field
from probetui.kubelet.go_text import go_list, to_bytes
from probetui.kubelet.objects import Objects, Refusal

Files = Mapping[str, VolumeFile]
"""Files by their path."""


def volume_files(
    pod: Pod, source: Projected, objects: Objects, node: Node
) -> tuple[VolumeFile, ...] | Refusal:
    """Return the files of a volume, by path, or why they cannot be had.

    Of files with one path, that of the last source counts. All that is wrong is told
    at once, as Go prints a list of errors.
    """
    files: dict[str, VolumeFile] = {}
    errors: list[str] = []
    for each in source.sources:
        made = _files(pod, each, source.default_mode, objects, node)
        if isinstance(made, Refusal):
            errors.append(made.message)
        else:
            files |= made
    if errors:
        return _all_errors(errors)
    return tuple(files[path] for path in sorted(files))


def _files(
    pod: Pod, source: FileSource, mode: int, objects: Objects, node: Node
) -> Files | Refusal:
    match source:
        case ConfigMapFiles(name, items, optional):
            config_map = objects.config_map(pod.namespace, name)
            if isinstance(config_map, Refusal):
                return {} if optional else config_map
            content = _content_of_config_map(config_map)
            missing = "" if optional else "configmap references non-existent config key"
            return _entries(content, items, mode, missing)
        case SecretFiles(name, items, optional):
            secret = objects.secret(pod.namespace, name)
            if isinstance(secret, Refusal):
                return {} if optional else secret
            missing = "" if optional else "references non-existent secret key"
            return _entries(_content_of_secret(secret), items, mode, missing)
        case DownwardAPIFiles(items):
            return _downward_files(pod, items, mode, node)
        case _:
            assert_never(source)


def _content_of_config_map(config_map: ConfigMap) -> dict[str, bytes]:
    texts = {key: to_bytes(text) for key, text in config_map.data.items()}
    return {**texts, **config_map.binary_data}


def _content_of_secret(secret: Secret) -> Mapping[str, bytes]:
    return secret.data


def _entries(
    content: Mapping[str, bytes], items: Iterable[KeyToPath], mode: int, missing: str
) -> Files | Refusal:
    """Return the entries that are asked for, all of them without items.

    `missing` begins the error about an entry that is not there; it is left out where
    that is empty.
    """
    items = tuple(items) or tuple(KeyToPath(key, key) for key in content)
    files = {}
    for item in items:
        path = _clean(item.path)
        if item.key in content:
            own = mode if item.mode is None else item.mode
            files[path] = VolumeFile(path, content[item.key], own)
        elif missing:
            return Refusal(f"{missing}: {item.key}", is_missing=True)
    return files


def _downward_files(
    pod: Pod, items: Iterable[DownwardAPIFile], mode: int, node: Node
) -> Files | Refusal:
    files = {}
    errors = []
    for item in items:
        path = _clean(item.path)
        text = _downward_text(pod, item, node)
        if isinstance(text, Refusal):
            errors.append(text.message)
        else:
            own = mode if item.mode is None else item.mode
            files[path] = VolumeFile(path, to_bytes(text), own)
    return _all_errors(errors) if errors else files


def _downward_text(pod: Pod, item: DownwardAPIFile, node: Node) -> str | Refusal:
    """Return what goes into a file; its lines are sorted."""
    match item.ref:
        case None:
            return ""
        case FieldRef() as ref:
            text = metadata_field(pod, ref)
        case ref:
            text = container_resource(pod, None, ref, node)
    if isinstance(text, Refusal):
        return text
    return "\n".join(sorted(text.split("\n")))


def _all_errors(errors: list[str]) -> Refusal:
    """Return several errors as one.

    Source: apimachinery util/errors/errors.go, v0.32.10, aggregate.Error.
    """
    unique = list(dict.fromkeys(errors))
    if len(unique) == 1:
        return Refusal(unique[0])
    return Refusal(go_list([", ".join(unique)]))


def _clean(path: str) -> str:
    """Return a path without empty steps and steps to where one is."""
    return "/".join(each for each in path.split("/") if each not in {"", "."})
