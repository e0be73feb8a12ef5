"""Processes of containers in /proc: to kill commands, and to find listeners."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import Listeners
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.network_namespace import network_file
from probetui.runtimes.proc_net import listeners_in_network_of
from probetui.untrusted_files import read_kernel_file

T = TypeVar("T")

ROUNDS = 5
"""How often a tree is read again for processes that started meanwhile."""


class ProcessStat(Struct, frozen=True):
    """A process, its parent and its session."""

    process_id: int
    state: str
    parent: int
    session: int


class HostProcesses:
    """Processes of containers in /proc.

    A PID of Docker is valid here only if the daemon runs in this PID namespace, which
    `shows` checks before anything is killed.

    Args:
        proc: the path of /proc.
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
        """Return whether a process is here and in a container's control group."""
        if process_id <= 0:
            return False
        try:
            groups = read_kernel_file(self._proc / str(process_id) / "cgroup")
        except OSError:
            return False
        return container_id.encode() in groups

    def kill_tree(self, process_id: int, container_id: str) -> tuple[int, ...]:
        """Kill the process of an exec and its descendants, also new ones.

        Returns the PIDs of those that this user may not kill.
        """
        refused: set[int] = set()
        for _ in range(ROUNDS):
            alive = set(self.tree(process_id, container_id)) - refused
            if not alive:
                break
            for pid in sorted(alive):
                try:
                    self._kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                except PermissionError:
                    refused.add(pid)
        return tuple(sorted(refused))

    def tree(self, process_id: int, container_id: str) -> tuple[int, ...]:
        """Return the PIDs of a process, its descendants and its session, no zombies.

        The process of an exec leads a session, by which its orphans are found when it
        is gone. Its PID may then be another process's, hence the check of containers.
        """
        members = [member for member in self._members() if member.state not in "ZX"]
        pids = {
            member.process_id
            for member in members
            if process_id in {member.process_id, member.session}
        }
        while children := {
            member.process_id for member in members if member.parent in pids
        }:
            if children <= pids:
                break
            pids |= children
        return tuple(sorted(pid for pid in pids if self.shows(pid, container_id)))

    def inner_id(self, process_id: int) -> int | None:
        """Return a process's PID in its own PID namespace, None if it is gone."""
        try:
            status = read_kernel_file(self._proc / str(process_id) / "status")
        except OSError:
            return None
        for line in status.splitlines():
            if line.startswith(b"NSpid:"):
                return int(line.split()[-1])
        return None

    def _members(self) -> Iterator[ProcessStat]:
        for entry in self._proc.iterdir():
            if not entry.name.isdecimal():
                continue
            try:
                stat = read_kernel_file(entry / "stat").decode(errors="replace")
            except OSError:
                continue
            # The name in parentheses may contain anything, parentheses too.
            state, parent, _, session, *_ = stat.rpartition(")")[2].split()
            yield ProcessStat(int(entry.name), state, int(parent), int(session))


class DockerListeners:
    """Finds where containers listen.

    Args:
        client: the connection to the daemon.
        processes: those of this machine, None if the daemon runs on another one.
    """

    def __init__(self, client: DockerClient, processes: HostProcesses | None) -> None:
        self._client = client
        self._processes = processes

    async def of(self, docker_id: str) -> Listeners:
        """Return the listeners in a container's network; reads /proc in a thread.

        Raises:
            ContainerRuntimeError: it does not run, or is not visible here.
        """
        return await self._ask_of_process(docker_id, listeners_in_network_of)

    async def network_namespace(self, docker_id: str) -> Path:
        """Return the file of a container's network namespace; errors as of `of`."""
        return await self._ask_of_process(docker_id, network_file)

    async def _ask_of_process(self, docker_id: str, ask: Callable[[int], T]) -> T:
        """Call a function with the PID of a container's main process, in a thread."""
        processes = self._processes
        if processes is None:
            raise ContainerRuntimeError("the daemon runs on another machine")

        def find(api: DockerApi) -> T:
            inspected = api.inspect_container(docker_id)
            process_id = inspected["State"]["Pid"]
            if not process_id:
                raise ContainerRuntimeError("it does not run")
            if not processes.shows(process_id, inspected["Id"]):
                raise ContainerRuntimeError("its processes are not visible here")
            return ask(process_id)

        return await self._client.call(find)
