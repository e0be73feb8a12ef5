"""Volumes of a pod, and the ConfigMaps and Secrets that fill them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from msgspec import Struct

from probetui.k8s.environment import FieldRef, ResourceFieldRef

FILE_MODE = 0o644
"""The default mode of files in volumes."""

STAND_IN_TOKEN = b"probetui-stand-in.not-a-service-account-token"
"""What is in the file of a service account token, which only an API server issues."""

MEMORY = "Memory"
"""The medium of an emptyDir that is kept in memory."""


class EmptyDir(Struct, frozen=True):
    """An empty folder for the pod's life; `size_limit` is in bytes."""

    medium: str = ""
    size_limit: Decimal | None = None


class HostPath(Struct, frozen=True):
    """A file or folder of the node; an empty `type` is not checked."""

    path: str
    type: str = ""


class KeyToPath(Struct, frozen=True):
    """The path of an entry in the volume; None is the volume's default mode."""

    key: str
    path: str
    mode: int | None = None


class ConfigMapFiles(Struct, frozen=True):
    """Entries of a ConfigMap as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


class SecretFiles(Struct, frozen=True):
    """Entries of a Secret as files; no `items` means all of them."""

    name: str
    items: tuple[KeyToPath, ...] = ()
    optional: bool = False


class DownwardAPIFile(Struct, frozen=True):
    """A file with a field of the pod; it is empty where `ref` is None."""

    path: str
    ref: FieldRef | ResourceFieldRef | None
    mode: int | None = None


class DownwardAPIFiles(Struct, frozen=True):
    """Files with fields of the pod."""

    items: tuple[DownwardAPIFile, ...] = ()


class ServiceAccountTokenFile(Struct, frozen=True):
    """A file with a token of the pod's service account."""

    path: str
    audience: str = ""
    expiration_seconds: int | None = None


FileSource = ConfigMapFiles | SecretFiles | DownwardAPIFiles | ServiceAccountTokenFile


class Projected(Struct, frozen=True):
    """Files from several sources; of two with the same path the last one is used.

    A volume of the kind configMap, secret or downwardAPI is this with one source.
    """

    sources: tuple[FileSource, ...] = ()
    default_mode: int = FILE_MODE


class OtherVolume(Struct, frozen=True):
    """A volume of an unsupported kind, named as in the spec.

    The pod gets an empty directory instead.
    """

    kind: str


VolumeSource = EmptyDir | HostPath | Projected | OtherVolume


class Volume(Struct, frozen=True):
    """A volume of a pod."""

    name: str
    source: VolumeSource = EmptyDir()


class VolumeFile(Struct, frozen=True):
    """A file to write into a volume; `path` is relative and without `..`."""

    path: str
    content: bytes
    mode: int = FILE_MODE


NO_TEXTS: Mapping[str, str] = MappingProxyType({})
NO_BYTES: Mapping[str, bytes] = MappingProxyType({})


class ConfigMap(Struct, frozen=True):
    """`v1.ConfigMap`; no key is in both mappings."""

    name: str
    namespace: str = "default"
    data: Mapping[str, str] = NO_TEXTS
    binary_data: Mapping[str, bytes] = NO_BYTES

    def __hash__(self) -> int:
        return hash((self.name, self.namespace))


class Secret(Struct, frozen=True):
    """`v1.Secret`, its data decoded from Base64."""

    name: str
    namespace: str = "default"
    data: Mapping[str, bytes] = NO_BYTES

    def __hash__(self) -> int:
        return hash((self.name, self.namespace))


ConfigObject = ConfigMap | Secret
