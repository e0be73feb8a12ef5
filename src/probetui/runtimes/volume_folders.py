"""Volumes as folders of this machine, for runtimes whose containers live on it.

    <base>/<pod uid>/pod.json             whose volumes these are
    <base>/<pod uid>/<volume>/            what containers see
    <base>/<pod uid>/<volume>/..data      leads to the files there are now

Source: pkg/volume/emptydir/empty_dir.go, pkg/volume/hostpath/host_path.go,
pkg/volume/util/atomic_writer.go, v1.32.10.
"""

from __future__ import annotations

import json
import re
import secrets
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
"""What a pod is called of which nothing says any more what it was."""

_UID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The uids that pods get which have none, and those of a cluster."""

OWN_MODE = 0o700
VOLUME_MODE = 0o777
FOLDER_MODE = 0o755
NEW_FILE_MODE = 0o644
POD_FILE_MODE = 0o600
POD_FILE_BYTES = 64 * 1024

_VERSION = re.compile(r"\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\w+")
"""A directory with the files as they were at one time."""

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
    """The volumes below one folder, which may not be there yet.

    What is in them is as containers left it: no link in them is followed, and none of
    it is removed beyond a mount. Raises `OSError` for what the system refuses.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._root = DirectoryRoot(base)

    def mount(self, operation: MountVolume) -> None:
        """Make a volume ready; one that is there keeps what is in it.

        Raises:
            ContainerRuntimeError: a path of the host is not of its type.
        """
        pod, volume = operation.pod, operation.volume
        if isinstance(volume.source, HostPath):
            _check_host_path(volume.source)
            return
        folder = _beneath(pod.uid, volume.name)
        if not self._root.exists(folder):
            self._introduce(pod)
            self._root.make_directories(folder, VOLUME_MODE)
        if isinstance(volume.source, Projected):
            files = DirectoryRoot(self.path(pod, volume))
            _write_files(files, operation.files, operation.at)

    def unmount(self, operation: UnmountVolume) -> None:
        """Remove a volume with what is in it; a path of the host stays as it is.

        It may take long: on an event loop it belongs into a thread.

        Raises:
            LeftBehindError: something of it could not be removed.
        """
        folder = _beneath(operation.pod_uid)
        if not self._root.exists(folder):
            return
        self._root.remove_tree(_beneath(operation.pod_uid, operation.volume_name))
        self.remove_empty(operation.pod_uid)

    def remove_empty(self, pod_uid: str) -> None:
        """Remove what is left of a pod that has no volume any more."""
        folder = _beneath(pod_uid)
        if self._root.exists(folder) and not self._volumes(pod_uid):
            self._root.remove_tree(folder)

    def list(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, by pod.

        Whose they are may not be known any more, if a removal was interrupted.
        """
        try:
            uids = self._root.names()
        except FileNotFoundError:
            return ()
        return tuple(filter(None, map(self._pod_volumes, uids)))

    def path(self, pod: Pod, volume: Volume) -> Path:
        """Return where a volume is."""
        if isinstance(volume.source, HostPath):
            return Path("/", volume.source.path)
        return child_path(self._base, pod.uid, volume.name)

    def _introduce(self, pod: Pod) -> None:
        """Write down whose volumes follow."""
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
            # A removal that was interrupted has got that far, or it is damaged.
            name, namespace = f"{UNKNOWN_NAME}{uid}", UNKNOWN_NAMESPACE
        try:
            return PodVolumes(uid, name, namespace, self._volumes(uid))
        except (OSError, ContainerRuntimeError):
            return None  # no folder, or just gone

    def _volumes(self, uid: str) -> tuple[str, ...]:
        names = self._root.names(_beneath(uid))
        return tuple(
            name for name in names if self._root.is_directory(_beneath(uid, name))
        )


def _beneath(*names: str) -> Path:
    """Return a path beneath the base, of names that may come from anywhere."""
    return child_path(Path(), *names)


def _check_host_path(source: HostPath) -> None:
    """Refuse a path that is not of its type; make it if that is asked for."""
    path = Path("/", source.path)
    if not source.type:
        return
    if not path.exists():
        if source.type == "DirectoryOrCreate":
            make_own_directory(path, FOLDER_MODE)
        elif source.type == "FileOrCreate":
            create_own_file(path, NEW_FILE_MODE)
    is_wanted, words = _WANTED[source.type]
    if not (path.exists() and is_wanted(path.stat().st_mode)):
        raise ContainerRuntimeError(
            f"hostPath type check failed: {source.path} is not {words}"
        )


def _write_files(
    volume: DirectoryRoot, files: Iterable[VolumeFile], at: datetime
) -> None:
    """Let files appear in a volume, or change, as one.

    What containers have put there themselves stays, and is never written through.
    """
    files = tuple(files)
    fresh = f"..{at:%Y_%m_%d_%H_%M_%S}.{secrets.token_hex(4)}"
    volume.make_directories(fresh, FOLDER_MODE)
    for file in files:
        folder = (Path(fresh) / file.path).parent
        volume.make_directories(folder, FOLDER_MODE)
        volume.create_file(Path(fresh) / file.path, file.content, file.mode)
    volume.remove_tree(DATA_NEXT)
    volume.symlink(DATA_NEXT, fresh)
    volume.rename(DATA_NEXT, DATA)
    _show(volume, {file.path.split("/")[0] for file in files})
    for name in volume.names():
        if _VERSION.fullmatch(name) and name != fresh:
            volume.remove_tree(name)


def _show(volume: DirectoryRoot, names: set[str]) -> None:
    """Have links to these files and to no others."""
    for name in volume.names():
        if name not in names and volume.read_link(name) == f"{DATA}/{name}":
            volume.unlink(name)
    for name in sorted(names):
        if volume.read_link(name) != f"{DATA}/{name}":
            volume.symlink(name, f"{DATA}/{name}")
