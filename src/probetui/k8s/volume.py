"""Volumes of a pod: what they are made from, and what files some of them hold."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from probetui.k8s.environment import FieldRef, ResourceFieldRef

FILE_MODE = 0o644
"""The mode of files that nobody chose another one for."""

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
    """Where an entry goes in the volume; without a mode it has the volume's."""

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
    """A file with something about the pod; `ref` is None for an empty one."""

    path: str
    ref: FieldRef | ResourceFieldRef | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class DownwardAPIFiles:
    """Files about the pod."""

    items: tuple[DownwardAPIFile, ...] = ()


FileSource = ConfigMapFiles | SecretFiles | DownwardAPIFiles


@dataclass(frozen=True, slots=True)
class Projected:
    """Files from several sources; of those with one path, the last one counts.

    Volumes of the kinds configMap, secret and downwardAPI are this with one source.
    """

    sources: tuple[FileSource, ...] = ()
    default_mode: int = FILE_MODE


@dataclass(frozen=True, slots=True)
class OtherVolume:
    """A volume of a kind that probetui does not have, named as in the spec.

    The pod gets an empty folder in its place.
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
    """A file as it has to be in a volume; `path` is relative and without `..`."""

    path: str
    content: bytes
    mode: int = FILE_MODE
