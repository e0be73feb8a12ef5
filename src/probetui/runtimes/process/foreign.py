"""Plain processes of this machine that others started, seen as containers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.listeners import Listeners
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import Disruption
from probetui.ports import ExecResult, ForeignContainer, ForeignStatus
from probetui.runtimes.listening import listeners_of
from probetui.runtimes.process import surroundings
from probetui.runtimes.process.addresses import LOCALHOST
from probetui.runtimes.process.child import send, watch_end
from probetui.runtimes.process.command import Command
from probetui.runtimes.process.disruptions import Disruptions, why_not
from probetui.runtimes.process.listing import Listed
from probetui.runtimes.process.translate import NAME
from probetui.runtimes.process_identity import Process, identify, is_alive

WATCH_SECONDS = 3600.0
"""How long the stream of happenings stays silent; ends are seen by looking."""


class ForeignProcesses:
    """`ports.ForeignContainers` for the processes that this user can see.

    An ID is `process://<pid>`. What has ended is gone: nobody keeps it, and only who
    started it can start it again.

    Args:
        listed: returns the processes there are; for tests.
        disruptions: does to processes what happens to them in real life.
    """

    can_start = False

    def __init__(
        self,
        listed: Callable[[], Iterable[Listed]],
        disruptions: Disruptions,
    ) -> None:
        self._listed = listed
        self._found: dict[int, Listed] = {}
        self._looked_at: dict[ContainerID, Process] = {}
        self._commands: set[Command] = set()
        self._disruptions = disruptions

    async def list(self) -> tuple[ForeignContainer, ...]:
        """Return all there are but this one."""
        here = {each.pid: each for each in self._listed() if each.pid != os.getpid()}
        self._found = here
        return tuple(_foreign(each, here) for each in here.values())

    async def look(self, container_id: ContainerID) -> ForeignStatus | None:
        """Return what one is like now, None if it has ended."""
        found = self._found.get(_pid(container_id))
        process = None if found is None else identify(found.pid)
        if found is None or process is None:
            return None
        self._looked_at[container_id] = process
        status = RuntimeContainerStatus(
            container_id,
            "",
            RuntimeState.RUNNING,
            created_at=found.started_at,
            started_at=found.started_at,
            image=found.names[0],
        )
        return ForeignStatus(status, LOCALHOST)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command where a process runs, with its environment.

        Of a process whose surroundings may not be seen, it is our own.
        """
        process = self._meant_by(container_id)
        if process is None:
            raise ContainerRuntimeError(f"process {_pid(container_id)} has ended")
        place = surroundings.of_process(process.pid)
        running = Command(command, place.env, place.folder, self._commands.discard)
        self._commands.add(running)
        try:
            return await running.wait(timeout_seconds)
        except TimeoutError:
            raise ExecTimeoutError(
                f"command timed out after {timeout_seconds}s", killed=True
            ) from None

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where a process and those it started listen."""
        process = self._meant_by(container_id)
        if process is None:
            raise ContainerRuntimeError(f"process {_pid(container_id)} has ended")
        return await asyncio.to_thread(self._listeners_below, process.pid)

    def _listeners_below(self, pid: int) -> Listeners:
        family = {pid}
        listed = list(self._listed())
        while born := {each.pid for each in listed if each.parent in family} - family:
            family |= born
        return listeners_of(family)

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Ask a process to end, kill it after the grace period; its children stay."""
        process = self._meant_by(container_id)
        if process is None:
            return
        has_ended = asyncio.Event()
        stop_watching = watch_end(process, has_ended.set)
        try:
            if grace_period_seconds > 0:
                _send(process, signal.SIGTERM)
                try:
                    async with asyncio.timeout(grace_period_seconds):
                        await has_ended.wait()
                except TimeoutError:
                    pass
            _send(process, signal.SIGKILL)
            await has_ended.wait()
        finally:
            stop_watching()

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze or unfreeze a process and those it started, or signal it."""
        process = self._meant_by(container_id)
        if process is None:
            raise ContainerRuntimeError(f"process {_pid(container_id)} has ended")
        with _refusals(process):
            self._disruptions.disrupt(process, disruption)

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return why_not(pod, disruption)

    async def start(self, container_id: ContainerID) -> None:
        """Refuse: nobody but who started it knows how."""
        raise ContainerRuntimeError(
            f"process {_pid(container_id)} was started by somebody else, who has to "
            "start it again"
        )

    def dial_address(self, ip: str, port: int) -> tuple[str, int]:
        """Return the address itself: it is this machine."""
        return ip, port

    async def watch(self) -> AsyncIterator[None]:
        """Yield never: nobody tells of processes, so they are looked at."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            yield

    def _meant_by(self, container_id: ContainerID) -> Process | None:
        """Return the process that was looked at, None if it is no more.

        Its number may mean another one by now.
        """
        process = self._looked_at.get(container_id)
        return process if process is not None and is_alive(process) else None


def _foreign(listed: Listed, here: Mapping[int, Listed]) -> ForeignContainer:
    """Return a process; of several of one name, only the first has that name."""
    parent = here.get(listed.parent)
    taken = set() if parent is None else set(parent.names)
    return ForeignContainer(
        ContainerID(f"{NAME}://{listed.pid}"),
        tuple(each for each in listed.names if each not in taken),
        is_running=True,
        image=listed.names[0],
        created_at=listed.started_at,
        is_named=False,
    )


def _pid(container_id: ContainerID) -> int:
    number = container_id.removeprefix(f"{NAME}://")
    return int(number) if number.isdecimal() else 0


def _send(process: Process, number: signal.Signals) -> None:
    with _refusals(process):
        send(process, number)


@contextlib.contextmanager
def _refusals(process: Process) -> Iterator[None]:
    """Turn what the system refuses into what a runtime refuses."""
    try:
        yield
    except PermissionError as error:
        raise ContainerRuntimeError(
            f"process {process.pid} is somebody else's: {error.strerror}"
        ) from error
