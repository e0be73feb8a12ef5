"""Volumes as folders of this machine, for runtimes whose containers live on it.

    <base>/<pod uid>/pod.json             whose volumes these are
    <base>/<pod uid>/<volume>/            what containers see
    <base>/<pod uid>/<volume>/..data      leads to the files there are now

Source: pkg/volume/emptydir/empty_dir.go, pkg/volume/hostpath/host_path.go,
pkg/volume/util/atomic_writer.go, v1.32.10.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.volume import HostPath, Projected, Volume, VolumeFile
from probetui.kubelet.effects import MountVolume, UnmountVolume
from probetui.ports import PodVolumes

POD_FILE = "pod.json"
DATA = "..data"
DATA_NEXT = "..data_tmp"

OWN_MODE = 0o700
VOLUME_MODE = 0o777
FOLDER_MODE = 0o755
NEW_FILE_MODE = 0o644

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

    Raises `OSError` for what the system refuses.
    """

    def __init__(self, base: Path) -> None:
        self._base = base

    def mount(self, operation: MountVolume) -> None:
        """Make a volume ready; one that is there keeps what is in it.

        Raises:
            ContainerRuntimeError: a path of the host is not of its type.
        """
        pod, volume = operation.pod, operation.volume
        if isinstance(volume.source, HostPath):
            _check_host_path(volume.source)
            return
        folder = self.path(pod, volume)
        if not folder.is_dir():
            self._introduce(pod)
            folder.mkdir(OWN_MODE)
            folder.chmod(VOLUME_MODE)
        if isinstance(volume.source, Projected):
            _write_files(folder, operation.files, operation.at)

    def unmount(self, operation: UnmountVolume) -> None:
        """Remove a volume with what is in it; a path of the host stays as it is."""
        folder = child(self._base, operation.pod_uid)
        if not folder.is_dir():
            return
        remove_tree(child(folder, operation.volume_name))
        if not list(_volumes(folder)):
            remove_tree(folder)

    def list(self) -> tuple[PodVolumes, ...]:
        """Return all volumes there are, by pod."""
        try:
            folders = sorted(self._base.iterdir())
        except FileNotFoundError:
            return ()
        return tuple(filter(None, map(_pod_volumes, folders)))

    def path(self, pod: Pod, volume: Volume) -> Path:
        """Return where a volume is."""
        if isinstance(volume.source, HostPath):
            return Path("/", volume.source.path)
        return child(child(self._base, pod.uid), volume.name)

    def _introduce(self, pod: Pod) -> None:
        """Write down whose volumes follow."""
        folder = child(self._base, pod.uid)
        folder.mkdir(OWN_MODE, parents=True, exist_ok=True)
        text = json.dumps({"name": pod.name, "namespace": pod.namespace})
        (folder / POD_FILE).write_text(text, encoding="ascii")


def child(folder: Path, name: str) -> Path:
    """Return what has a name in a folder, and is in no other one.

    Names come from manifests and from what runtimes say, and whole trees are removed by
    them: one that leads out of its folder, like `/` or `..`, must never get that far.

    Raises:
        ContainerRuntimeError: the name is no name of a file.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ContainerRuntimeError(f'"{name}" cannot be the name of a folder')
    return folder / name


def remove_tree(folder: Path) -> None:
    """Remove a folder and all in it, also what was closed to its owner."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for parent, names, _ in os.walk(folder):
            for each in (Path(parent, name) for name in names):
                if not each.is_symlink():
                    each.chmod(OWN_MODE)
        shutil.rmtree(folder)


def _pod_volumes(folder: Path) -> PodVolumes | None:
    try:
        pod = json.loads((folder / POD_FILE).read_text("ascii"))
        name, namespace = str(pod["name"]), str(pod["namespace"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not ours, or just being made or removed
    return PodVolumes(folder.name, name, namespace, tuple(sorted(_volumes(folder))))


def _volumes(folder: Path) -> Iterator[str]:
    return (each.name for each in folder.iterdir() if each.is_dir())


def _check_host_path(source: HostPath) -> None:
    """Refuse a path that is not of its type; make it if that is asked for."""
    path = Path("/", source.path)
    if not source.type:
        return
    if not path.exists():
        if source.type == "DirectoryOrCreate":
            path.mkdir(FOLDER_MODE, parents=True)
        elif source.type == "FileOrCreate":
            path.touch(NEW_FILE_MODE)
    is_wanted, words = _WANTED[source.type]
    if not (path.exists() and is_wanted(path.stat().st_mode)):
        raise ContainerRuntimeError(
            f"hostPath type check failed: {source.path} is not {words}"
        )


def _write_files(folder: Path, files: Iterable[VolumeFile], at: datetime) -> None:
    """Let files appear in a volume, or change, as one."""
    files = tuple(files)
    fresh = Path(tempfile.mkdtemp(prefix=f"..{at:%Y_%m_%d_%H_%M_%S}.", dir=folder))
    fresh.chmod(FOLDER_MODE)
    for file in files:
        path = fresh / file.path
        path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        path.touch(OWN_MODE)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    (folder / DATA_NEXT).unlink(missing_ok=True)
    (folder / DATA_NEXT).symlink_to(fresh.name)
    (folder / DATA_NEXT).rename(folder / DATA)
    _show(folder, {each.path.split("/")[0] for each in files})
    for each in folder.iterdir():
        if each.name.startswith("..") and each.name not in {fresh.name, DATA}:
            remove_tree(each)


def _show(folder: Path, names: set[str]) -> None:
    """Have links to these files and no others."""
    for each in folder.iterdir():
        if not each.name.startswith("..") and each.name not in names:
            each.unlink()
    for name in names:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{DATA}/{name}")
