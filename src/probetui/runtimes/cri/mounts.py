"""What appears in a container from outside: volumes, `/etc/hosts`, its last words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import Projected, Volume
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.sub_paths import SubPaths
from probetui.runtimes.volume_folders import VolumeFolders

ETC_HOSTS = "/etc/hosts"

_PROPAGATION = {
    "HostToContainer": cri.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": cri.PROPAGATION_BIDIRECTIONAL,
}


def volume_mounts(
    pod: Pod, container: Container, volumes: VolumeFolders, sub_paths: SubPaths
) -> Iterator[cri.Mount]:
    """Yield the mounts of a container's volumes; a missing subPath is made.

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


def mounts_hosts_itself(container: Container) -> bool:
    """Tell whether a volume of a container's takes the place of `/etc/hosts`."""
    paths = (_absolute(each.mount_path).rstrip("/") for each in container.volume_mounts)
    return ETC_HOSTS in paths


def file_mount(file: Path, path: str) -> cri.Mount:
    """Mount a file of this machine, to be written too."""
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
