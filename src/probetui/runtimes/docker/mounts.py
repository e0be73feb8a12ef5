"""How volumes appear in containers, in Docker's terms and without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import probetui
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Projected, Volume
from probetui.kubelet.labels import POD_NAME, POD_NAMESPACE, POD_UID
from probetui.kubelet.volumes import mounted_names
from probetui.runtimes.docker.archives import volume_root
from probetui.runtimes.docker.translate import OWNER, VERSION

VOLUME = "dev.probetui.volume"
"""The label with a volume's name in its pod."""

FILES_FOLDER = "/probetui"
"""Where a sandbox has the files that its containers get, one each."""

_PROPAGATION = {"HostToContainer": "rslave", "Bidirectional": "rshared"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a volume of Docker's is; `path` is on the daemon's machine."""

    volume: str
    path: str


@dataclass(frozen=True, slots=True)
class Mounts:
    """What goes into the two lists that Docker has for mounts."""

    mounts: tuple[Mapping[str, Any], ...] = ()
    binds: tuple[str, ...] = ()

    def __add__(self, other: Mounts) -> Mounts:
        return Mounts(self.mounts + other.mounts, self.binds + other.binds)

    def body(self) -> dict[str, Any]:
        """Return them as a part of `HostConfig`."""
        return {"Mounts": [*self.mounts], "Binds": [*self.binds]}


NO_MOUNTS = Mounts()


def volume_name(owner: str, pod_uid: str, name: str) -> str:
    """Return what a pod's volume is called at the daemon."""
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
    """Return what makes a volume live in memory; nothing for one on disk."""
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


def whole(name: str, target: str, *, read_only: bool = False) -> Mounts:
    """Mount a volume as it is, without what the image has at that place."""
    return Mounts((
        {
            "Type": "volume",
            "Source": name,
            "Target": target,
            "ReadOnly": read_only,
            "VolumeOptions": {"NoCopy": True},
        },
    ))  # fmt: skip


def part(
    place: Place, sub_path: str, target: str, *, read_only: bool, knows_parts: bool
) -> Mounts:
    """Mount a file or folder of a volume.

    A daemon that does not know parts of volumes takes the path on its machine.
    """
    if not knows_parts:
        mode = "ro,z" if read_only else "z"
        return Mounts(binds=(f"{place.path}/{sub_path}:{target}:{mode}",))
    (mount,) = whole(place.volume, target, read_only=read_only).mounts
    options = {**mount["VolumeOptions"], "Subpath": sub_path}
    return Mounts(({**mount, "VolumeOptions": options},))


def bind(source: HostPath, mount: VolumeMount) -> Mounts:
    """Mount a path of the daemon's machine; a missing one becomes a folder."""
    path = _absolute(source.path)
    if ":" in path:
        # A colon would end the path in the short form, which can make folders.
        return bind_existing(path, mount, read_only=mount.read_only)
    target = _absolute(mount.mount_path)
    propagation = _PROPAGATION.get(mount.mount_propagation, "")
    words = ["ro" if mount.read_only else "rw", *filter(None, [propagation])]
    return Mounts(binds=(f"{path}:{target}:{','.join(words)}",))


def bind_existing(path: str, mount: VolumeMount, *, read_only: bool) -> Mounts:
    """Mount a path of the daemon's machine that has to exist."""
    propagation = _PROPAGATION.get(mount.mount_propagation, "")
    return Mounts((
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
) -> Mounts:
    """Return the mounts of a container.

    Args:
        pod: its pod.
        container: it, with paths in volumes that have no references any more.
        owner: the value of our own label.
        sources: what subPaths were resolved to on the daemon's machine; those that
            are not there are resolved by the daemon.
    """
    found = NO_MOUNTS
    for mount in container.volume_mounts:
        volume = pod.volume(mount.name)
        if volume is None:
            continue
        target = _absolute(mount.mount_path)
        read_only = mount.read_only or isinstance(volume.source, Projected)
        name = volume_name(owner, pod.uid, mount.name)
        if mount in sources:
            found += bind_existing(sources[mount], mount, read_only=read_only)
        elif isinstance(volume.source, HostPath):
            found += bind(volume.source, mount)
        elif mount.sub_path:
            place = Place(name, "")
            found += part(
                place, mount.sub_path, target, read_only=read_only, knows_parts=True
            )
        else:
            found += whole(name, target, read_only=read_only)
    return found


def sandbox_mounts(pod: Pod, owner: str) -> Mounts:
    """Return the mounts of a sandbox.

    It has a volume of its own for the files of its containers, which goes with it. And
    it holds on to what is in memory, which is gone once nobody mounts it.
    """
    names = mounted_names(pod)
    found = Mounts(({"Type": "volume", "Target": FILES_FOLDER},))
    for volume in pod.volumes:
        if volume.name in names and driver_options(pod, volume):
            name = volume_name(owner, pod.uid, volume.name)
            found += whole(name, f"{FILES_FOLDER}-{volume.name}")
    return found


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"
