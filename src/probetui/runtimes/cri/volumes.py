"""Mounts of containers, tmpfs volumes and the group of volumes.

Source: pkg/volume/emptydir/empty_dir.go, v1.32.10, setupTmpfs,
teardownTmpfsOrHugetlbfs; pkg/volume/volume_linux.go, SetVolumeOwnership.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from probetui.errors import IncompleteRemovalError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import Projected, Volume
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.kernel_mounts import mount_file_system, mounts_at, unmount
from probetui.runtimes.sub_paths import SubPaths
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot
from probetui.untrusted_trees import MAX_NAMED, Leftover

ETC_HOSTS = "/etc/hosts"

_PROPAGATION = {
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


def volume_mounts(
    pod: Pod, container: Container, volumes: VolumeFolders, sub_paths: SubPaths
) -> Iterator[cri.Mount]:
    """Yield the mounts of a container's volumes; a missing subPath is created.

    Raises:
        ContainerConfigError: a subPath leads out of its volume.
        OSError: the system refuses.

    Source: kubelet/kubelet_pods.go, v1.32.10, makeMounts.
    """
    for mount in container.volume_mounts:
        volume = pod.volume(mount.name)
        if volume is None:
            continue
        path = volumes.path(pod, volume)
        if mount.sub_path:
            path = sub_paths.bind(pod, container, mount, path)
        yield _volume_mount(mount, volume, path)


def mounts_etc_hosts(container: Container) -> bool:
    """Return whether a container mounts a volume at `/etc/hosts`."""
    paths = (
        _absolute(mount.mount_path).rstrip("/") for mount in container.volume_mounts
    )
    return ETC_HOSTS in paths


def file_mount(file: Path, path: str) -> cri.Mount:
    """Return the writable mount of a file of this machine."""
    return cri.Mount(container_path=path, host_path=str(file))


def _volume_mount(mount: VolumeMount, volume: Volume, path: Path) -> cri.Mount:
    return cri.Mount(
        container_path=_absolute(mount.mount_path),
        host_path=str(path),
        readonly=mount.read_only or isinstance(volume.source, Projected),
        propagation=_PROPAGATION.get(mount.mount_propagation, cri.PROPAGATION_PRIVATE),
    )


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


TMPFS = "tmpfs"
MODE = "mode=777"


def mount_tmpfs(folder: Path, size_limit: Decimal | None) -> None:
    """Mount a tmpfs on a folder, unless it is a mount point already.

    Raises `OSError`.
    """
    if folder.is_mount():
        return
    options = [MODE]
    if size_limit:
        options.append(f"size={int(size_limit)}")
    mount_file_system(TMPFS, folder, ",".join(options))


def unmount_tmpfs(folder: Path) -> None:
    """Unmount the tmpfs of a folder; one without any stays as it is.

    Raises:
        IncompleteRemovalError: something else is mounted on it or in it, which is left.
        OSError: the system refuses.
    """
    kinds, beneath = mounts_at(folder)
    if not kinds:
        return
    others = beneath if kinds == (TMPFS,) else (folder, *beneath)
    if others:
        left = [Leftover(it, "something is mounted there") for it in others]
        raise IncompleteRemovalError(left[:MAX_NAMED], len(left))
    unmount(folder)


READ_ONLY = 0o440
READ_WRITE = 0o660
FOLDER = stat.S_ISGID | 0o110


def give_to_group(volume: Path, group: int, *, may_write: bool) -> None:
    """Give a volume and its contents to a group (fsGroup).

    Links are not followed; mount points and files with other hard links are left alone.
    Raises `OSError`.
    """
    rights = READ_WRITE if may_write else READ_ONLY
    DirectoryRoot(volume.parent).give_to_group(
        volume.name, group, modes=(rights, rights | FOLDER)
    )
