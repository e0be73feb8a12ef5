"""Logs of containers in files, rotated and emptied while they are read."""

from __future__ import annotations

import gzip
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from random import Random

from probetui.errors import wrap_os_errors
from probetui.k8s.runtime import LogLine, RuntimeState
from probetui.runtimes.cri.log_rotation import list_rotated
from probetui.runtimes.cri.logs import follow_log
from probetui.runtimes.process import logs
from tests.fakes import FakeContainer, FakeEngine

KEPT_BYTES = 4096
"""How much of a log of a process is kept: a block of common file systems."""

MOST_SET_ASIDE = 4


class LogFile(ABC):
    """The log of a container, and whatever is done to it.

    Attributes:
        emptied: the numbers of the lines before which it was emptied.
        removed: those of the lines after a file that was removed.
        has_lost: some of its first lines are no more.
    """

    def __init__(
        self, path: Path, container: FakeContainer, engine: FakeEngine
    ) -> None:
        self._path = path
        self._container = container
        self._engine = engine
        self.emptied: set[int] = set()
        self.removed: set[int] = set()
        self.has_lost = False

    @abstractmethod
    def print(self, numbers: range, at: datetime) -> None:
        """Write lines."""

    @abstractmethod
    def rotate(self) -> None:
        """Make room, as is done of a log that is too long."""

    @abstractmethod
    def follow(self, tail: int, *, follow: bool) -> AsyncGenerator[LogLine]:
        """Read it as the runtime does."""

    def empty(self, number: int) -> None:
        """Empty it in place, as somebody may, before a line is written."""
        with self._path.open("ab") as file:
            file.truncate(0)
        self.emptied.add(number)
        self.has_lost = True

    def _has_ended(self) -> bool:
        is_gone = self._container.container_id not in self._engine.containers
        return is_gone or self._container.state is RuntimeState.EXITED


class CriLog(LogFile):
    """A log of a CRI runtime, of which a kubelet compresses what it sets aside."""

    def __init__(
        self,
        path: Path,
        container: FakeContainer,
        engine: FakeEngine,
        random: Random,
    ) -> None:
        super().__init__(path, container, engine)
        self._random = random
        self._ends: list[int] = []
        """The number of the line after each file that was set aside."""
        path.touch()

    def print(self, numbers: range, at: datetime) -> None:
        with self._path.open("a", encoding="ascii") as file:
            file.writelines(self._entry(number, at) for number in numbers)

    def _entry(self, number: int, at: datetime) -> str:
        text = str(number)
        # As of long lines, of which the runtime writes parts.
        cut = self._random.randrange(len(text)) if self._random.random() < 0.1 else 0
        stamp = f"{at:%Y-%m-%dT%H:%M:%S.}{number:09}Z stdout"
        begun = f"{stamp} P {text[:cut]}\n" if cut else ""
        return f"{begun}{stamp} F {text[cut:]}\n"

    def rotate(self) -> None:
        if not self._path.stat().st_size:
            return
        older = sorted(list_rotated(self._path))
        for path in older[: max(0, len(older) - MOST_SET_ASIDE + 1)]:
            path.unlink()
            number = int(path.name.removeprefix(f"{self._path.name}.").split(".")[0])
            self.removed.add(self._ends[number])
            self.has_lost = True
        for path in list_rotated(self._path):
            if path.suffix != ".gz":
                packed = gzip.compress(path.read_bytes(), compresslevel=1)
                path.with_name(f"{path.name}.gz").write_bytes(packed)
                path.unlink()
        self._path.rename(f"{self._path}.{len(self._ends):09}")
        self._ends.append(len(self._container.lines))
        self._path.touch()

    async def follow(self, tail: int, *, follow: bool) -> AsyncGenerator[LogLine]:
        async def has_ended() -> bool:
            return self._has_ended()

        lines = follow_log(
            str(self._path), tail=tail, has_ended=has_ended if follow else None
        )
        async for line in lines:
            yield line


class ProcessLog(LogFile):
    """A log that a process writes itself."""

    def print(self, numbers: range, at: datetime) -> None:
        descriptor = logs.open_log(self._path)
        os.write(descriptor, b"".join(b"%d\n" % number for number in numbers))
        os.close(descriptor)

    def rotate(self) -> None:
        logs.free_space(self._path)

    async def follow(self, tail: int, *, follow: bool) -> AsyncGenerator[LogLine]:
        lines = logs.follow(
            self._path,
            tail=tail,
            has_ended=self._has_ended if follow else None,
            clock=self._engine.clock,
        )
        with wrap_os_errors():
            async for line in lines:
                yield line


@contextmanager
def short_logs() -> Iterator[None]:
    """Let little be kept of logs of processes."""
    kept = logs.MAX_FILE_BYTES
    logs.MAX_FILE_BYTES = KEPT_BYTES
    try:
        yield
    finally:
        logs.MAX_FILE_BYTES = kept
