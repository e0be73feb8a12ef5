"""Paths of the daemon's machine as volumes: whether they are what the spec says.

The daemon is asked, since this machine may be another one.

Source: pkg/volume/hostpath/host_path.go, v1.32.10, checkTypeInternal.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod, VolumeMount
from probetui.k8s.volume import HostPath, Volume
from probetui.runtimes.docker.archives import File, pack
from probetui.runtimes.docker.faults import RefusedError
from probetui.runtimes.docker.helpers import Helpers
from probetui.runtimes.docker.mounts import Mounts, bind

TARGET = "/path"
BAD_REQUEST = 400
NEW_FILE_MODE = 0o644

GO_FOLDER = 1 << 31
GO_DEVICE = 1 << 26
GO_SOCKET = 1 << 24
GO_CHARACTER_DEVICE = 1 << 21
_GO_TYPE = GO_FOLDER | GO_DEVICE | GO_SOCKET | GO_CHARACTER_DEVICE

_WANTED = {
    "Directory": (GO_FOLDER, "a directory"),
    "DirectoryOrCreate": (GO_FOLDER, "a directory"),
    "File": (0, "a file"),
    "FileOrCreate": (0, "a file"),
    "Socket": (GO_SOCKET, "a socket file"),
    "CharDevice": (GO_DEVICE | GO_CHARACTER_DEVICE, "a character device"),
    "BlockDevice": (GO_DEVICE, "a block device"),
}


async def check_host_path(
    helpers: Helpers, pod: Pod, volume: Volume, source: HostPath, at: datetime
) -> None:
    """Raise `ContainerRuntimeError` if a path is not of its type; make it if asked to.

    A path without a type is not looked at.
    """
    if not source.type:
        return
    wanted, words = _WANTED[source.type]
    mode = await _mode(helpers, pod, volume, source.path)
    if mode is None and source.type == "DirectoryOrCreate":
        await _make_folder(helpers, pod, volume, source)
        return
    if mode is None and source.type == "FileOrCreate":
        await _make_file(helpers, pod, volume, source.path, at)
        return
    if mode is None or mode & _GO_TYPE != wanted:
        raise ContainerRuntimeError(
            f"hostPath type check failed: {source.path} is not {words}"
        )


async def _mode(helpers: Helpers, pod: Pod, volume: Volume, path: str) -> int | None:
    """Return a path's mode as Go has it; None if it does not exist."""
    try:
        async with helpers.helper(pod, volume.name, _existing(path)) as helper:
            return await helper.mode(TARGET)
    except RefusedError as error:
        # The daemon refuses to mount what is not there.
        if error.status == BAD_REQUEST:
            return None
        raise


async def _make_folder(
    helpers: Helpers, pod: Pod, volume: Volume, source: HostPath
) -> None:
    """Have the daemon make a folder, as it does for whatever is mounted."""
    mounts = bind(source, VolumeMount(volume.name, TARGET))
    async with helpers.helper(pod, volume.name, mounts) as helper:
        # Only now is it mounted.
        await helper.mode(TARGET)


async def _make_file(
    helpers: Helpers, pod: Pod, volume: Volume, path: str, at: datetime
) -> None:
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
    async with helpers.helper(pod, volume.name, _existing(str(folder))) as helper:
        await helper.put(pack([File(name, b"", NEW_FILE_MODE)], at), TARGET)


def _existing(path: str) -> Mounts:
    """Mount a path that has to exist."""
    return Mounts(({"Type": "bind", "Source": path, "Target": TARGET},))
