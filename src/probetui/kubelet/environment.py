"""The environment of a container, with every value looked up.

Source: kubelet/kubelet_pods.go, v1.32.10, makeEnvironmentVariables.
"""

from __future__ import annotations

from collections.abc import Mapping

from probetui.k8s.config import ConfigMap, Secret
from probetui.k8s.environment import (
    ConfigMapEnvSource,
    ConfigMapKeyRef,
    EnvFrom,
    EnvVarSource,
    FieldRef,
    ResourceFieldRef,
    SecretEnvSource,
    SecretKeyRef,
)
from probetui.k8s.expansion import MOST_BYTES, ExpansionTooLargeError, expand
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.kubelet.downward_api import Whereabouts, container_resource, pod_field
from probetui.kubelet.go_text import to_bytes, to_text
from probetui.kubelet.objects import Objects, Refusal

Environment = Mapping[str, str]
"""Names and values, in the order in which the names were first given."""


def make_environment(
    pod: Pod, container: Container, objects: Objects, where: Whereabouts
) -> Environment | Refusal:
    """Return a container's variables, or why they cannot be had.

    What `envFrom` brings comes first and `env` overrides it. A literal value sees the
    variables before it by `$(NAME)`. What is optional and does not exist is left out.

    Difference: there are no services, and so no variables about them.

    Difference: more than 1 MiB of them are refused. The kubelet hands any amount to
    the runtime, or runs out of memory before.
    """
    values = _Values()
    for source in container.env_from:
        entries = _entries(pod.namespace, source, objects)
        if isinstance(entries, Refusal):
            if entries.is_missing and source.source.optional:
                continue
            return entries
        for key, value in entries.items():
            values.set(f"{source.prefix}{key}", value)
    for variable in container.env:
        found = _value(pod, container, variable, values, objects, where)
        if isinstance(found, Refusal):
            if found.is_missing and _is_optional(variable.value_from):
                continue
            return found
        values.set(variable.name, found)
        if values.size > MOST_BYTES:
            break
    if values.size > MOST_BYTES:
        limit = f"{MOST_BYTES >> 20} MiB"
        return Refusal(f"the variables of the container are larger than {limit}")
    return values.texts


class _Values:
    """Variables on their way: as text, and as bytes for those that refer to them."""

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
    """Return an environment as `expand` takes it."""
    return {to_bytes(name): to_bytes(value) for name, value in environment.items()}


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    before: _Values,
    objects: Objects,
    where: Whereabouts,
) -> str | Refusal:
    if variable.value:
        try:
            return to_text(expand(to_bytes(variable.value), before.blobs))
        except ExpansionTooLargeError as error:
            return Refusal(f"variable {variable.name} {error}")
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


def _entry(config: ConfigMap | Secret | Refusal, key: str) -> str | Refusal:
    if isinstance(config, Refusal):
        return config
    value = config.data.get(key)
    if value is None:
        kind = type(config).__name__
        where = f"{config.namespace}/{config.name}"
        message = f"couldn't find key {key} in {kind} {where}"
        return Refusal(message, is_missing=True)
    return value if isinstance(value, str) else to_text(value)


def _entries(
    namespace: str, source: EnvFrom, objects: Objects
) -> Mapping[str, str] | Refusal:
    match source.source:
        case ConfigMapEnvSource(name):
            config_map = objects.config_map(namespace, name)
            return config_map if isinstance(config_map, Refusal) else config_map.data
        case SecretEnvSource(name):
            secret = objects.secret(namespace, name)
            if isinstance(secret, Refusal):
                return secret
            return {key: to_text(value) for key, value in secret.data.items()}


def _is_optional(source: EnvVarSource | None) -> bool:
    return isinstance(source, ConfigMapKeyRef | SecretKeyRef) and source.optional
