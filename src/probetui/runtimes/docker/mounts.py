"""Mounts of volumes as Docker's API describes them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

import probetui
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Projected, Volume
from probetui.kubelet.kuberuntime.labels import POD_NAME, POD_NAMESPACE, POD_UID
from probetui.kubelet.volumes.volume_manager import mounted_names
from probetui.runtimes.docker.archives import volume_root
from probetui.runtimes.translation import OWNER, VERSION

VOLUME = "dev.probetui.volume"
"""The label with the volume's name in its pod."""

FILES_FOLDER = "/probetui"
"""The folder of a sandbox with the termination message files of its containers."""

_PROPAGATION = {"HostToContainer": "rslave", "Bidirectional": "rshared"}


class VolumeLocation(Struct, frozen=True):
    """A volume of Docker, and its path on the daemon's machine."""

    volume: str
    path: str


class DockerMounts(Struct, frozen=True):
    """The two lists of mounts that Docker's API has."""

    mounts: tuple[Mapping[str, Any], ...] = ()
    binds: tuple[str, ...] = ()

    def __add__(self, other: DockerMounts) -> DockerMounts:
        return DockerMounts(self.mounts + other.mounts, self.binds + other.binds)

    def body(self) -> dict[str, Any]:
        """Return their part of `HostConfig`."""
        return {"Mounts": [*self.mounts], "Binds": [*self.binds]}


NO_MOUNTS = DockerMounts()


def volume_name(owner: str, pod_uid: str, name: str) -> str:
    """Return the name that a pod's volume has in Docker."""
    return f"{owner}_{pod_uid}_{name}"


def volume_labels(pod: Pod, volume: Volume, owner: str) -> dict[str, str]:
    """Return the labels of a pod's volume."""
    return {
        OWNER: owner,
        VERSION: probetui.__version__,
        VOLUME: volume.name,
        POD_NAME: pod.name,
        POD_NAMESPACE: pod.namespace,
        POD_UID: pod.uid,
    }


def driver_options(pod: Pod, volume: Volume) -> dict[str, str]:
    """Return the driver options of a volume in memory, empty for one on disk."""
    match volume.source:
        case EmptyDir(medium, size_limit) if medium == MEMORY:
            group = pod.security_context.fs_group
            options = [f"mode={volume_root('', group).mode:o}"]
            if group is not None:
                options.append(f"gid={group}")
            if size_limit:
                options.append(f"size={int(size_limit)}")
            return {"type": "tmpfs", "device": "tmpfs", "o": ",".join(options)}
        case _:
            return {}


def mount_volume(name: str, target: str, *, read_only: bool = False) -> DockerMounts:
    """Mount a whole volume; files of the image at that path are not copied."""
    return DockerMounts((
        {
            "Type": "volume",
            "Source": name,
            "Target": target,
            "ReadOnly": read_only,
            "VolumeOptions": {"NoCopy": True},
        },
    ))  # fmt: skip


def mount_sub_path(
    place: VolumeLocation,
    sub_path: str,
    target: str,
    *,
    read_only: bool,
    supports_subpath: bool,
) -> DockerMounts:
    """Mount a file or folder of a volume.

    A daemon without support for sub-paths gets the path on its machine.
    """
    if not supports_subpath:
        mode = "ro,z" if read_only else "z"
        return DockerMounts(binds=(f"{place.path}/{sub_path}:{target}:{mode}",))
    (mount,) = mount_volume(place.volume, target, read_only=read_only).mounts
    options = {**mount["VolumeOptions"], "Subpath": sub_path}
    return DockerMounts(({**mount, "VolumeOptions": options},))


def bind_host_path(source: HostPath, mount: VolumeMount) -> DockerMounts:
    """Mount a path of the daemon's machine; if missing, it is created as a folder."""
    path = _absolute(source.path)
    if ":" in path:
        # The short form, which creates folders, has a colon after the path.
        return bind_existing_path(path, mount, read_only=mount.read_only)
    target = _absolute(mount.mount_path)
    propagation = _PROPAGATION.get(mount.mount_propagation, "")
    options = ["ro" if mount.read_only else "rw", *filter(None, [propagation])]
    return DockerMounts(binds=(f"{path}:{target}:{','.join(options)}",))


def bind_existing_path(
    path: str, mount: VolumeMount, *, read_only: bool
) -> DockerMounts:
    """Mount an existing path of the daemon's machine."""
    propagation = _PROPAGATION.get(mount.mount_propagation, "")
    return DockerMounts((
        {
            "Type": "bind",
            "Source": path,
            "Target": _absolute(mount.mount_path),
            "ReadOnly": read_only,
            "BindOptions": {"Propagation": propagation} if propagation else {},
        },
    ))  # fmt: skip


def container_mounts(
    pod: Pod, container: Container, owner: str, sources: Mapping[VolumeMount, str]
) -> DockerMounts:
    """Return the mounts of a container.

    Args:
        pod: its pod.
        container: the container, with subPathExpr expanded to subPath.
        owner: the value of our owner label.
        sources: paths of the daemon's machine that subPaths were resolved to; others
            are resolved by the daemon.
    """
    mounts = NO_MOUNTS
    for mount in container.volume_mounts:
        volume = pod.volume(mount.name)
        if volume is None:
            continue
        target = _absolute(mount.mount_path)
        read_only = mount.read_only or isinstance(volume.source, Projected)
        name = volume_name(owner, pod.uid, mount.name)
        if mount in sources:
            mounts += bind_existing_path(sources[mount], mount, read_only=read_only)
        elif isinstance(volume.source, HostPath):
            mounts += bind_host_path(volume.source, mount)
        elif mount.sub_path:
            place = VolumeLocation(name, "")
            mounts += mount_sub_path(
                place,
                mount.sub_path,
                target,
                read_only=read_only,
                supports_subpath=True,
            )
        else:
            mounts += mount_volume(name, target, read_only=read_only)
    return mounts


def sandbox_mounts(pod: Pod, owner: str) -> DockerMounts:
    """Return the mounts of a sandbox.

    It has an anonymous volume for the files of its containers. It also mounts the
    volumes in memory, whose content is lost once nothing mounts them.
    """
    names = mounted_names(pod)
    mounts = DockerMounts(({"Type": "volume", "Target": FILES_FOLDER},))
    for volume in pod.volumes:
        if volume.name in names and driver_options(pod, volume):
            name = volume_name(owner, pod.uid, volume.name)
            mounts += mount_volume(name, f"{FILES_FOLDER}-{volume.name}")
    return mounts


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"
