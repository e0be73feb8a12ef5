"""Containers that stand still, by the kernel's means: the CRI has no word for it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from probetui.runtimes.cri.local_processes import (
    groups,
    is_stopped,
    processes_of,
    send,
)

CONTROL_GROUPS = Path("/sys/fs/cgroup")
LOOKS = 200
PAUSE_SECONDS = 0.01
"""How often and how soon it is seen whether all processes stand still."""

LOOKS_BEFORE_A_THAW = 10
"""After how many looks in vain it is begun anew.

A program that is just being replaced waits for its threads, which stand still already:
the first kind of groups never comes to the end of that.
"""


class Standstill(Protocol):
    """A way to have a container stand still."""

    def is_frozen(self) -> bool:
        """Tell whether it stands still already, whoever did that."""

    async def begin(self) -> bool:
        """Have it stand still; False if it did so already. Raises `OSError`."""

    def end(self) -> None:
        """Let it go on; one that does, or is gone, is fine. Raises `OSError`."""


@dataclass(frozen=True, slots=True)
class _Switch:
    """The file of a control group that freezes it, and what is written to it.

    `frozen` is what another file, or the same, says once all stand still.
    """

    file: Path
    freeze: str
    thaw: str
    frozen: tuple[Path, str]


class GroupStandstill:
    """The control group of a container is frozen: what `runc pause` does.

    Nothing in it notices. Runtimes see it, and refuse commands in such a container; to
    kill it they thaw it.
    """

    def __init__(self, switch: _Switch) -> None:
        self._switch = switch

    def is_frozen(self) -> bool:
        """Tell whether the group is frozen, or about to be."""
        return _read(self._switch.file) == self._switch.freeze

    async def begin(self) -> bool:
        """Freeze the group."""
        switch = self._switch
        if self.is_frozen():
            return False
        for look in range(LOOKS):
            if look % LOOKS_BEFORE_A_THAW == LOOKS_BEFORE_A_THAW - 1:
                self.end()
                await asyncio.sleep(PAUSE_SECONDS)
            switch.file.write_text(switch.freeze)
            file, word = switch.frozen
            if word in _read(file).splitlines():
                return True
            await asyncio.sleep(PAUSE_SECONDS)
        # Runtimes wait for ever for a group that is half frozen.
        self.end()
        raise OSError(errno.EBUSY, "its processes do not come to a stand")

    def end(self) -> None:
        """Thaw the group."""
        with contextlib.suppress(FileNotFoundError):
            self._switch.file.write_text(self._switch.thaw)


class SignalStandstill:
    """Every process of a container is stopped by a signal.

    That is for where control groups cannot be written to. Commands that are run in the
    container afterwards go on, and programs may notice.
    """

    def __init__(self, cri_id: str) -> None:
        self._cri_id = cri_id
        self._stopped: set[int] = set()

    def is_frozen(self) -> bool:
        """Tell whether all of them are stopped."""
        return all(map(is_stopped, processes_of(self._cri_id)))

    async def begin(self) -> bool:
        """Stop them, those too that are forked meanwhile."""
        while fresh := [
            each
            for each in processes_of(self._cri_id)
            if each not in self._stopped and not is_stopped(each)
        ]:
            for pid in fresh:
                send(pid, self._cri_id, signal.SIGSTOP)
            self._stopped.update(fresh)
        return bool(self._stopped)

    def end(self) -> None:
        """Let those go on that were stopped here; any, if it was not done here."""
        pids: Sequence[int] = tuple(self._stopped or processes_of(self._cri_id))
        for pid in pids:
            send(pid, self._cri_id, signal.SIGCONT)
        self._stopped.clear()


def standstill(pid: int, cri_id: str, root: Path = CONTROL_GROUPS) -> Standstill:
    """Return the way to freeze a container, known by a process of it.

    The group is the one that is named after the container, though the process may be
    in a group below it.
    """
    for switch in _switches(pid, cri_id, root):
        if os.access(switch.file, os.W_OK):
            return GroupStandstill(switch)
    return SignalStandstill(cri_id)


def _switches(pid: int, cri_id: str, root: Path) -> Iterator[_Switch]:
    """Yield the switches of a container's groups, that which runc would use first.

    Where both kinds of groups are mounted it is that of the first kind.
    """
    found = dict(groups(pid))
    if path := _upto(found.get("freezer", ""), cri_id):
        file = root / "freezer" / path / "freezer.state"
        yield _Switch(file, "FROZEN", "THAWED", (file, "FROZEN"))
    if path := _upto(found.get("", ""), cri_id):
        for folder in (root / path, root / "unified" / path):
            events = folder / "cgroup.events"
            yield _Switch(folder / "cgroup.freeze", "1", "0", (events, "frozen 1"))


def _upto(path: str, cri_id: str) -> Path | None:
    """Return a path as far as the part that bears an ID; None if none does.

    One that leads out of what is mounted here is of no use either.
    """
    parts = Path(path.lstrip("/")).parts
    if ".." in parts:
        return None
    for index, each in enumerate(parts, start=1):
        if cri_id in each:
            return Path(*parts[:index])
    return None


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
