"""Files on virtual time: a read returns the content at an instant.

Times are seconds since the start of the world.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

FOLDER = "\0folder"
"""The content of a folder."""

FIRST = {"/": FOLDER, "/tmp": FOLDER, "/dev": FOLDER, "/etc": FOLDER, "/proc": FOLDER}
"""The folders of an image that scripts use."""


@dataclass(slots=True)
class _Write:
    t: float
    content: str | None
    owner: str


@dataclass(slots=True)
class Files:
    """The files of one container instance, or of one volume.

    Future writes of a process can be added; after `end` they are ignored. `count` is
    the number of writes so far.
    """

    count: int = 0
    _writes: dict[str, list[_Write]] = field(default_factory=dict)
    _ends: dict[str, float] = field(default_factory=dict)

    def write(self, path: str, content: str | None, t: float, owner: str) -> None:
        """Write a file, or remove it: None."""
        self.count += 1
        writes = self._writes.setdefault(path, [])
        writes.append(_Write(t, content, owner))
        writes.sort(key=lambda write: write.t)

    def read(self, path: str, t: float) -> str | None:
        """Return what is in a file, None if it does not exist."""
        content = FIRST.get(path)
        for write in self._writes.get(path, ()):
            if write.t <= min(t, self._ends.get(write.owner, math.inf)):
                content = write.content
        return content

    def end(self, owner: str, t: float) -> None:
        """Note that a process ended."""
        self._ends[owner] = t

    def forget(self, owner: str) -> None:
        """Forget all that a process wrote."""
        for writes in self._writes.values():
            writes[:] = [write for write in writes if write.owner != owner]


@dataclass(frozen=True, slots=True)
class Mounts:
    """The files that a container sees: its own, and volumes by mount path."""

    own: Files
    volumes: Mapping[str, Files] = field(default_factory=dict)

    @property
    def all(self) -> Sequence[Files]:
        """Its own files and those of each volume."""
        return [self.own, *self.volumes.values()]

    @property
    def count(self) -> int:
        """The number of writes so far."""
        return sum(files.count for files in self.all)

    def read(self, path: str, t: float) -> str | None:
        """Return what is in a file, None if it does not exist."""
        if path == "/proc/uptime":
            return f"{1000 + t:.2f} 0.00\n"
        files, inner = self._place(path)
        return FOLDER if inner == "/" else files.read(inner, t)

    def write(self, path: str, content: str | None, t: float, owner: str) -> None:
        """Write a file, or remove it: None."""
        if path.startswith("/dev/"):
            return
        files, inner = self._place(path)
        files.write(inner, content, t, owner)

    def end(self, owner: str, t: float) -> None:
        """Note that a process ended."""
        for files in self.all:
            files.end(owner, t)

    def forget(self, owner: str) -> None:
        """Forget all that a process wrote."""
        for files in self.all:
            files.forget(owner)

    def _place(self, path: str) -> tuple[Files, str]:
        whole = PurePosixPath("/", path)
        for mount, files in self.volumes.items():
            if whole.is_relative_to(mount):
                return files, str(PurePosixPath("/", whole.relative_to(mount)))
        return self.own, str(whole)
