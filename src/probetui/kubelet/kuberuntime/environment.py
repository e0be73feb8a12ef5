"""Environment variables of a container, with every reference resolved.

Source: kubelet/kubelet_pods.go, v1.32.10, makeEnvironmentVariables.
"""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.environment import (
    MAX_EXPANSION_BYTES,
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    EnvVarSource,
    ExpansionTooLargeError,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
    expand,
)
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.k8s.volume import ConfigMap, Secret
from probetui.kubelet.kuberuntime.downward_api import (
    PodLocation,
    container_resource,
    pod_field,
)
from probetui.kubelet.object_store import ConfigRefusal, ObjectStore
from probetui.kubelet.runtime.go_format import to_bytes, to_text

Environment = Mapping[str, str]
"""Names and values, in the order in which the names were first given."""


def make_environment(
    pod: Pod, container: Container, objects: ObjectStore, where: PodLocation
) -> Environment | ConfigRefusal:
    """Return a container's variables, or why one cannot be resolved.

    Variables of `envFrom` come first and `env` overrides them. A literal value sees the
    variables before it by `$(NAME)`. Optional references to missing objects are
    skipped.

    Difference: there are no services, and so no variables about them.

    Difference: more than 1 MiB of them are refused. The kubelet hands any amount to
    the runtime, or runs out of memory before.
    """
    values = _Values()
    for source in container.env_from:
        entries = _entries(pod.namespace, source, objects)
        if isinstance(entries, ConfigRefusal):
            if entries.is_missing and source.source.optional:
                continue
            return entries
        for key, value in entries.items():
            values.set(f"{source.prefix}{key}", value)
    for variable in container.env:
        found = _value(pod, container, variable, values, objects, where)
        if isinstance(found, ConfigRefusal):
            if found.is_missing and _is_optional(variable.value_from):
                continue
            return found
        values.set(variable.name, found)
        if values.size > MAX_EXPANSION_BYTES:
            break
    if values.size > MAX_EXPANSION_BYTES:
        limit = f"{MAX_EXPANSION_BYTES >> 20} MiB"
        return ConfigRefusal(f"the variables of the container are larger than {limit}")
    return values.texts


class _Values:
    """Variables resolved so far: as text, and as bytes for references to them."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.blobs: dict[bytes, bytes] = {}
        self.size = 0

    def set(self, name: str, value: str) -> None:
        key, blob = to_bytes(name), to_bytes(value)
        self.size += len(blob) - len(self.blobs.get(key, b""))
        self.size += 0 if key in self.blobs else len(key) + 2
        self.texts[name] = value
        self.blobs[key] = blob


def as_bytes(environment: Environment) -> dict[bytes, bytes]:
    """Return an environment as bytes, for `expand`."""
    return {to_bytes(name): to_bytes(value) for name, value in environment.items()}


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    before: _Values,
    objects: ObjectStore,
    where: PodLocation,
) -> str | ConfigRefusal:
    if variable.value:
        try:
            return to_text(expand(to_bytes(variable.value), before.blobs))
        except ExpansionTooLargeError as error:
            return ConfigRefusal(f"variable {variable.name} {error}")
    match variable.value_from:
        case None:
            return ""
        case FieldRef() as ref:
            return pod_field(pod, ref, where)
        case ResourceFieldRef() as ref:
            return container_resource(pod, container, ref, where.node)
        case ConfigMapKeyRef(name, key):
            return _entry(objects.config_map(pod.namespace, name), key)
        case SecretKeyRef(name, key):
            return _entry(objects.secret(pod.namespace, name), key)


def _entry(config: ConfigMap | Secret | ConfigRefusal, key: str) -> str | ConfigRefusal:
    if isinstance(config, ConfigRefusal):
        return config
    value = config.data.get(key)
    if value is None:
        kind = type(config).__name__
        where = f"{config.namespace}/{config.name}"
        message = f"couldn't find key {key} in {kind} {where}"
        return ConfigRefusal(message, is_missing=True)
    return value if isinstance(value, str) else to_text(value)


def _entries(
    namespace: str, source: EnvFrom, objects: ObjectStore
) -> Mapping[str, str] | ConfigRefusal:
    match source.source:
        case ConfigMapEnvSource(name):
            config_map = objects.config_map(namespace, name)
            return (
                config_map if isinstance(config_map, ConfigRefusal) else config_map.data
            )
        case SecretEnvSource(name):
            secret = objects.secret(namespace, name)
            if isinstance(secret, ConfigRefusal):
                return secret
            return {key: to_text(value) for key, value in secret.data.items()}


def _is_optional(source: EnvVarSource | None) -> bool:
    return isinstance(source, ConfigMapKeyRef | SecretKeyRef) and source.optional
