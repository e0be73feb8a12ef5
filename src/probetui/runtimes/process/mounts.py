"""What a container without a file system of its own has in its home folder instead.

A volume that is mounted at `/data` is `$HOME/data`, and so is the file for last words
at `/dev/termination-log`. What is read-only elsewhere can be written here.
"""

from __future__ import annotations

import os
from os.path import normpath
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod, VolumeMount
from probetui.k8s.volume import HostPath, Projected, Volume
from probetui.runtimes.sub_paths import resolve_sub_path
from probetui.runtimes.volume_folders import VolumeFolders
from probetui.untrusted_files import DirectoryRoot

MESSAGE_MODE = 0o666
FOLDER_MODE = 0o755


def inside(home: Path, path: str) -> Path:
    """Return where a path of a container is, below its home."""
    return home / _absolute(path).lstrip("/")


def inside_home(path: str) -> str:
    """Return the same as people and shells write it."""
    return f"$HOME{_absolute(path)}"


def is_mounted(container: Container, path: str) -> bool:
    """Tell whether a path of a container is in one of its volumes."""
    return path.startswith("/") and enclosing_mount(container, path) is not None


def is_in_home(container: Container, path: str) -> bool:
    """Tell whether a working directory is in the home; others are this machine's."""
    return not path.startswith("/") or is_mounted(container, path)


def _absolute(path: str) -> str:
    """Return a path from the root on, without steps back and odd slashes."""
    return normpath("/" + path.lstrip("/"))


def enclosing_mount(
    container: Container, path: str, *, is_itself_meant: bool = True
) -> VolumeMount | None:
    """Return the innermost volume mount in which a path of a container is.

    Args:
        container: whose paths these are.
        path: as in the manifest; a relative one is below the home.
        is_itself_meant: a mount at that very path counts.
    """
    wanted = Path(_absolute(path))
    found = [
        mount
        for mount in container.volume_mounts
        if wanted.is_relative_to(_absolute(mount.mount_path))
        and (is_itself_meant or _absolute(mount.mount_path) != str(wanted))
    ]
    return max(found, key=lambda it: len(_absolute(it.mount_path)), default=None)


def refused_place(pod: Pod, container: Container, path: str) -> str:
    """Return why a process can have nothing of its own at a path, empty if it can.

    It has no mounts: what is to be inside of a volume is made in that volume. In an
    `emptyDir` it can be; what is the user's stays as it is.
    """
    mount = enclosing_mount(container, path, is_itself_meant=False)
    match None if mount is None else pod.volume(mount.name):
        case Volume(name, HostPath(host_path)):
            where = f'the hostPath volume "{name}" ({host_path})'
        case Volume(name, Projected()):
            where = f'the read-only volume "{name}"'
        case _:
            return ""
    return (
        f"is inside {where}; a process has no mounts, and nothing is made there: "
        "use containers for this pod"
    )


class ProcessMounts:
    """What a process has in place of the mounts of one container.

    Links in its home lead to the volumes. Of a hostPath nothing is replaced, made or
    changed; beneath an `emptyDir`, which others write to, no link is followed.
    Every method raises `ContainerRuntimeError`, naming the field, for what a process
    cannot have, and `OSError` for what the system refuses.
    """

    def __init__(
        self, home: Path, pod: Pod, container: Container, volumes: VolumeFolders
    ) -> None:
        self._home = home
        self._pod = pod
        self._container = container
        self._volumes = volumes

    def make_links(self) -> None:
        """Make links to the volumes, the outer ones first."""
        mounts = enumerate(self._container.volume_mounts)
        for index, mount in sorted(mounts, key=lambda it: _absolute(it[1].mount_path)):
            volume = self._pod.volume(mount.name)
            if volume is not None:
                self._check(f"volumeMounts[{index}].mountPath", mount.mount_path)
                self._link(index, mount, self._target(mount, volume))

    def make_message_file(self, path: str) -> Path:
        """Make the file in which the container may leave its last words."""
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
        """Make the directory in which the container is to run, as runc does.

        One in a hostPath or in a read-only volume has to be there.
        """
        mount = enclosing_mount(self._container, path)
        is_there = inside(self._home, path).is_dir()
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
                "which nothing can take the place of"
            )
        if refusal := refused_place(self._pod, self._container, path):
            raise ContainerRuntimeError(f"{field}: {path} {refusal}")

    def _target(self, mount: VolumeMount, volume: Volume) -> Path:
        path = self._volumes.path(self._pod, volume)
        if mount.sub_path:
            return resolve_sub_path(path, self._container.name, mount)
        return path

    def _place(self, path: str) -> tuple[DirectoryRoot, Path]:
        """Return the directory that is trusted, and where beneath it a path is."""
        mount = enclosing_mount(self._container, path, is_itself_meant=False)
        volume = None if mount is None else self._pod.volume(mount.name)
        if mount is None or volume is None:
            return DirectoryRoot(self._home), Path(_absolute(path).lstrip("/"))
        beneath = Path(_absolute(path)).relative_to(_absolute(mount.mount_path))
        return DirectoryRoot(self._target(mount, volume)), beneath

    def _link(self, index: int, mount: VolumeMount, target: Path) -> None:
        root, relative = self._place(mount.mount_path)
        root.make_directories(relative.parent, FOLDER_MODE)
        # In a volume it may be there from another container, or from before.
        if root.exists(relative) and root.read_link(relative) == str(target):
            return
        try:
            root.symlink(relative, target)
        except FileExistsError:
            raise ContainerRuntimeError(
                f"volumeMounts[{index}].mountPath: there is something at "
                f"{mount.mount_path} already, which is not replaced"
            ) from None


def read_message_file(path: Path, limit: int) -> bytes | None:
    """Return the end of what a container left, None if there is no file.

    Source: kuberuntime/kuberuntime_container.go, v1.32.10, getTerminationMessage.
    """
    try:
        return DirectoryRoot(path.parent).read_end(path.name, limit)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or error
        return f"Error on reading termination log {path}: {reason}".encode()
