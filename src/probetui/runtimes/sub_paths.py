"""subPath: a file or directory of a volume, opened and mounted safely.

Containers may replace what is in their volume by symbolic links at any time. So links
are resolved once and must stay in the volume, the components of the result are opened
without following links, and the descriptor is bind-mounted at a path that containers
cannot reach. The runtime gets that path:

    <base>/<pod uid>/pod.json                        name and namespace of the pod
    <base>/<pod uid>/<volume>/<container>/<index>    a mount; index in volumeMounts

Source: pkg/volume/util/subpath/subpath_linux.go, v1.32.10, doSafeMakeDir, doSafeOpen,
doBindSubPath, doCleanSubPaths; kubelet/kubelet_pods.go, v1.32.10, makeMounts.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import socket
import stat
import struct
from collections.abc import Iterator
from pathlib import Path, PurePath

from msgspec import Struct

from probetui.errors import ContainerConfigError, ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.kubelet.runtime.go_format import go_quote
from probetui.ports import PodVolumes
from probetui.runtimes.kernel_mounts import bind_descriptor, mounts_at, unmount
from probetui.untrusted_files import DirectoryRoot, child_path, make_own_directory

logger = logging.getLogger(__name__)

RUN = Path("/run/probetui/sub-paths")
"""The folder of mounts: it is never removed as a tree, and empty after a boot."""

POD_FILE = "pod.json"
OWN_MODE = 0o700
MAX_RECORD_BYTES = 64 * 1024
PEER_SECONDS = 5
_CREDENTIALS = struct.Struct("3i")


def sub_paths_folder(state: Path) -> Path:
    """Return the folder of the subPaths for a state folder."""
    name = hashlib.sha256(os.fsencode(state.absolute())).hexdigest()[:16]
    return RUN / name


# -- resolution


def open_sub_path(volume: Path, container: str, mount: VolumeMount) -> int:
    """Open a subPath and return a descriptor, which the caller closes.

    Missing directories are created with the mode of the volume. The error does not
    have the reason, as it would reveal the host; the log has it.

    Raises:
        ContainerConfigError: it cannot be created, or leads out of the volume.
    """
    root = DirectoryRoot(volume)
    _make_missing(root, container, mount)
    try:
        return root.open_path(root.resolve(mount.sub_path))
    except (OSError, ContainerRuntimeError) as error:
        raise refused_sub_path(container, mount.name, error) from error


def resolve_sub_path(volume: Path, container: str, mount: VolumeMount) -> Path:
    """Return the current path of a subPath, without links.

    It is for processes, which have no mounts; see `open_sub_path`.
    """
    os.close(open_sub_path(volume, container, mount))
    try:
        root = DirectoryRoot(volume)
        return Path(os.path.realpath(volume)) / root.resolve(mount.sub_path)
    except (OSError, ContainerRuntimeError) as error:
        raise refused_sub_path(container, mount.name, error) from error


def refused_sub_path(
    container: str, volume: str, reason: object, *, to_make: bool = False
) -> ContainerConfigError:
    """Return the kubelet's error for a subPath, and log the reason."""
    action = "create subPath directory" if to_make else "prepare subPath"
    text = (
        f"failed to {action} for volumeMount {go_quote(volume)} "
        f"of container {go_quote(container)}"
    )
    logger.warning("%s: %s", text, reason)
    return ContainerConfigError(text)


def _make_missing(root: DirectoryRoot, container: str, mount: VolumeMount) -> None:
    """Create the missing directories of a subPath.

    Source: pkg/volume/util/subpath/subpath_linux.go, v1.32.10, doSafeMakeDir.
    """
    try:
        mode = stat.S_IMODE(root.path.stat().st_mode)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ContainerConfigError(f"stat {root.path}: {reason}") from error
    existing, missing = _existing_prefix(root.path, PurePath(mount.sub_path))
    if missing.parts:
        try:
            # A dangling link in the missing part is refused.
            root.make_directories(root.resolve(existing) / missing, mode)
        except (OSError, ContainerRuntimeError) as error:
            raise refused_sub_path(
                container, mount.name, error, to_make=True
            ) from error


def _existing_prefix(volume: Path, path: PurePath) -> tuple[PurePath, PurePath]:
    """Return the existing part of a path, and the rest."""
    for count in range(len(path.parts) + 1):
        beginning = PurePath(*path.parts[: count + 1])
        try:
            (volume / beginning).stat()
        except FileNotFoundError:
            return PurePath(*path.parts[:count]), PurePath(*path.parts[count:])
        except OSError:
            break  # opening it raises the error
    return path, PurePath()


# -- mounts


class UnseenMountError(OSError):
    """The container engine sees other files than we do, or none of our mounts."""


class SubPaths(Struct, frozen=True):
    """The mounted subPaths of one runtime.

    Attributes:
        base: their folder; see `sub_paths_folder`.
        engine_socket: the socket of the container engine, which must see the mounts.
    """

    base: Path
    engine_socket: Path

    def bind(
        self, pod: Pod, container: Container, mount: VolumeMount, volume: Path
    ) -> Path:
        """Mount a subPath, unless it is mounted already, and return where.

        Raises:
            ContainerConfigError: it leads out of the volume, or cannot be mounted.
        """
        descriptor = open_sub_path(volume, container.name, mount)
        index = str(container.volume_mounts.index(mount))
        try:
            self.check_view(volume)
            target = child_path(self.base, pod.uid, mount.name, container.name, index)
            self._write_pod_file(pod)
            self._bind(descriptor, target)
        except (OSError, ContainerRuntimeError) as error:
            raise refused_sub_path(container.name, mount.name, error) from error
        finally:
            os.close(descriptor)
        return target

    def clean(self, pod_uid: str, volume_name: str) -> None:
        """Unmount the subPaths of a pod's volume.

        Only mount points and empty folders are removed, never a tree.

        Raises:
            ContainerRuntimeError: the system refuses.
        """
        try:
            self._clean(child_path(self.base, pod_uid, volume_name))
        except OSError as error:
            raise ContainerRuntimeError(
                f"the subPaths of volume {volume_name} cannot be unmounted: {error}"
            ) from error

    def _clean(self, folder: Path) -> None:
        for container in _entries(folder):
            for target in _entries(container):
                _remove_mount_point(target)
            DirectoryRoot(folder).remove_directory(container.name)
        with contextlib.suppress(FileNotFoundError):
            DirectoryRoot(folder.parent).remove_directory(folder.name)
        if not list(_volumes(folder.parent)):
            DirectoryRoot(folder.parent.parent).unlink(
                f"{folder.parent.name}/{POD_FILE}", missing_ok=True
            )
            with contextlib.suppress(FileNotFoundError):
                DirectoryRoot(self.base).remove_directory(folder.parent.name)
            with contextlib.suppress(OSError):  # other pods have some
                DirectoryRoot(self.base.parent).remove_directory(self.base.name)

    def list(self) -> tuple[PodVolumes, ...]:
        """Return the volumes with mounted subPaths, by pod."""
        return tuple(filter(None, map(self._pod_volumes, _entries(self.base))))

    def _bind(self, descriptor: int, target: Path) -> None:
        wanted = os.fstat(descriptor)
        if _is_same(wanted, target):
            return  # mounted for an earlier instance of the container
        _remove_mount_point(target)
        make_own_directory(target.parent, OWN_MODE)
        place = DirectoryRoot(target.parent)
        if stat.S_ISDIR(wanted.st_mode):
            place.make_directory(target.name, OWN_MODE)
        else:
            place.create_file(target.name, b"", 0o600)
        try:
            bind_descriptor(descriptor, target)
            self.check_view(target)
        except BaseException:
            _remove_mount_point(target)
            raise

    def check_view(self, path: Path) -> None:
        """Check that the engine sees the same file at a path as we do.

        It may have another root or mount namespace.

        Raises:
            UnseenMountError: it does not.
            OSError: that cannot be checked.
        """
        real = Path(os.path.realpath(path))
        seen = Path(f"/proc/{_peer(self.engine_socket)}/root{real}")
        if not _is_same(real.stat(), seen):
            raise UnseenMountError(
                errno.EXDEV, "the container engine sees another file", str(path)
            )

    def _write_pod_file(self, pod: Pod) -> None:
        """Write the name and namespace of a pod."""
        folder = child_path(self.base, pod.uid)
        make_own_directory(folder, OWN_MODE)
        text = json.dumps({"name": pod.name, "namespace": pod.namespace})
        DirectoryRoot(folder).replace_file(POD_FILE, text.encode(), 0o600)

    def _pod_volumes(self, folder: Path) -> PodVolumes | None:
        try:
            read = DirectoryRoot(folder).read_file(POD_FILE, MAX_RECORD_BYTES)
            pod = json.loads(read)
            name, namespace = str(pod["name"]), str(pod["namespace"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # being created or removed
        return PodVolumes(folder.name, name, namespace, tuple(_volumes(folder)))


def with_sub_paths(
    volumes: tuple[PodVolumes, ...], mounted: tuple[PodVolumes, ...]
) -> tuple[PodVolumes, ...]:
    """Return volumes, and those of which only mounted subPaths are left, by pod."""
    volumes_of_pod = {pod.pod_uid: pod for pod in (*mounted, *volumes)}
    for mounted_pod in mounted:
        pod = volumes_of_pod[mounted_pod.pod_uid]
        names = sorted({*pod.volumes, *mounted_pod.volumes})
        volumes_of_pod[mounted_pod.pod_uid] = PodVolumes(
            pod.pod_uid, pod.name, pod.namespace, tuple(names)
        )
    return tuple(volumes_of_pod[uid] for uid in sorted(volumes_of_pod))


def _peer(engine_socket: Path) -> int:
    """Return the PID of the process that listens on a socket; raises `OSError`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PEER_SECONDS)
        connection.connect(str(engine_socket))
        read = connection.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
        )
    pid: int = _CREDENTIALS.unpack(read)[0]
    if pid == 0:
        raise UnseenMountError(
            errno.EXDEV, "the container engine is in another PID namespace"
        )
    return pid


def _remove_mount_point(target: Path) -> None:
    """Unmount everything at a path of ours, and remove the mount point."""
    place = DirectoryRoot(target.parent)
    if not place.exists(target.name):
        return
    # Without CAP_SYS_ADMIN the kernel refuses to unmount even where nothing is mounted.
    while mounts_at(target)[0] and unmount(target):
        pass
    if place.is_directory(target.name):
        place.remove_directory(target.name)
    else:
        place.unlink(target.name)


def _is_same(wanted: os.stat_result, path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _volumes(folder: Path) -> Iterator[str]:
    return (entry.name for entry in _entries(folder) if entry.name != POD_FILE)
