"""Volumes of a pod, and the ConfigMaps and Secrets that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType

from probetui.k8s.environment import FieldRef, ResourceFieldRef

FILE_MODE = 0o644
"""The default mode of files in volumes."""

MEMORY = "Memory"
"""The medium of an emptyDir that is kept in memory."""


@dataclass(frozen=True, slots=True)
class EmptyDir:
    """An empty folder for the pod's life; `size_limit` is in bytes."""

    medium: str = ""
    size_limit: Decimal | None = None


@dataclass(frozen=True, slots=True)
class HostPath:
    """A file or folder of the node; an empty `type` is not checked."""

    path: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class KeyToPath:
    """The path of an entry in the volume; None is the volume's default mode."""

    key: str
    path: str
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigMapFiles:
    """Entries of a ConfigMap as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """Entries of a Secret as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


@dataclass(frozen=True, slots=True)
class DownwardAPIFile:
    """A file with a field of the pod; it is empty where `ref` is None."""

    path: str
    ref: FieldRef | ResourceFieldRef | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class DownwardAPIFiles:
    """Files with fields of the pod."""

    items: tuple[DownwardAPIFile, ...] = ()


FileSource = ConfigMapFiles | SecretFiles | DownwardAPIFiles


@dataclass(frozen=True, slots=True)
class Projected:
    """Files from several sources; of two with the same path the last one is used.

    A volume of the kind configMap, secret or downwardAPI is this with one source.
    """

    sources: tuple[FileSource, ...] = ()
    default_mode: int = FILE_MODE


@dataclass(frozen=True, slots=True)
class OtherVolume:
    """A volume of an unsupported kind, named as in the spec.

    The pod gets an empty directory instead.
    """

    kind: str


VolumeSource = EmptyDir | HostPath | Projected | OtherVolume


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a pod."""

    name: str
    source: VolumeSource = EmptyDir()


@dataclass(frozen=True, slots=True)
class VolumeFile:
    """A file to write into a volume; `path` is relative and without `..`."""

    path: str
    content: bytes
    mode: int = FILE_MODE


NO_TEXTS: Mapping[str, str] = MappingProxyType({})
NO_BYTES: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """`v1.ConfigMap`; no key is in both mappings."""

    name: str
    namespace: str = "default"
    data: Mapping[str, str] = field(default_factory=lambda: NO_TEXTS, hash=False)
    binary_data: Mapping[str, bytes] = field(
        default_factory=lambda: NO_BYTES, hash=False
    )


@dataclass(frozen=True, slots=True)
class Secret:
    """`v1.Secret`, its data decoded from Base64."""

    name: str
    namespace: str = "default"
    data: Mapping[str, bytes] = field(default_factory=lambda: NO_BYTES, hash=False)


ConfigObject = ConfigMap | Secret
