"""The files of projected volumes: from ConfigMaps, Secrets and the downward API.

Difference: without an API server a service account token, a trust bundle and the
certificate of a pod are stand-ins, of the mode of the other files.

Source: pkg/volume/configmap/configmap.go, pkg/volume/secret/secret.go, MakePayload;
pkg/volume/downwardapi/downwardapi.go, CollectData; pkg/volume/projected/projected.go,
collectData; v1.32.10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from probetui.k8s.environment import FieldRef
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import Node
from probetui.k8s.volume import (
    STAND_IN_CERTIFICATE,
    STAND_IN_KEY,
    STAND_IN_POD_CERTIFICATE,
    STAND_IN_TOKEN,
    ConfigMap,
    ConfigMapFiles,
    DownwardAPIFile,
    DownwardAPIFiles,
    FileSource,
    KeyToPath,
    PodCertificateFiles,
    Projected,
    SecretFiles,
    ServiceAccountTokenFile,
    TrustBundleFile,
    VolumeFile,
)
from probetui.kubelet.kuberuntime.downward_api import container_resource, metadata_field
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.go_format import aggregate_errors, to_bytes

Files = Mapping[str, VolumeFile]
"""Files by their path."""


def volume_files(
    pod: Pod, source: Projected, objects: ObjectStore, node: Node
) -> tuple[VolumeFile, ...] | ConfigRefusal:
    """Return the files of a volume, by path, or why there are none.

    Of files with one path, that of the last source counts. All errors are returned at
    once, as Go prints a list of errors.
    """
    files: dict[str, VolumeFile] = {}
    errors: list[str] = []
    for file_source in source.sources:
        made = _files(pod, file_source, source.default_mode, objects, node)
        if isinstance(made, ConfigRefusal):
            errors.append(made.message)
        else:
            files |= made
    if errors:
        return ConfigRefusal(aggregate_errors(errors))
    return tuple(files[path] for path in sorted(files))


def _files(
    pod: Pod, source: FileSource, mode: int, objects: ObjectStore, node: Node
) -> Files | ConfigRefusal:
    match source:
        case ConfigMapFiles(name, items, optional):
            config_map = objects.config_map(pod.namespace, name)
            if isinstance(config_map, ConfigRefusal):
                return {} if optional and config_map.is_missing else config_map
            content = _content_of_config_map(config_map)
            missing = "" if optional else "configmap references non-existent config key"
            return _entries(content, items, mode, missing)
        case SecretFiles(name, items, optional):
            secret = objects.secret(pod.namespace, name)
            if isinstance(secret, ConfigRefusal):
                return {} if optional and secret.is_missing else secret
            missing = "" if optional else "references non-existent secret key"
            return _entries(secret.data, items, mode, missing)
        case DownwardAPIFiles(items):
            return _downward_files(pod, items, mode, node)
        case ServiceAccountTokenFile(path):
            return _stand_ins({path: STAND_IN_TOKEN}, mode)
        case TrustBundleFile(path):
            return _stand_ins({path: STAND_IN_CERTIFICATE.encode()}, mode)
        case PodCertificateFiles():
            key, certificate = STAND_IN_KEY, STAND_IN_POD_CERTIFICATE
            contents = {
                source.credential_bundle_path: key + certificate,
                source.key_path: key,
                source.certificate_chain_path: certificate,
            }
            made = {path: text.encode() for path, text in contents.items() if path}
            return _stand_ins(made, mode)
        case _:
            assert_never(source)


def _stand_ins(contents: Mapping[str, bytes], mode: int) -> Files:
    files = (
        VolumeFile(_clean(path), content, mode) for path, content in contents.items()
    )
    return {file.path: file for file in files}


def _content_of_config_map(config_map: ConfigMap) -> dict[str, bytes]:
    texts = {key: to_bytes(text) for key, text in config_map.data.items()}
    return {**texts, **config_map.binary_data}


def _entries(
    content: Mapping[str, bytes], items: Iterable[KeyToPath], mode: int, missing: str
) -> Files | ConfigRefusal:
    """Return the selected entries, all of them without items.

    `missing` begins the error about an entry that is not there; it is left out where
    that is empty.
    """
    items = tuple(items) or tuple(KeyToPath(key, key) for key in content)
    files = {}
    for item in items:
        path = _clean(item.path)
        if item.key in content:
            file_mode = mode if item.mode is None else item.mode
            files[path] = VolumeFile(path, content[item.key], file_mode)
        elif missing:
            return ConfigRefusal(f"{missing}: {item.key}", is_missing=True)
    return files


def _downward_files(
    pod: Pod, items: Iterable[DownwardAPIFile], mode: int, node: Node
) -> Files | ConfigRefusal:
    files = {}
    errors = []
    for item in items:
        path = _clean(item.path)
        text = _downward_text(pod, item, node)
        if isinstance(text, ConfigRefusal):
            errors.append(text.message)
        else:
            file_mode = mode if item.mode is None else item.mode
            files[path] = VolumeFile(path, to_bytes(text), file_mode)
    return ConfigRefusal(aggregate_errors(errors)) if errors else files


def _downward_text(pod: Pod, item: DownwardAPIFile, node: Node) -> str | ConfigRefusal:
    """Return the content of a downward API file, with sorted lines."""
    match item.ref:
        case None:
            return ""
        case FieldRef() as ref:
            text = metadata_field(pod, ref)
        case ref:
            text = container_resource(pod, None, ref, node)
    if isinstance(text, ConfigRefusal):
        return text
    return "\n".join(sorted(text.split("\n")))


def _clean(path: str) -> str:
    """Return a path without empty and `.` elements."""
    return "/".join(part for part in path.split("/") if part not in {"", "."})
