"""Where variables and files get their values: lightkube's models to our values."""

from __future__ import annotations

from lightkube.models import core_v1

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
from probetui.k8s.pod import EnvVar
from probetui.manifest import quantity


def translate_variable(variable: core_v1.EnvVar) -> EnvVar:
    """Return a variable with its value or its source."""
    written = variable.valueFrom
    return EnvVar(
        name=variable.name,
        value=variable.value or "",
        has_value_from=written is not None,
        value_from=_source(written) if written is not None else None,
    )


def translate_env_from(written: core_v1.EnvFromSource) -> EnvFrom:
    """Return a source of many variables; a valid one has exactly one reference."""
    prefix = written.prefix or ""
    if (secret := written.secretRef) is not None:
        source = SecretEnvSource(secret.name or "", bool(secret.optional))
        return EnvFrom(source, prefix)
    config_map = written.configMapRef or core_v1.ConfigMapEnvSource()
    name, optional = config_map.name or "", bool(config_map.optional)
    return EnvFrom(ConfigMapEnvSource(name, optional), prefix)


def translate_field(written: core_v1.ObjectFieldSelector) -> FieldRef:
    """Return a reference to a field of the pod."""
    return FieldRef(written.fieldPath)


def translate_resource(written: core_v1.ResourceFieldSelector) -> ResourceFieldRef:
    """Return a reference to a request or limit."""
    divisor = quantity.amount(written.divisor or "0")
    return ResourceFieldRef(written.resource, written.containerName or "", divisor)


def _source(written: core_v1.EnvVarSource) -> EnvVarSource | None:
    if written.fieldRef is not None:
        return translate_field(written.fieldRef)
    if written.resourceFieldRef is not None:
        return translate_resource(written.resourceFieldRef)
    if (config := written.configMapKeyRef) is not None:
        return ConfigMapKeyRef(config.name or "", config.key, bool(config.optional))
    if (secret := written.secretKeyRef) is not None:
        return SecretKeyRef(secret.name or "", secret.key, bool(secret.optional))
    return None
