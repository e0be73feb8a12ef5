"""What a container without a file system of its own has in its home folder instead.

A volume that is mounted at `/data` is `$HOME/data`, and so is the file for last words
at `/dev/termination-log`. What is read-only elsewhere can be written here.
"""

from __future__ import annotations

from os.path import normpath
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod
from probetui.runtimes.sub_paths import resolve_sub_path
from probetui.runtimes.volume_folders import VolumeFolders

MESSAGE_MODE = 0o666


def inside(home: Path, path: str) -> Path:
    """Return where a path of a container is, below its home."""
    return home / _absolute(path).lstrip("/")


def inside_home(path: str) -> str:
    """Return the same as people and shells write it."""
    return f"$HOME{_absolute(path)}"


def is_mounted(container: Container, path: str) -> bool:
    """Tell whether a path of a container is in one of its volumes."""
    return path.startswith("/") and any(
        Path(_absolute(path)).is_relative_to(_absolute(each.mount_path))
        for each in container.volume_mounts
    )


def _absolute(path: str) -> str:
    """Return a path from the root on, without steps back and odd slashes."""
    return normpath("/" + path.lstrip("/"))


def mount_volumes(
    home: Path, pod: Pod, container: Container, volumes: VolumeFolders
) -> None:
    """Make links to the volumes of a container, the outer ones first.

    Raises:
        ContainerRuntimeError: a volume is to be where the home itself is, or a subPath
            leads out of its volume.
        OSError: the system refuses.
    """
    for mount in sorted(container.volume_mounts, key=lambda each: each.mount_path):
        volume = pod.volume(mount.name)
        if volume is None:
            continue
        link = inside(home, mount.mount_path)
        if link == home:
            raise ContainerRuntimeError(
                f'volume "{mount.name}" cannot be mounted at {mount.mount_path}'
            )
        target = volumes.path(pod, volume)
        if mount.sub_path:
            target = resolve_sub_path(target, container.name, mount)
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        link.symlink_to(target)


def make_message_file(path: Path) -> None:
    """Make the file in which a container may leave its last words."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(MESSAGE_MODE)


def read_message_file(path: Path, limit: int) -> bytes | None:
    """Return the end of what a container left, None if there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - limit, 0))
            return file.read(limit)
    except OSError:
        return None
