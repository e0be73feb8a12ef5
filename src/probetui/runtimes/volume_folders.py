"""Volumes as folders of this machine, for runtimes whose containers run on it.

    <base>/<pod uid>/pod.json             name and namespace of the pod
    <base>/<pod uid>/<volume>/            the volume
    <base>/<pod uid>/<volume>/..data      a link to the folder with the current files

Source: pkg/volume/emptydir/empty_dir.go, pkg/volume/hostpath/host_path.go,
pkg/volume/util/atomic_writer.go, v1.32.10.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.volume import HostPath, Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.ports import PodVolumes
from probetui.untrusted_files import (
    DirectoryRoot,
    child_path,
    create_own_file,
    make_own_directory,
)

POD_FILE = "pod.json"
DATA = "..data"
DATA_NEXT = "..data_tmp"

UNKNOWN_NAME = "half-removed-"
UNKNOWN_NAMESPACE = "default"
"""The name of a pod whose record is lost."""

_UID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The uids that probetui generates, and those of a cluster."""

OWN_MODE = 0o700
VOLUME_MODE = 0o777
FOLDER_MODE = 0o755
NEW_FILE_MODE = 0o644
POD_FILE_MODE = 0o600
POD_FILE_BYTES = 64 * 1024

_VERSION = re.compile(r"\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\w+")
"""A directory with one version of the files."""

_WANTED = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


class VolumeFolders:
    """The volumes below one folder, which may not exist yet.

    Their content is untrusted: no link in them is followed, and nothing is removed
    beyond a mount point. Every method raises `OSError` if the system refuses.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._root = DirectoryRoot(base)

    def mount(self, operation: MountVolume) -> None:
        """Create a volume, unless it exists, and write its files.

        Raises:
            ContainerRuntimeError: a path of the host is not of its type.
        """
        pod, volume = operation.pod, operation.volume
        if isinstance(volume.source, HostPath):
            _check_host_path(volume.source)
            return
        folder = _beneath(pod.uid, volume.name)
        if not self._root.exists(folder):
            self._write_pod_file(pod)
            self._root.make_directories(folder, VOLUME_MODE)
        if isinstance(volume.source, Projected):
            files = DirectoryRoot(self.path(pod, volume))
            _write_files(files, operation.files, operation.at)

    def unmount(self, operation: UnmountVolume) -> None:
        """Remove a volume with its content; a path of the host is not touched.

        It may take long and must not be called on an event loop.

        Raises:
            IncompleteRemovalError: something could not be removed.
        """
        folder = _beneath(operation.pod_uid)
        if not self._root.exists(folder):
            return
        self._root.remove_tree(_beneath(operation.pod_uid, operation.volume_name))
        self.remove_empty(operation.pod_uid)

    def remove_empty(self, pod_uid: str) -> None:
        """Remove the folder of a pod that has no volumes any more."""
        folder = _beneath(pod_uid)
        if self._root.exists(folder) and not self._volumes(pod_uid):
            self._root.remove_tree(folder)

    def list(self) -> tuple[PodVolumes, ...]:
        """Return all volumes by pod.

        After an interrupted removal the pod's name may be unknown.
        """
        try:
            uids = self._root.names()
        except FileNotFoundError:
            return ()
        return tuple(filter(None, map(self._pod_volumes, uids)))

    def path(self, pod: Pod, volume: Volume) -> Path:
        """Return the path of a volume."""
        if isinstance(volume.source, HostPath):
            return Path("/", volume.source.path)
        return child_path(self._base, pod.uid, volume.name)

    def _write_pod_file(self, pod: Pod) -> None:
        """Write the name and namespace of a pod."""
        make_own_directory(self._base, OWN_MODE)
        self._root.make_directories(_beneath(pod.uid), OWN_MODE)
        text = json.dumps({"name": pod.name, "namespace": pod.namespace})
        file = _beneath(pod.uid, POD_FILE)
        self._root.replace_file(file, text.encode(), POD_FILE_MODE)

    def _pod_volumes(self, uid: str) -> PodVolumes | None:
        try:
            file = _beneath(uid, POD_FILE)
            pod = json.loads(self._root.read_file(file, POD_FILE_BYTES))
            name, namespace = str(pod["name"]), str(pod["namespace"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            if not _UID.fullmatch(uid):
                return None  # not ours
            # A removal was interrupted, or the file is damaged.
            name, namespace = f"{UNKNOWN_NAME}{uid}", UNKNOWN_NAMESPACE
        try:
            return PodVolumes(uid, name, namespace, self._volumes(uid))
        except (OSError, ContainerRuntimeError):
            return None  # not a folder, or just removed

    def _volumes(self, uid: str) -> tuple[str, ...]:
        names = self._root.names(_beneath(uid))
        return tuple(
            name for name in names if self._root.is_directory(_beneath(uid, name))
        )


def _beneath(*names: str) -> Path:
    """Return a path beneath the base for untrusted names."""
    return child_path(Path(), *names)


def _check_host_path(source: HostPath) -> None:
    """Check the type of a host path, and create it for the types `...OrCreate`."""
    path = Path("/", source.path)
    if not source.type:
        return
    if not path.exists():
        if source.type == "DirectoryOrCreate":
            make_own_directory(path, FOLDER_MODE)
        elif source.type == "FileOrCreate":
            create_own_file(path, NEW_FILE_MODE)
    is_wanted, description = _WANTED[source.type]
    if not (path.exists() and is_wanted(path.stat().st_mode)):
        raise ContainerRuntimeError(
            f"hostPath type check failed: {source.path} is not {description}"
        )


def _write_files(
    volume: DirectoryRoot, files: Iterable[VolumeFile], at: datetime
) -> None:
    """Add or replace all files of a volume atomically.

    Files of containers stay, and their links are not followed.
    """
    files = tuple(files)
    fresh = f"..{at:%Y_%m_%d_%H_%M_%S}.{os.urandom(4).hex()}"
    volume.make_directories(fresh, FOLDER_MODE)
    for file in files:
        folder = (Path(fresh) / file.path).parent
        volume.make_directories(folder, FOLDER_MODE)
        volume.create_file(Path(fresh) / file.path, file.content, file.mode)
    volume.remove_tree(DATA_NEXT)
    volume.symlink(DATA_NEXT, fresh)
    volume.rename(DATA_NEXT, DATA)
    _update_links(volume, {file.path.split("/")[0] for file in files})
    for name in volume.names():
        if _VERSION.fullmatch(name) and name != fresh:
            volume.remove_tree(name)


def _update_links(volume: DirectoryRoot, names: set[str]) -> None:
    """Create links to these files, and remove links to others."""
    for name in volume.names():
        if name not in names and volume.read_link(name) == f"{DATA}/{name}":
            volume.unlink(name)
    for name in sorted(names):
        if volume.read_link(name) != f"{DATA}/{name}":
            volume.symlink(name, f"{DATA}/{name}")
