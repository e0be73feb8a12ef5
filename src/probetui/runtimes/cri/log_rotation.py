"""Rotate container logs: rename those that are too long, remove the oldest.

Difference: rotated logs are not compressed; at 10 MiB a file they are small enough.

Difference: logs are checked every second, not every ten, and rotated logs are limited
to the size of five files: a container can print gigabytes in ten seconds.

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
from probetui.kubelet.kuberuntime.labels import POD_LOGS
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import REOPEN_CONTAINER_LOG, CriClient
from probetui.runtimes.cri.translate import CriContainer, to_cri_id
from probetui.runtimes.log_limits import MAX_BYTES, MAX_FILES
from probetui.untrusted_files import DirectoryRoot

PERIOD_SECONDS = 0.9
"""A little less than the second between relists, which trigger the check."""

log = logging.getLogger(__name__)


class LogRotation:
    """Rotates the logs of running containers, checked every second.

    Args:
        client: the connection to the runtime, which reopens logs.
        max_bytes: the size above which a log is rotated.
    """

    def __init__(self, client: CriClient, max_bytes: int = MAX_BYTES) -> None:
        self._client = client
        self._max_bytes = max_bytes
        self._next_check_at = 0.0

    async def rotate_long_logs(self, containers: Iterable[CriContainer]) -> None:
        """Rotate the logs that are too long, if a check is due; never raises."""
        now = asyncio.get_running_loop().time()
        if now < self._next_check_at:
            return
        self._next_check_at = now + PERIOD_SECONDS
        for container in containers:
            if container.status.state is RuntimeState.RUNNING and self._is_too_long(
                container
            ):
                try:
                    await self._rotate(container)
                except (ContainerRuntimeError, OSError) as error:
                    log.warning("cannot rotate %s: %s", container.log_file, error)

    def _is_too_long(self, container: CriContainer) -> bool:
        try:
            return Path(container.log_file).lstat().st_size > self._max_bytes
        except OSError:
            return False

    async def _rotate(self, container: CriContainer) -> None:
        path = Path(container.log_file)
        if (aside := _rotate_latest_log(path, self._max_bytes)) is None:
            return
        request = cri.ReopenContainerLogRequest(
            container_id=to_cri_id(container.status.container_id)
        )
        try:
            await self._client.call(REOPEN_CONTAINER_LOG, request)
        except ContainerRuntimeError:
            # The runtime still writes to the renamed file.
            _undo_rotation(aside, path)
            raise


def _rotate_latest_log(path: Path, max_bytes: int) -> Path | None:
    """Rename a log with the time of its last line, and remove old ones.

    None if another one has that name: it was written in the same second.
    """
    root, relative = locate_pod_log(path)
    at = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
    name = f"{path.name}.{at:%Y%m%d-%H%M%S}"
    if root.exists(relative.parent / name):
        return None
    remaining = (MAX_FILES - 1) * max_bytes
    newest_first = sorted(list_rotated(path), reverse=True)
    for number, aside in enumerate(newest_first, start=1):
        remaining -= aside.lstat().st_size
        if number > MAX_FILES - 2 or remaining < 0:
            root.unlink(relative.parent / aside.name)
    root.rename(relative, name)
    return path.with_name(name)


def _undo_rotation(aside: Path, path: Path) -> None:
    with contextlib.suppress(OSError):
        root, relative = locate_pod_log(aside)
        root.rename(relative, path.name)


def locate_pod_log(path: Path) -> tuple[DirectoryRoot, Path]:
    """Return the folder of all pod logs and the relative path of a log.

    Raises:
        ContainerRuntimeError: the path that the runtime reports is elsewhere.
    """
    root = DirectoryRoot(Path(POD_LOGS))
    if not path.is_relative_to(root.path) or ".." in path.parts:
        raise ContainerRuntimeError(f"the log {path} is not below {root.path}")
    return root, path.relative_to(root.path)


def list_rotated(path: Path) -> list[Path]:
    """Return the rotated files of a container's log."""
    try:
        return [
            file
            for file in path.parent.iterdir()
            if file.name.startswith(f"{path.name}.")
        ]
    except FileNotFoundError:
        return []
