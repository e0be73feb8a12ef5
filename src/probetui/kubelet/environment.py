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
from probetui.k8s.pod import Container, EnvVar, Pod
from probetui.kubelet.downward_api import Whereabouts, container_resource, pod_field
from probetui.kubelet.expansion import expand
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
    """
    values: dict[str, str] = {}
    for source in container.env_from:
        entries = _entries(pod.namespace, source, objects)
        if isinstance(entries, Refusal):
            if entries.is_missing and source.source.optional:
                continue
            return entries
        values |= {f"{source.prefix}{key}": value for key, value in entries.items()}
    for variable in container.env:
        value = _value(pod, container, variable, values, objects, where)
        if isinstance(value, Refusal):
            if value.is_missing and _is_optional(variable.value_from):
                continue
            return value
        values[variable.name] = value
    return values


def as_bytes(environment: Environment) -> dict[bytes, bytes]:
    """Return an environment as `expand` takes it."""
    return {to_bytes(name): to_bytes(value) for name, value in environment.items()}


def _value(
    pod: Pod,
    container: Container,
    variable: EnvVar,
    before: Environment,
    objects: Objects,
    where: Whereabouts,
) -> str | Refusal:
    if variable.value:
        return to_text(expand(to_bytes(variable.value), as_bytes(before)))
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
