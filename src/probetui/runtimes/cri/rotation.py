"""Logs that have become too long: set aside, and the oldest removed.

Difference: what is set aside is not compressed; at 10 MiB a file it is little enough.

Difference: logs are looked at every second, not every ten, and of what is set aside no
more is kept than five files may hold: in ten seconds a container prints gigabytes.

Source: pkg/kubelet/logs/container_log_manager.go, v1.32.10, rotateLogs, rotateLog,
rotateLatestLog, Clean.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import RuntimeState
from probetui.kubelet.labels import POD_LOGS
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import REOPEN_CONTAINER_LOG, Client
from probetui.runtimes.cri.translate import SeenContainer, to_cri_id
from probetui.untrusted_files import DirectoryRoot

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5
"""How many files a container may have, the one that is written among them."""

PERIOD_SECONDS = 0.9
"""A little less than the second after which a relist comes, which brings the look."""

log = logging.getLogger(__name__)


class LogRotation:
    """Looks at the logs of containers that run, every second.

    Args:
        client: tells the runtime to begin a new file.
        max_bytes: how long a file may become.
    """

    def __init__(self, client: Client, max_bytes: int = MAX_BYTES) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._next_look = 0.0

    async def look(self, containers: Iterable[SeenContainer]) -> None:
        """Set aside what is too long, if it is time to look; never raises."""
        now = asyncio.get_running_loop().time()
        if now < self._next_look:
            return
        self._next_look = now + PERIOD_SECONDS
        for each in containers:
            if each.status.state is RuntimeState.RUNNING and self._is_too_long(each):
                try:
                    await self._rotate(each)
                except (ContainerRuntimeError, OSError) as error:
                    log.warning("%s cannot be set aside: %s", each.log_file, error)

    def _is_too_long(self, container: SeenContainer) -> bool:
        try:
            return Path(container.log_file).lstat().st_size > self._max_bytes
        except OSError:
            return False

    async def _rotate(self, container: SeenContainer) -> None:
        path = Path(container.log_file)
        aside = _put_aside(path, self._max_bytes)
        request = cri.ReopenContainerLogRequest(
            container_id=to_cri_id(container.status.container_id)
        )
        try:
            await self._client.call(REOPEN_CONTAINER_LOG, request)
        except ContainerRuntimeError:
            # The runtime goes on writing to the old one, by whatever name.
            _put_back(aside, path)
            raise


def _put_aside(path: Path, max_bytes: int) -> Path:
    """Give a log another name, after its last line, and make room for it."""
    root, relative = pod_log(path)
    left = (MAX_FILES - 1) * max_bytes
    newest_first = sorted(set_aside(path), reverse=True)
    for number, aside in enumerate(newest_first, start=1):
        left -= aside.lstat().st_size
        if number > MAX_FILES - 2 or left < 0:
            root.unlink(relative.parent / aside.name)
    at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    name = f"{path.name}.{at:%Y%m%d-%H%M%S}"
    root.rename(relative, name)
    return path.with_name(name)


def _put_back(aside: Path, path: Path) -> None:
    with contextlib.suppress(OSError):
        root, relative = pod_log(aside)
        root.rename(relative, path.name)


def pod_log(path: Path) -> tuple[DirectoryRoot, Path]:
    """Return the folder for the logs of pods, and where beneath it a log is.

    Raises:
        ContainerRuntimeError: it is elsewhere, whatever the runtime says.
    """
    root = DirectoryRoot(Path(POD_LOGS))
    if not path.is_relative_to(root.path) or ".." in path.parts:
        raise ContainerRuntimeError(f"the log {path} is not below {root.path}")
    return root, path.relative_to(root.path)


def set_aside(path: Path) -> list[Path]:
    """Return what was set aside of a container's log."""
    try:
        return [
            each
            for each in path.parent.iterdir()
            if each.name.startswith(f"{path.name}.")
        ]
    except FileNotFoundError:
        return []
