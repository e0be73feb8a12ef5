"""What pods refer to that is not in the given files.

In a cluster a ConfigMap may come later and the kubelet tries again. Here nothing comes
that is not in the files, so that it is worth a word beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lightkube.models import core_v1

from probetui.k8s.config import ConfigMap, ConfigObject, Secret
from probetui.manifest.api_warnings import containers_with_paths
from probetui.manifest.notices import Notice
from probetui.manifest.problem import clipped

ObjectKey = tuple[str, str, str]
"""Kind, namespace and name."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One place in a pod that needs an object, or one entry of it.

    A `key` of None is no entry in particular. Files may be binary entries, variables
    may not.
    """

    path: str
    kind: str
    name: str
    key: str | None
    is_optional: bool
    is_file: bool

    @property
    def consequence(self) -> str:
        """What becomes of it if the object is not there, and not optional."""
        if self.is_file:
            return "the pod cannot start"
        return "the container cannot be created"


def key_of(value: ConfigObject) -> ObjectKey:
    """Return what an object is found by."""
    return type(value).__name__, value.namespace, value.name


def references_of(pod: core_v1.Pod) -> Iterator[Reference]:
    """Yield every reference of a pod; a volume that nobody mounts needs nothing."""
    if pod.spec is None:
        return
    containers = list(containers_with_paths(pod.spec))
    mounted = {
        mount.name for _, each in containers for mount in each.volumeMounts or ()
    }
    for index, volume in enumerate(pod.spec.volumes or ()):
        if volume.name in mounted:
            yield from _of_volume(volume, f"spec.volumes[{index}]")
    for path, container in containers:
        yield from _of_environment(container, path)


def missing(
    pod: core_v1.Pod, objects: Mapping[ObjectKey, ConfigObject]
) -> Iterator[Notice]:
    """Yield a warning for each reference that leads nowhere."""
    metadata = pod.metadata
    namespace = (metadata.namespace if metadata is not None else None) or "default"
    for each in references_of(pod):
        if each.is_optional:
            continue
        what = f"{each.kind} {clipped(each.name)}"
        found = objects.get((each.kind, namespace, each.name))
        if found is None:
            text = f"{what} is not in the given files, so {each.consequence}"
            yield Notice(each.path, text, "no-object")
        elif each.key is not None and not _has(found, each.key, is_file=each.is_file):
            text = f"{what} has no key {clipped(each.key)}, so {each.consequence}"
            yield Notice(each.path, text, "no-key")


def _has(value: ConfigObject, key: str, *, is_file: bool) -> bool:
    match value:
        case ConfigMap():
            return key in value.data or (is_file and key in value.binary_data)
        case Secret():
            return key in value.data


def _of_environment(container: core_v1.Container, path: str) -> Iterator[Reference]:
    for index, source in enumerate(container.envFrom or ()):
        for kind, field, ref in (
            ("ConfigMap", "configMapRef", source.configMapRef),
            ("Secret", "secretRef", source.secretRef),
        ):
            if ref is not None:
                at = f"{path}.envFrom[{index}].{field}"
                name, optional = ref.name or "", bool(ref.optional)
                yield Reference(at, kind, name, None, optional, is_file=False)
    for index, variable in enumerate(container.env or ()):
        value_from = variable.valueFrom or core_v1.EnvVarSource()
        for kind, field, key in (
            ("ConfigMap", "configMapKeyRef", value_from.configMapKeyRef),
            ("Secret", "secretKeyRef", value_from.secretKeyRef),
        ):
            if key is not None:
                at = f"{path}.env[{index}].valueFrom.{field}"
                name, optional = key.name or "", bool(key.optional)
                yield Reference(at, kind, name, key.key, optional, is_file=False)


def _of_volume(volume: core_v1.Volume, path: str) -> Iterator[Reference]:
    if (config_map := volume.configMap) is not None:
        name = config_map.name or ""
        yield from _files(f"{path}.configMap", "ConfigMap", name, config_map)
    if (secret := volume.secret) is not None:
        name = secret.secretName or ""
        yield from _files(f"{path}.secret", "Secret", name, secret)
    projected = volume.projected or core_v1.ProjectedVolumeSource()
    for index, source in enumerate(projected.sources or ()):
        at = f"{path}.projected.sources[{index}]"
        if source.configMap is not None:
            name = source.configMap.name or ""
            yield from _files(f"{at}.configMap", "ConfigMap", name, source.configMap)
        if source.secret is not None:
            name = source.secret.name or ""
            yield from _files(f"{at}.secret", "Secret", name, source.secret)


def _files(
    path: str,
    kind: str,
    name: str,
    source: core_v1.ConfigMapVolumeSource
    | core_v1.SecretVolumeSource
    | core_v1.ConfigMapProjection
    | core_v1.SecretProjection,
) -> Iterator[Reference]:
    optional = bool(source.optional)
    if not source.items:
        yield Reference(path, kind, name, None, optional, is_file=True)
    for index, item in enumerate(source.items or ()):
        at = f"{path}.items[{index}].key"
        yield Reference(at, kind, name, item.key, optional, is_file=True)
