"""Where the values of environment variables, and of files about a pod, come from."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class FieldRef:
    """A field of the pod itself, such as `metadata.name` or `status.podIP`."""

    field_path: str


@dataclass(frozen=True, slots=True)
class ResourceFieldRef:
    """A request or limit of a container, such as `limits.cpu`.

    An empty `container_name` is the container that asks. A `divisor` of 0 is 1, in the
    resource's base unit: cores, bytes.
    """

    resource: str
    container_name: str = ""
    divisor: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class ConfigMapKeyRef:
    """One entry of a ConfigMap of the pod's namespace."""

    name: str
    key: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class SecretKeyRef:
    """One entry of a Secret of the pod's namespace."""

    name: str
    key: str
    optional: bool = False


EnvVarSource = FieldRef | ResourceFieldRef | ConfigMapKeyRef | SecretKeyRef


@dataclass(frozen=True, slots=True)
class ConfigMapEnvSource:
    """All entries of a ConfigMap, each as a variable."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class SecretEnvSource:
    """All entries of a Secret, each as a variable."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class EnvFrom:
    """Variables that come together; `prefix` goes before each of their names."""

    source: ConfigMapEnvSource | SecretEnvSource
    prefix: str = ""
