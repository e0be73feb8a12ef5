"""Log rotation for process containers: polls sizes and truncates long files.

Processes write to their logs themselves, so that they go on without us; how much they
write between two looks nobody limits. A kubelet looks every ten seconds, in which a
process writes ten gigabytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from probetui.runtimes.process.logs import UNREAD_BYTES, is_too_long, rotate

LOOK_SECONDS = 0.1
HURRY_SECONDS = 0.02
"""When the next look is, if one of the logs was too long."""

COPY_SECONDS = 1.0
"""How long the whole end of a log is not set aside again: nobody can read so fast."""

log = logging.getLogger(__name__)


class ProcessLogRotation:
    """Rotates some logs, from `start` on until it is closed.

    Args:
        paths: returns the logs that are written at the moment.
    """

    def __init__(self, paths: Callable[[], Iterable[Path]]) -> None:
        self._paths = paths
        self._task: asyncio.Task[None] | None = None
        self._copied_at: dict[Path, float] = {}

    def start(self) -> None:
        """Begin to look, unless it has begun."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Look no more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        while True:
            too_long = [path for path in self._paths() if is_too_long(path)]
            for path in too_long:
                await self._rotate(path)
            await asyncio.sleep(HURRY_SECONDS if too_long else LOOK_SECONDS)

    async def _rotate(self, path: Path) -> None:
        """Set the end of a log aside; of one that is always too long, but little."""
        now = asyncio.get_running_loop().time()
        copied_at = self._copied_at
        is_early = now - copied_at.get(path, -COPY_SECONDS) < COPY_SECONDS
        if not is_early:
            since = now - COPY_SECONDS
            recent = {other: at for other, at in copied_at.items() if at > since}
            self._copied_at = {**recent, path: now}
        try:
            # To let go of what was written takes the system a while.
            most = UNREAD_BYTES if is_early else None
            await asyncio.to_thread(rotate, path, most)
        except OSError as error:
            log.warning("%s cannot be made shorter: %s", path, error)
