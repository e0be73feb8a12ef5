"""Files of pods that the kubelet keeps itself: hosts files, logs, volumes.

<folder>/volumes/<pod uid>/…                       what containers mount
/run/probetui/sub-paths/<hash of folder>/…         mounts of their subPaths
<folder>/pods/<pod uid>/etc-hosts                  the pod's `/etc/hosts`
<folder>/pods/<pod uid>/containers/<name>/<hex>    termination message of an instance
/var/log/pods/<namespace>_<name>_<pod uid>/…       container logs

Source: pkg/volume/emptydir/empty_dir.go, v1.32.10, setupTmpfs,
teardownTmpfsOrHugetlbfs; pkg/volume/volume_linux.go, SetVolumeOwnership.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

from probetui.errors import (
    ContainerRuntimeError,
    IncompleteRemovalError,
    wrap_os_errors,
)
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import MEMORY, EmptyDir, HostPath, Projected, Volume
from probetui.kubelet.effects import CreateContainer, MountVolume, UnmountVolume
from probetui.kubelet.kuberuntime.labels import POD_LOGS, sandbox_log_directory
from probetui.kubelet.kuberuntime.termination_message import MAX_FILE_BYTES
from probetui.ports import PodVolumes
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.dns import (
    ResolvConf,
    format_hosts_file,
    parse_resolv_conf,
    pod_resolv_conf,
)
from probetui.runtimes.cri.log_rotation import list_rotated
from probetui.runtimes.cri.translate import CriContainer
from probetui.runtimes.kernel_mounts import mount_file_system, mounts_at, unmount
from probetui.runtimes.sub_paths import SubPaths, sub_paths_folder, with_sub_paths
from probetui.runtimes.translation import PodName, hostname
from probetui.runtimes.volume_folders import (
    UNKNOWN_NAME,
    UNKNOWN_NAMESPACE,
    VolumeFolders,
)
from probetui.untrusted_files import (
    DirectoryRoot,
    child_path,
    make_own_directory,
    read_settings,
)
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
    """Unmount the tmpfs of a folder, if there is one.

    Raises:
        IncompleteRemovalError: something else is mounted on it or in it, and stays.
        OSError: the system refuses.
    """
    kinds, beneath = mounts_at(folder)
    if not kinds:
        return
    others = beneath if kinds == (TMPFS,) else (folder, *beneath)
    if others:
        left = [Leftover(mount, "something is mounted there") for mount in others]
        raise IncompleteRemovalError(left[:MAX_NAMED], len(left))
    unmount(folder)


READ_ONLY = 0o440
READ_WRITE = 0o660
FOLDER = stat.S_ISGID | 0o110


def give_to_group(volume: Path, group: int, *, may_write: bool) -> None:
    """Change the group of a volume and its contents (fsGroup).

    Links are not followed; mount points and files with other hard links are left alone.
    Raises `OSError`.
    """
    rights = READ_WRITE if may_write else READ_ONLY
    DirectoryRoot(volume.parent).give_to_group(
        volume.name, group, modes=(rights, rights | FOLDER)
    )


RESOLV_CONF = Path("/etc/resolv.conf")
FOLDER_MODE = 0o755
OWN_MODE = 0o700
HOSTS_MODE = 0o644
MESSAGE_MODE = 0o666


class PodFiles:
    """The files of pods; methods raise `ContainerRuntimeError`.

    Args:
        folder: the folder for everything but logs; created when needed.
        engine_socket: the runtime's socket.
    """

    def __init__(self, folder: Path, engine_socket: Path) -> None:
        self._pods = DirectoryRoot(folder / "pods")
        self._volumes_folder = folder / "volumes"
        self._volumes = VolumeFolders(self._volumes_folder)
        self._sub_paths = SubPaths(sub_paths_folder(folder), engine_socket)

    # -- sandboxes and containers

    def resolv_conf(self, pod: Pod) -> ResolvConf:
        """Return the name resolution of a pod."""
        return pod_resolv_conf(pod, parse_resolv_conf(_text(RESOLV_CONF)))

    def make_log_folder(self, pod: Pod) -> None:
        """Create the log folder of a pod."""
        _make_log_folder(_log_folder(pod))

    def remove_empty_log_folder(self, pod: Pod) -> None:
        """Remove the log folder of a pod if it is empty."""
        with contextlib.suppress(OSError):
            _logs().remove_directory(_log_folder(pod).name)

    def mounts(self, operation: CreateContainer, ip: str) -> list[cri.Mount]:
        """Create the files of a container and return its mounts.

        Source: kuberuntime/kuberuntime_container.go, v1.32.10, makeMounts.
        """
        pod, container = operation.pod, operation.container
        _make_log_folder(child_path(_log_folder(pod), container.name))
        with wrap_os_errors():
            mounts = list(volume_mounts(pod, container, self._volumes, self._sub_paths))
            if not mounts_etc_hosts(container):
                mounts.append(file_mount(self._write_hosts(pod, ip), ETC_HOSTS))
            if path := container.termination_message_path:
                mounts.append(file_mount(self._make_message_file(operation), path))
        return mounts

    def read_termination_message(self, container: CriContainer) -> bytes | None:
        """Return the end of a termination message file, None if there is none."""
        if not container.message_file:
            return None
        file = Path(container.message_file)
        try:
            return DirectoryRoot(file.parent).read_end(file.name, MAX_FILE_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            # The kubelet's message, with Python's text of the error.
            return (
                f"Error on reading termination log {error.filename}: {error}".encode()
            )

    def remove_container_files(self, container: CriContainer) -> None:
        """Remove the log and the termination message of a removed container.

        Only below our own folders, whatever paths the runtime reports.
        """
        log = Path(container.log_file)
        with wrap_os_errors():
            for file, root in (
                (Path(container.message_file), self._pods),
                *((path, _logs()) for path in (log, *list_rotated(log))),
            ):
                if file.is_relative_to(root.path) and ".." not in file.parts:
                    root.unlink(file.relative_to(root.path), missing_ok=True)

    def remove_pod_files(self, pod: PodName) -> None:
        """Remove everything but the volumes of a pod without sandboxes."""
        if not pod.uid:
            return
        logs = _log_folder(Pod(pod.uid, pod.name, pod.namespace))
        with wrap_os_errors():
            self._pods.remove_tree(child_path(Path(), pod.uid))
            _logs().remove_tree(logs.name)

    def list_leftover_files(self) -> tuple[PodName, ...]:
        """Return the pods that have files here."""
        with wrap_os_errors():
            uids = _names(self._pods)
            logs = _names(_logs())
        return tuple(_pod_of_logs(uid, logs) for uid in uids)

    def remove_empty_volumes(self, pod_uid: str) -> None:
        """Remove the record of a pod that has no volume left."""
        with wrap_os_errors():
            self._volumes.remove_empty(pod_uid)

    def _write_hosts(self, pod: Pod, ip: str) -> Path:
        text = format_hosts_file(pod, hostname(pod), ip, _text(Path(ETC_HOSTS)))
        file = child_path(Path(), pod.uid, "etc-hosts")
        self._make_folder(file.parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        # Written in place: containers have mounted this file.
        descriptor = self._pods.open_file(file, flags, HOSTS_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as hosts:
            hosts.write(text)
        return self._pods.path / file

    def _make_message_file(self, operation: CreateContainer) -> Path:
        name, uid = operation.container.name, operation.pod.uid
        folder = child_path(Path(), uid, "containers", name)
        file = folder / secrets.token_hex(4)
        self._make_folder(folder)
        self._pods.create_file(file, b"", MESSAGE_MODE)
        return self._pods.path / file

    def _make_folder(self, relative: Path) -> None:
        make_own_directory(self._pods.path, OWN_MODE)
        self._pods.make_directories(relative, OWN_MODE)

    # -- volumes

    def mount_volume(self, operation: MountVolume) -> None:
        """Create a volume; an existing one keeps its contents."""
        pod, volume = operation.pod, operation.volume
        group = pod.security_context.fs_group
        with wrap_os_errors():
            self._volumes.mount(operation)
            match volume.source:
                case EmptyDir(medium, size_limit) if medium == MEMORY:
                    mount_tmpfs(self._volumes.path(pod, volume), size_limit)
            if group is not None and not isinstance(volume.source, HostPath):
                give_to_group(
                    self._volumes.path(pod, volume),
                    group,
                    may_write=not operation.files,
                )

    def unmount_volume(self, operation: UnmountVolume) -> None:
        """Remove a volume with its contents; a hostPath is left alone."""
        folder = child_path(
            self._volumes_folder, operation.pod_uid, operation.volume_name
        )
        with wrap_os_errors():
            self._sub_paths.clean(operation.pod_uid, operation.volume_name)
            unmount_tmpfs(folder)
            self._volumes.unmount(operation)

    def list_volumes(self) -> tuple[PodVolumes, ...]:
        """Return all existing volumes, by pod."""
        with wrap_os_errors():
            return with_sub_paths(self._volumes.list(), self._sub_paths.list())


def _names(root: DirectoryRoot) -> list[str]:
    try:
        return root.names()
    except FileNotFoundError:
        return []


def _pod_of_logs(uid: str, logs: Iterable[str]) -> PodName:
    """Return the pod of a UID, by the name of its log folder."""
    for name in logs:
        # Names of Kubernetes objects have no underscore.
        match name.split("_", 2):
            case [namespace, pod, found] if found == uid:
                return PodName(namespace, pod, uid)
            case _:
                continue
    return PodName(UNKNOWN_NAMESPACE, f"{UNKNOWN_NAME}{uid}", uid)


def _logs() -> DirectoryRoot:
    """Return the folder of all pod logs."""
    return DirectoryRoot(Path(POD_LOGS))


def _log_folder(pod: Pod) -> Path:
    """Return the log folder of a pod, which is always below the folder of all logs."""
    name = sandbox_log_directory(pod).removeprefix(f"{POD_LOGS}/")
    return child_path(_logs().path, name)


def _make_log_folder(folder: Path) -> None:
    logs = _logs()
    try:
        make_own_directory(logs.path, FOLDER_MODE)
        logs.make_directories(folder.relative_to(logs.path), FOLDER_MODE)
    except OSError as error:
        raise ContainerRuntimeError(
            f"the log folder {folder} cannot be created: {error.strerror}; "
            "CRI runtimes write container logs there, which needs root"
        ) from error


def _text(file: Path) -> str:
    try:
        return os.fsdecode(read_settings(file))
    except OSError:
        return ""
