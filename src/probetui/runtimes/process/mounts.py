"""Mounts of a container without a file system of its own: links in its home.

A volume mounted at `/data` is `$HOME/data`, and likewise the termination message file
at `/dev/termination-log`. Read-only mounts can be written to.
"""

from __future__ import annotations

import os
from os.path import normpath
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import HostPath, Projected, Volume
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot

MESSAGE_MODE = 0o666
FOLDER_MODE = 0o755


def home_path(home: Path, path: str) -> Path:
    """Return the path below a container's home for a path of the container."""
    return home / _absolute(path).lstrip("/")


def format_home_path(path: str) -> str:
    """Format `home_path` for people, as `$HOME/...`."""
    return f"$HOME{_absolute(path)}"


def is_mounted(container: Container, path: str) -> bool:
    """Return whether an absolute path of a container is in one of its volumes."""
    return path.startswith("/") and enclosing_mount(container, path) is not None


def is_in_home(container: Container, path: str) -> bool:
    """Return whether a working directory is in the home, or else this machine's."""
    return not path.startswith("/") or is_mounted(container, path)


def _absolute(path: str) -> str:
    """Return an absolute, normalized path."""
    return normpath("/" + path.lstrip("/"))


def enclosing_mount(
    container: Container, path: str, *, includes_itself: bool = True
) -> VolumeMount | None:
    """Return the innermost volume mount that contains a path of a container.

    Args:
        container: the container.
        path: as in the manifest; a relative one is below the home.
        includes_itself: a mount at that very path counts.
    """
    wanted = Path(_absolute(path))
    mounts = [
        mount
        for mount in container.volume_mounts
        if wanted.is_relative_to(_absolute(mount.mount_path))
        and (includes_itself or _absolute(mount.mount_path) != str(wanted))
    ]
    return max(mounts, key=lambda mount: len(_absolute(mount.mount_path)), default=None)


def refused_place(pod: Pod, container: Container, path: str) -> str:
    """Return why nothing can be created at a path, empty if it can.

    A process has no mounts: something inside a volume is created in that volume. That
    is possible in an `emptyDir`; the user's own files are not changed.
    """
    mount = enclosing_mount(container, path, includes_itself=False)
    match None if mount is None else pod.volume(mount.name):
        case Volume(name, HostPath(host_path)):
            where = f'the hostPath volume "{name}" ({host_path})'
        case Volume(name, Projected()):
            where = f'the read-only volume "{name}"'
        case _:
            return ""
    return (
        f"is inside {where}; a process has no mounts, and nothing is created there: "
        "use containers for this pod"
    )


class ProcessMounts:
    """The mounts of one container: links in its home to its volumes.

    In a hostPath nothing is created, replaced or changed; in an `emptyDir`, which other
    containers write to, no link is followed.

    Raises:
        ContainerRuntimeError: a process cannot have it; it names the field.
        OSError: the system refuses.
    """

    def __init__(
        self, home: Path, pod: Pod, container: Container, volumes: VolumeFolders
    ) -> None:
        self._home = home
        self._pod = pod
        self._container = container
        self._volumes = volumes

    def make_links(self) -> None:
        """Create links to the volumes, the outer ones first."""
        mounts = enumerate(self._container.volume_mounts)
        for index, mount in sorted(
            mounts, key=lambda pair: _absolute(pair[1].mount_path)
        ):
            volume = self._pod.volume(mount.name)
            if volume is not None:
                self._check(f"volumeMounts[{index}].mountPath", mount.mount_path)
                self._link(index, mount, self._target(mount, volume))

    def make_message_file(self, path: str) -> Path:
        """Create the termination message file."""
        field = "terminationMessagePath"
        self._check(field, path)
        if any(
            _absolute(path) == _absolute(mount.mount_path)
            for mount in self._container.volume_mounts
        ):
            raise ContainerRuntimeError(f"{field}: {path} is where a volume is mounted")
        root, relative = self._place(path)
        root.make_directories(relative.parent, FOLDER_MODE)
        os.close(root.open_file(relative, os.O_WRONLY | os.O_CREAT, MESSAGE_MODE))
        return root.path / relative

    def make_working_dir(self, path: str) -> None:
        """Create the working directory, as runc does.

        In a hostPath or a read-only volume it must exist.
        """
        mount = enclosing_mount(self._container, path)
        is_there = home_path(self._home, path).is_dir()
        is_mount = mount is not None and _absolute(mount.mount_path) == _absolute(path)
        if is_there or is_mount:
            return
        if not refused_place(self._pod, self._container, path):
            root, relative = self._place(path)
            root.make_directories(relative, FOLDER_MODE)

    def _check(self, field: str, path: str) -> None:
        if _absolute(path) == "/":
            raise ContainerRuntimeError(
                f"{field}: {path} is the home of a process itself, "
                "which nothing can replace"
            )
        if refusal := refused_place(self._pod, self._container, path):
            raise ContainerRuntimeError(f"{field}: {path} {refusal}")

    def _target(self, mount: VolumeMount, volume: Volume) -> Path:
        path = self._volumes.path(self._pod, volume)
        if mount.sub_path:
            # Late: few mounts have one.
            from probetui.runtimes.sub_paths import (  # noqa: PLC0415
                resolve_sub_path,
            )

            return resolve_sub_path(path, self._container.name, mount)
        return path

    def _place(self, path: str) -> tuple[DirectoryRoot, Path]:
        """Return a trusted directory and the relative path beneath it."""
        mount = enclosing_mount(self._container, path, includes_itself=False)
        volume = None if mount is None else self._pod.volume(mount.name)
        if mount is None or volume is None:
            return DirectoryRoot(self._home), Path(_absolute(path).lstrip("/"))
        beneath = Path(_absolute(path)).relative_to(_absolute(mount.mount_path))
        return DirectoryRoot(self._target(mount, volume)), beneath

    def _link(self, index: int, mount: VolumeMount, target: Path) -> None:
        root, relative = self._place(mount.mount_path)
        root.make_directories(relative.parent, FOLDER_MODE)
        # In a volume it may exist already, created for another container.
        if root.exists(relative) and root.read_link(relative) == str(target):
            return
        try:
            root.symlink(relative, target)
        except FileExistsError:
            raise ContainerRuntimeError(
                f"volumeMounts[{index}].mountPath: {mount.mount_path} exists "
                "already and is not replaced"
            ) from None


def read_message_file(path: Path, limit: int) -> bytes | None:
    """Return the end of a termination message file, None if there is none.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, getTerminationMessage.
    """
    try:
        return DirectoryRoot(path.parent).read_end(path.name, limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or error
        return f"Error on reading termination log {path}: {reason}".encode()
