"""Processes of containers as this machine shows them, to kill what an exec left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROUNDS = 5
"""How often a tree is looked at again for what was born while it was killed."""


class Member(NamedTuple):
    """A process, with what ties it to others."""

    process_id: int
    state: str
    parent: int
    session: int


class HostProcesses:
    """What `/proc` says of processes that belong to containers.

    A number that Docker gives means something here only if the daemon's processes
    are this machine's, which `shows` finds out before anything is killed.

    Args:
        proc: where processes are shown.
        kill: sends a signal.
    """

    def __init__(
        self,
        proc: Path = Path("/proc"),
        kill: Callable[[int, int], None] = os.kill,
    ) -> None:
        self._proc = proc
        self._kill = kill

    def shows(self, process_id: int, container_id: str) -> bool:
        """Tell whether that process is here and in that container's control group."""
        if process_id <= 0:
            return False
        try:
            groups = (self._proc / str(process_id) / "cgroup").read_text()
        except OSError:
            return False
        return container_id in groups

    def kill_tree(self, process_id: int, container_id: str) -> tuple[int, ...]:
        """Kill a process that an exec started in a container, and all it left.

        Returns those that it may not kill. What was born meanwhile is killed too.
        """
        refused: set[int] = set()
        for _ in range(ROUNDS):
            alive = set(self.tree(process_id, container_id)) - refused
            if not alive:
                break
            for each in sorted(alive):
                try:
                    self._kill(each, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except PermissionError:
                    refused.add(each)
        return tuple(sorted(refused))

    def tree(self, process_id: int, container_id: str) -> tuple[int, ...]:
        """Return a process, its descendants and its session, without zombies.

        What an exec starts leads a session of its own, by which its orphans are
        found after it is gone. Its number may then belong to another process, hence
        the look at each one's container.
        """
        members = [each for each in self._members() if each.state not in "ZX"]
        found = {
            each.process_id
            for each in members
            if process_id in {each.process_id, each.session}
        }
        while born := {each.process_id for each in members if each.parent in found}:
            if born <= found:
                break
            found |= born
        return tuple(sorted(each for each in found if self.shows(each, container_id)))

    def inner_id(self, process_id: int) -> int | None:
        """Return a process's number in its own namespace, None if it is gone."""
        try:
            status = (self._proc / str(process_id) / "status").read_text()
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
        return None

    def _members(self) -> Iterator[Member]:
        for entry in self._proc.iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                stat = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            # The name in parentheses may hold anything, parentheses too.
            state, parent, _, session, *_ = stat.rpartition(")")[2].split()
            yield Member(int(entry.name), state, int(parent), int(session))
