"""Freezers of containers by cgroups or signals; the CRI has no call for it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from probetui.runtimes.cri.local_processes import (
    is_stopped,
    list_cgroups,
    list_pids,
    send_signal,
)
from probetui.untrusted_files import read_kernel_file

CONTROL_GROUPS = Path("/sys/fs/cgroup")
LOOKS = 200
PAUSE_SECONDS = 0.01
"""How often, and at what interval, a cgroup is asked whether all of it is frozen."""

LOOKS_BEFORE_A_THAW = 10
"""After how many polls freezing starts again.

A process in execve(2) waits for its threads, which are frozen already: a freezer of
cgroup v1 never ends that wait.
"""


class ContainerFreezer(Protocol):
    """Freezes and thaws a container."""

    def is_frozen(self) -> bool:
        """Return whether it is frozen already, by anyone."""

    async def freeze(self) -> bool:
        """Freeze it; return False if it was frozen already. Raises `OSError`."""

    def thaw(self) -> None:
        """Thaw it; one that runs or is gone is fine. Raises `OSError`."""


class _FreezerFile(Struct, frozen=True):
    """The file that freezes a cgroup, and what to write to it.

    `frozen` is a file and the line it has once all processes are frozen.
    """

    file: Path
    freeze: str
    thaw: str
    frozen: tuple[Path, str]


class CgroupFreezer:
    """Freezes the cgroup of a container, as `runc pause` does.

    Its processes do not notice. Runtimes do: they refuse commands in a frozen container
    and thaw it to kill it.
    """

    def __init__(self, switch: _FreezerFile) -> None:
        self._switch = switch

    def is_frozen(self) -> bool:
        """Return whether the cgroup is frozen or freezing."""
        return _read(self._switch.file) == self._switch.freeze

    async def freeze(self) -> bool:
        """Freeze the cgroup."""
        switch = self._switch
        if self.is_frozen():
            return False
        for inspect in range(LOOKS):
            if inspect % LOOKS_BEFORE_A_THAW == LOOKS_BEFORE_A_THAW - 1:
                self.thaw()
                await asyncio.sleep(PAUSE_SECONDS)
            switch.file.write_text(switch.freeze)
            file, word = switch.frozen
            if word in _read(file).splitlines():
                return True
            await asyncio.sleep(PAUSE_SECONDS)
        # A runtime would wait forever for a cgroup that stays half frozen.
        self.thaw()
        raise OSError(errno.EBUSY, "its processes cannot be frozen")

    def thaw(self) -> None:
        """Thaw the cgroup."""
        with contextlib.suppress(FileNotFoundError):
            self._switch.file.write_text(self._switch.thaw)


class SignalFreezer:
    """Stops every process of a container with SIGSTOP.

    For cgroups that cannot be written. Commands started in the container afterwards
    run, and programs may notice.
    """

    def __init__(self, cri_id: str) -> None:
        self._cri_id = cri_id
        self._stopped: set[int] = set()

    def is_frozen(self) -> bool:
        """Return whether all processes are stopped."""
        return all(map(is_stopped, list_pids(self._cri_id)))

    async def freeze(self) -> bool:
        """Stop the processes, including those forked or continued meanwhile."""
        signaled: set[int] = set()  # one of them may not have stopped yet
        while fresh := [
            process
            for process in list_pids(self._cri_id)
            if process not in signaled and not is_stopped(process)
        ]:
            for pid in fresh:
                send_signal(pid, self._cri_id, signal.SIGSTOP)
            signaled.update(fresh)
            self._stopped.update(fresh)
        return bool(self._stopped)

    def thaw(self) -> None:
        """Continue the processes stopped here, or all if none were."""
        pids: Sequence[int] = tuple(self._stopped or list_pids(self._cri_id))
        for pid in pids:
            send_signal(pid, self._cri_id, signal.SIGCONT)
        self._stopped.clear()


def choose_freezer(
    pid: int, cri_id: str, root: Path = CONTROL_GROUPS
) -> ContainerFreezer:
    """Return the freezer for the container that has a process.

    Its cgroup is the one named after the container; the process may be in a child of
    that.
    """
    for switch in _find_switches(pid, cri_id, root):
        if os.access(switch.file, os.W_OK):
            return CgroupFreezer(switch)
    return SignalFreezer(cri_id)


def _find_switches(pid: int, cri_id: str, root: Path) -> Iterator[_FreezerFile]:
    """Yield the freezer files of a container's cgroups, the one of runc first.

    Where both versions are mounted, runc uses cgroup v1.
    """
    cgroups = dict(list_cgroups(pid))
    if path := _path_up_to(cgroups.get("freezer", ""), cri_id):
        file = root / "freezer" / path / "freezer.state"
        yield _FreezerFile(file, "FROZEN", "THAWED", (file, "FROZEN"))
    if path := _path_up_to(cgroups.get("", ""), cri_id):
        for folder in (root / path, root / "unified" / path):
            events = folder / "cgroup.events"
            yield _FreezerFile(folder / "cgroup.freeze", "1", "0", (events, "frozen 1"))


def _path_up_to(path: str, cri_id: str) -> Path | None:
    """Return a path up to the part that contains an ID; None if none does.

    A path that leads out of the mounted hierarchy is useless, too.
    """
    parts = Path(path.lstrip("/")).parts
    if ".." in parts:
        return None
    for index, part in enumerate(parts, start=1):
        if cri_id in part:
            return Path(*parts[:index])
    return None


def _read(file: Path) -> str:
    try:
        return os.fsdecode(read_kernel_file(file)).strip()
    except OSError:
        return ""
