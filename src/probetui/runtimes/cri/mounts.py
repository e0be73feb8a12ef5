"""What appears in a container from outside: volumes, `/etc/hosts`, its last words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import Projected, Volume
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.volume_folders import VolumeFolders

ETC_HOSTS = "/etc/hosts"

_PROPAGATION = {
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


def volume_mounts(
    pod: Pod, container: Container, volumes: VolumeFolders
) -> Iterator[cri.Mount]:
    """Yield the mounts of a container's volumes; a missing part of one is made.

    Raises `OSError` for what the system refuses.

    Source: kubelet/kubelet_pods.go, v1.32.10, makeMounts.
    """
    for mount in container.volume_mounts:
        volume = pod.volume(mount.name)
        if volume is not None:
            yield _volume_mount(pod, mount, volume, volumes)


def mounts_hosts_itself(container: Container) -> bool:
    """Tell whether a volume of a container's takes the place of `/etc/hosts`."""
    paths = (_absolute(each.mount_path).rstrip("/") for each in container.volume_mounts)
    return ETC_HOSTS in paths


def file_mount(file: Path, path: str) -> cri.Mount:
    """Mount a file of this machine, to be written too."""
    return cri.Mount(container_path=path, host_path=str(file))


def _volume_mount(
    pod: Pod, mount: VolumeMount, volume: Volume, volumes: VolumeFolders
) -> cri.Mount:
    if mount.sub_path:
        path = volumes.part(pod, volume, mount.sub_path)
    else:
        path = volumes.path(pod, volume)
    return cri.Mount(
        container_path=_absolute(mount.mount_path),
        host_path=str(path),
        readonly=mount.read_only or isinstance(volume.source, Projected),
        propagation=_PROPAGATION.get(mount.mount_propagation, cri.PROPAGATION_PRIVATE),
    )


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"
