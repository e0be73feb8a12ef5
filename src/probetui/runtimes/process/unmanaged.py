"""Processes of this machine that probetui did not start, as containers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import (
    ContainerID,
    Listeners,
    RuntimeContainerStatus,
    RuntimeState,
)
from probetui.kubelet.effects import Fault
from probetui.ports import (
    ExecResult,
    UnmanagedContainer,
    UnmanagedContainers,
    UnmanagedStatus,
)
from probetui.runtimes.fault_notes import FROZEN, FaultNotes
from probetui.runtimes.proc_net import listeners_of
from probetui.runtimes.process.child import RunningCommand, send_signal, watch_end
from probetui.runtimes.process.listing import ListedProcess, environment_of_process
from probetui.runtimes.process.translate import NAME
from probetui.runtimes.process_identity import Process, identify, is_alive, is_stopped

logger = logging.getLogger(__name__)

NETWORK_OF_ALL = "processes share the network of this machine, which is never cut"
ITSELF = "probetui is one of its descendants and would be frozen with it"

_ON_NETWORK = {Fault.CUT_NETWORK, Fault.RESTORE_NETWORK}
_SIGNALS = {Fault.STOP: signal.SIGTERM, Fault.KILL: signal.SIGKILL}

WATCH_SECONDS = 3600.0
"""How long the stream of events sleeps: it has none, ends are found by inspection."""


class UnmanagedProcesses(UnmanagedContainers):
    """The processes that this user can see.

    The ID of a container is `process://<pid>`. A process that has ended is gone, and
    cannot be started again.

    Args:
        listed: returns the running processes; for tests.
        fault_injector: freezes and signals processes.
    """

    name = NAME

    def __init__(
        self,
        listed: Callable[[], Iterable[ListedProcess]],
        fault_injector: ProcessFaultInjector,
    ) -> None:
        self._listed = listed
        self._found: dict[int, ListedProcess] = {}
        self._inspected: dict[ContainerID, Process] = {}
        self._commands: set[RunningCommand] = set()
        self._fault_injector = fault_injector

    async def list(self) -> tuple[UnmanagedContainer, ...]:
        """Return all processes except this one."""
        here = {
            listed.pid: listed for listed in self._listed() if listed.pid != os.getpid()
        }
        self._found = here
        return tuple(_unmanaged(listed, here) for listed in here.values())

    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        """Return the status of a process, None if it has ended."""
        inspected = self._found.get(_pid(container_id))
        process = None if inspected is None else identify(inspected.pid)
        if inspected is None or process is None:
            return None
        self._inspected[container_id] = process
        status = RuntimeContainerStatus(
            container_id,
            "",
            RuntimeState.RUNNING,
            created_at=inspected.started_at,
            started_at=inspected.started_at,
            image=inspected.names[0],
        )
        return UnmanagedStatus(status, inspected.ip)

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command with the working directory and environment of a process.

        If they may not be read, those of this process are used.
        """
        process = self._alive(container_id)
        place = environment_of_process(process.pid)
        running = RunningCommand(
            command, place.env, place.folder, self._commands.discard
        )
        self._commands.add(running)
        return await running.wait(timeout_seconds)

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where a process and its descendants listen."""
        process = self._alive(container_id)
        return await asyncio.to_thread(self._listeners_below, process.pid)

    def _listeners_below(self, pid: int) -> Listeners:
        family = {pid}
        listed = list(self._listed())
        while (
            children := {process.pid for process in listed if process.parent in family}
            - family
        ):
            family |= children
        return listeners_of(family)

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Send SIGTERM to a process, after the grace period SIGKILL; children stay."""
        process = self._inspected_alive(container_id)
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

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Freeze or unfreeze a process and its descendants, or signal it."""
        process = self._alive(container_id)
        with _wrap_permission_errors(process):
            self._fault_injector.inject_fault(process, fault)

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty where it may be tried."""
        return fault_refusal(pod, fault)

    async def watch(self) -> AsyncIterator[None]:
        """Yield at a long interval: processes have no events."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            yield

    def _alive(self, container_id: ContainerID) -> Process:
        """Return the process that was inspected; raises if it has ended."""
        process = self._inspected_alive(container_id)
        if process is None:
            raise ContainerRuntimeError(f"process {_pid(container_id)} has ended")
        return process

    def _inspected_alive(self, container_id: ContainerID) -> Process | None:
        """Return the process that was inspected, None if it has ended.

        Its PID may be another process's by now.
        """
        process = self._inspected.get(container_id)
        return process if process is not None and is_alive(process) else None


def _unmanaged(
    listed: ListedProcess, here: Mapping[int, ListedProcess]
) -> UnmanagedContainer:
    """Return a process as a container; a name that its parent has is left out."""
    parent = here.get(listed.parent)
    taken = set() if parent is None else set(parent.names)
    return UnmanagedContainer(
        ContainerID(f"{NAME}://{listed.pid}"),
        tuple(name for name in listed.names if name not in taken),
        is_running=True,
        labels=listed.labels,
        image=listed.names[0],
        created_at=listed.started_at,
        is_named=False,
    )


def _pid(container_id: ContainerID) -> int:
    number = container_id.removeprefix(f"{NAME}://")
    return int(number) if number.isdecimal() else 0


def _send(process: Process, number: signal.Signals) -> None:
    with _wrap_permission_errors(process):
        send_signal(process, number)


@contextlib.contextmanager
def _wrap_permission_errors(process: Process) -> Iterator[None]:
    """Raise `ContainerRuntimeError` instead of `PermissionError`."""
    try:
        yield
    except PermissionError as error:
        raise ContainerRuntimeError(
            f"process {process.pid} belongs to another user: {error.strerror}"
        ) from error


def fault_refusal(
    pod: Pod,  # noqa: ARG001  # all pods share the network of this machine
    fault: Fault,
) -> str:
    """Return why a pod cannot have a fault, empty where it may be tried."""
    return NETWORK_OF_ALL if fault in _ON_NETWORK else ""


class ProcessFaultInjector:
    """Freezes and signals processes that probetui did not start.

    A process is frozen together with its descendants, as a server with its workers.
    Signals go to the process itself.

    Args:
        listed: returns the running processes.
        notes: records the frozen processes on disk.
    """

    def __init__(
        self, listed: Callable[[], Iterable[ListedProcess]], notes: FaultNotes
    ) -> None:
        self._listed = listed
        self._notes = notes
        self._frozen: dict[Process, set[Process]] = {}

    def inject_fault(self, process: Process, fault: Fault) -> None:
        """Inject a fault.

        Raises:
            ContainerRuntimeError: it is not possible.
            OSError: it is not permitted.
        """
        match fault:
            case Fault.FREEZE:
                self._freeze(process)
            case Fault.UNFREEZE:
                self._thaw(process)
            case Fault.STOP | Fault.KILL:
                send_signal(process, _SIGNALS[fault])
            case Fault.CUT_NETWORK | Fault.RESTORE_NETWORK:
                raise ContainerRuntimeError(NETWORK_OF_ALL)

    def undo(self) -> None:
        """Continue the processes frozen here, except those that we may not signal."""
        frozen, self._frozen = self._frozen, {}
        for leader, stopped in frozen.items():
            for process in stopped:
                _resume(process)
            self._notes.remove(FROZEN, _name(leader))

    def undo_leftovers(self) -> list[str]:
        """Continue what a killed probetui left frozen; return the processes' names."""
        thawed = []
        for note in self._notes.leftovers():
            noted = note.how.get("stopped")
            stopped = [*map(_process, noted if isinstance(noted, list) else ())]
            resumed = [process for process in stopped if _resume(process)]
            self._notes.remove(note.kind, note.thing_id)
            thawed += [f"process {process.pid}" for process in resumed[:1]]
        return thawed

    def _freeze(self, process: Process) -> None:
        stopped = self._frozen.setdefault(process, set())
        # Repeated for processes that were forked meanwhile.
        while fresh := [
            member
            for member in self._family(process)
            if member not in stopped and not is_stopped(member)
        ]:
            if any(member.pid == os.getpid() for member in fresh):
                self._thaw(process)
                raise ContainerRuntimeError(ITSELF)
            stopped.update(fresh)
            how = {"stopped": [[member.pid, member.born] for member in stopped]}
            self._notes.write(FROZEN, _name(process), how)
            for member in fresh:
                send_signal(member, signal.SIGSTOP)

    def _thaw(self, process: Process) -> None:
        """Continue the processes stopped here, or all descendants if none was."""
        for member in self._frozen.pop(process, None) or set(self._family(process)):
            send_signal(member, signal.SIGCONT)
        self._notes.remove(FROZEN, _name(process))

    def _family(self, first: Process) -> Iterator[Process]:
        """Yield a process and its descendants."""
        children: dict[int, list[int]] = {}
        for listed in self._listed():
            children.setdefault(listed.parent, []).append(listed.pid)
        pids = [first.pid]
        for pid in pids:  # the list grows meanwhile
            pids += children.get(pid, ())
        yield first
        for pid in pids[1:]:
            if member := identify(pid):
                yield member


def _resume(process: Process) -> bool:
    """Continue a process; False if it has ended or, logged, may not be signalled."""
    try:
        send_signal(process, signal.SIGCONT)
    except PermissionError as error:
        logger.warning("process %d is left frozen: %s", process.pid, error.strerror)
        return False
    return is_alive(process)


def _name(process: Process) -> str:
    """Return the ID that a frozen process has in notes."""
    return f"{process.pid} {process.born}"


def _process(noted: object) -> Process:
    """Parse a noted process; an invalid one is a process that never lives."""
    match noted:
        case [int() as pid, str() as born] if pid > 0:
            return Process(pid, born)
        case _:
            return Process(0, "")
