"""References of pods to objects that are not in the given files.

In a cluster, a ConfigMap may be created later, and the kubelet retries. Here objects
come only from the files, so a missing one is reported in advance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lightkube.models import core_v1
from msgspec import Struct

from probetui.k8s.volume import ConfigMap, ConfigObject, Secret
from probetui.manifest.problem import quote_short
from probetui.manifest.validation.field_error import FieldWarning
from probetui.manifest.validation.warnings import containers_with_paths

ObjectKey = tuple[str, str, str]
"""Kind, namespace and name."""


class ObjectReference(Struct, frozen=True):
    """A field of a pod that refers to an object, or to one entry of it.

    `key` is None for a reference to the whole object. Files may be binary entries,
    variables may not.
    """

    path: str
    kind: str
    name: str
    key: str | None
    is_optional: bool
    is_file: bool

    @property
    def consequence(self) -> str:
        """The consequence of a missing object that is not optional."""
        if self.is_file:
            return "the pod cannot start"
        return "the container cannot be created"


def object_key(value: ConfigObject) -> ObjectKey:
    """Return the key of an object."""
    return type(value).__name__, value.namespace, value.name


def find_references(pod: core_v1.Pod) -> Iterator[ObjectReference]:
    """Yield the references of a pod, except those of unmounted volumes."""
    if pod.spec is None:
        return
    containers = list(containers_with_paths(pod.spec))
    mounted = {
        mount.name
        for _, container in containers
        for mount in container.volumeMounts or ()
    }
    for index, volume in enumerate(pod.spec.volumes or ()):
        if volume.name in mounted:
            yield from _volume_references(volume, f"spec.volumes[{index}]")
    for path, container in containers:
        yield from _environment_references(container, path)


def pull_secret_names(pod: core_v1.Pod) -> Iterator[str]:
    """Yield the names of a pod's image pull Secrets, which are optional."""
    references = pod.spec.imagePullSecrets if pod.spec is not None else None
    for reference in references or ():
        if reference.name:
            yield reference.name


def find_missing_objects(
    pod: core_v1.Pod, objects: Mapping[ObjectKey, ConfigObject]
) -> Iterator[FieldWarning]:
    """Yield a warning for every reference to a missing object or key."""
    metadata = pod.metadata
    namespace = (metadata.namespace if metadata is not None else None) or "default"
    for reference in find_references(pod):
        if reference.is_optional:
            continue
        what = f"{reference.kind} {quote_short(reference.name)}"
        target = objects.get((reference.kind, namespace, reference.name))
        if target is None:
            text = (
                f"{what} is not in the given files, so {reference.consequence}"
                " (--stub-missing makes a stub)"
            )
            yield FieldWarning(reference.path, text, "no-object")
        elif reference.key is not None and not _has(
            target, reference.key, is_file=reference.is_file
        ):
            text = (
                f"{what} has no key {quote_short(reference.key)},"
                f" so {reference.consequence}"
            )
            yield FieldWarning(reference.path, text, "no-key")


def _has(value: ConfigObject, key: str, *, is_file: bool) -> bool:
    match value:
        case ConfigMap():
            return key in value.data or (is_file and key in value.binary_data)
        case Secret():
            return key in value.data


def _environment_references(
    container: core_v1.Container, path: str
) -> Iterator[ObjectReference]:
    for index, source in enumerate(container.envFrom or ()):
        for kind, field, ref in (
            ("ConfigMap", "configMapRef", source.configMapRef),
            ("Secret", "secretRef", source.secretRef),
        ):
            if ref is not None:
                at = f"{path}.envFrom[{index}].{field}"
                name, optional = ref.name or "", bool(ref.optional)
                yield ObjectReference(at, kind, name, None, optional, is_file=False)
    for index, variable in enumerate(container.env or ()):
        value_from = variable.valueFrom or core_v1.EnvVarSource()
        for kind, field, key in (
            ("ConfigMap", "configMapKeyRef", value_from.configMapKeyRef),
            ("Secret", "secretKeyRef", value_from.secretKeyRef),
        ):
            if key is not None:
                at = f"{path}.env[{index}].valueFrom.{field}"
                name, optional = key.name or "", bool(key.optional)
                yield ObjectReference(at, kind, name, key.key, optional, is_file=False)


def _volume_references(volume: core_v1.Volume, path: str) -> Iterator[ObjectReference]:
    if (config_map := volume.configMap) is not None:
        name = config_map.name or ""
        yield from _file_references(f"{path}.configMap", "ConfigMap", name, config_map)
    if (secret := volume.secret) is not None:
        name = secret.secretName or ""
        yield from _file_references(f"{path}.secret", "Secret", name, secret)
    projected = volume.projected or core_v1.ProjectedVolumeSource()
    for index, source in enumerate(projected.sources or ()):
        at = f"{path}.projected.sources[{index}]"
        if source.configMap is not None:
            name = source.configMap.name or ""
            yield from _file_references(
                f"{at}.configMap", "ConfigMap", name, source.configMap
            )
        if source.secret is not None:
            name = source.secret.name or ""
            yield from _file_references(f"{at}.secret", "Secret", name, source.secret)


def _file_references(
    path: str,
    kind: str,
    name: str,
    source: core_v1.ConfigMapVolumeSource
    | core_v1.SecretVolumeSource
    | core_v1.ConfigMapProjection
    | core_v1.SecretProjection,
) -> Iterator[ObjectReference]:
    optional = bool(source.optional)
    if not source.items:
        yield ObjectReference(path, kind, name, None, optional, is_file=True)
    for index, item in enumerate(source.items or ()):
        at = f"{path}.items[{index}].key"
        yield ObjectReference(at, kind, name, item.key, optional, is_file=True)
