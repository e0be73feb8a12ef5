"""A container as a process group: its main process, its commands, its record."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import Fault
from probetui.kubelet.kuberuntime.termination_message import (
    FALLBACK_TO_LOGS_ON_ERROR,
    MAX_FILE_BYTES,
    termination_message,
    wants_log,
)
from probetui.ports import Clock, CommandStreams, ExecResult
from probetui.runtimes.missing_executable import command_error
from probetui.runtimes.process import logs, records, translate
from probetui.runtimes.process.child import (
    POLL_SECONDS,
    UNKNOWN_EXIT_CODE,
    RunningCommand,
    kill_group,
    reaches_pid_1,
    reap,
    send_group,
    send_signal,
    spawn,
    watch_end,
)
from probetui.runtimes.process.descendant_killer import (
    DescendantKiller,
    KilledDescendants,
)
from probetui.runtimes.process.descendants import (
    UnkillableProcess,
    kill_numbered,
    numbered,
)
from probetui.runtimes.process.mounts import read_message_file
from probetui.runtimes.process.records import ProcessContainerRecord
from probetui.runtimes.process.unmanaged import NETWORK_OF_ALL
from probetui.runtimes.process_identity import Process, is_alive, kill_marked, marked
from probetui.untrusted_files import make_own_directory

logger = logging.getLogger(__name__)

END_ROUNDS = 100
"""How often to check whether killed processes have ended, every `POLL_SECONDS`."""

START_ERROR_EXIT_CODE = 128
"""The exit code that containerd reports for a container that could not be started."""


class ProcessContainer:
    """A container that was created here or found on disk; owned by its sandbox.

    Args:
        folder: the container's folder.
        record: its record on disk.
        clock: the session's.
        is_anothers: returns whether another running probetui manages the container.
        spared: returns the probetui processes that start its processes; they bear its
            number for a moment and are never killed.
        killer: kills the processes that it started.
        on_change: called whenever its status may have changed.
    """

    def __init__(
        self,
        folder: Path,
        record: ProcessContainerRecord,
        *,
        clock: Clock,
        is_anothers: Callable[[], bool],
        spared: Callable[[], Collection[Process]],
        killer: DescendantKiller,
        on_change: Callable[[], None],
    ) -> None:
        self.folder = folder
        self.log = folder / f"{record.attempt}.log"
        self.record = record
        self.status: RuntimeContainerStatus = translate.container_status(record)
        self._file = folder / records.CONTAINER_FILE
        self._signature = records.signature(self._file)
        self._clock = clock
        self._is_anothers = is_anothers
        self._spared = spared
        self._killer = killer
        self._on_change = on_change
        self._is_child = False
        self._has_no_descendants = False
        self._is_frozen_here = False
        self._has_ended = asyncio.Event()
        self._stop_watching: Callable[[], None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._commands: set[RunningCommand] = set()
        self._follow()

    @property
    def state(self) -> RuntimeState:
        """The state of the last known record."""
        return self.status.state

    def refresh(self) -> bool:
        """Reload the record if it changed on disk; False when the container is gone.

        A running container whose record was removed is still there, and is recorded
        again.
        """
        signature = records.signature(self._file)
        if signature is not None and signature == self._signature:
            return True
        record = records.read_container(self._file)
        if record is None:
            return self._record_again()
        self._signature = signature
        self._update(record)
        return True

    def is_running_here(self) -> bool:
        """Return whether its process lives and no other probetui manages it."""
        process = self.record.process
        return (
            self.state is RuntimeState.RUNNING
            and process is not None
            and is_alive(process)
            and not self._is_anothers()
        )

    def _record_again(self) -> bool:
        """Write the record of a container that runs without one; False if it ended.

        Otherwise its processes would be lost.
        """
        if not self.is_running_here():
            return False
        try:
            mode = records.FOLDER_MODE
            make_own_directory(self.folder, mode, parents_mode=mode)
            self._save()
        except OSError as error:
            logger.warning(
                "%s runs without a record: %s", self.record.container_id, error
            )
        else:
            logger.warning(
                "the record of %s was removed while it runs, and is there again",
                self.record.container_id,
            )
        return True

    def start(self) -> None:
        """Start the main process; it can be started only once.

        A container whose program cannot be started is exited, as with containerd.

        Raises:
            ContainerRuntimeError: the program cannot be started.
            OSError: the record cannot be written; the process was killed.
        """
        if self.state is not RuntimeState.CREATED:
            raise ContainerRuntimeError(f"container is {self._cri_state}")
        log = logs.open_log(self.log)
        try:
            process = spawn(
                self.record.command,
                env=self.record.env,
                cwd=Path(self.record.working_dir),
                stdout=log,
                stderr=log,
                number=self.record.number,
            )
        except ContainerRuntimeError as error:
            self._end(START_ERROR_EXIT_CODE, "StartError", str(error))
            raise
        finally:
            os.close(log)
        self._is_child = True
        self._update(
            replace(self.record, process=process, started_at=self._clock.now())
        )
        try:
            self._save()
        except OSError:
            self.kill()
            raise

    async def stop(self, grace_period_seconds: int) -> None:
        """Send the stop signal, after the grace period SIGKILL, and wait for the end.

        It is SIGTERM if the manifest names no other; SIGKILL goes to all. As in a
        container, a program that does not handle the stop signal ignores it.
        """
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            return
        if grace_period_seconds > 0:
            try:
                async with asyncio.timeout(grace_period_seconds):
                    await _send_stop_signal(process, self.record.stop_signal)
                    await self._has_ended.wait()
            except TimeoutError:
                pass
        self.kill()
        await self._has_ended.wait()
        await self.end_descendants()

    def kill(self) -> None:
        """Kill the process group of the main process, if it is running."""
        process = self.record.process
        if self.state is RuntimeState.RUNNING and process and is_alive(process):
            kill_group(process.pid)

    async def end_descendants(self) -> None:
        """Kill every process that the container started, and wait for their end.

        Raises:
            ContainerRuntimeError: some of them cannot be killed, or do not end.
        """
        if self._has_no_descendants:
            return
        killed = await self._kill_descendants()
        for _ in range(END_ROUNDS):
            if not killed.survivors:
                # In an exited container no further process is started.
                self._has_no_descendants = self.state is RuntimeState.EXITED
                return
            if killed.refused:
                break
            await asyncio.sleep(POLL_SECONDS)
            killed = await self._kill_descendants()
        pids = ", ".join(f"{process.pid}" for process in killed.survivors)
        reason = killed.refused[0].reason if killed.refused else "they do not exit"
        raise ContainerRuntimeError(
            f"processes that container {self.record.name} started are left: "
            f"{pids}: {reason}"
        )

    async def _kill_descendants(self) -> KilledDescendants:
        return await self._killer.kill(
            self.record.number, self._spared(), is_thorough=True
        )

    def pids(self) -> Iterator[int]:
        """Yield the process IDs of the container, as they are found in /proc."""
        if not self.record.number:
            return marked(translate.marker(self.record.container_id))
        processes = numbered({self.record.number}, self._spared())
        return (process.pid for _, process in processes)

    async def inject_fault(self, fault: Fault) -> None:
        """Freeze or unfreeze the main process and its group, or signal it.

        Commands of probes and hooks are in other process groups and go on while the
        container is frozen. The network is this machine's and cannot be cut.
        """
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            raise ContainerRuntimeError(f"container is {self._cri_state}")
        match fault:
            case Fault.FREEZE:
                self._note_frozen(is_frozen=True)
                send_group(process, signal.SIGSTOP)
            case Fault.UNFREEZE:
                self.thaw(process)
            case Fault.STOP:
                if reaches_pid_1(process, signal.SIGTERM) is not False:
                    send_signal(process, signal.SIGTERM)
            case Fault.KILL:
                send_signal(process, signal.SIGKILL)
            case Fault.CUT_NETWORK | Fault.RESTORE_NETWORK:
                raise ContainerRuntimeError(NETWORK_OF_ALL)

    def thaw(self, process: Process) -> None:
        """Continue the main process and its group; raises `OSError`."""
        self._is_frozen_here = False
        send_group(process, signal.SIGCONT)
        if self.record.is_frozen and self.refresh():
            self._note_frozen(is_frozen=False)

    def thaw_left(self) -> bool:
        """Thaw a container that a killed probetui left frozen; True if it runs."""
        process = self.record.process
        if not self.record.is_frozen or process is None:
            return False
        try:
            self.thaw(process)
        except OSError as error:  # on a full disk it is thawed and recorded later
            logger.warning("%s: %s", self.record.container_id, error)
        return self.state is RuntimeState.RUNNING

    def _note_frozen(self, *, is_frozen: bool) -> None:
        self._is_frozen_here = is_frozen
        self.record = replace(self.record, is_frozen=is_frozen)
        self._save()

    async def exec_sync(
        self, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command beside the main process; see `ports.Runtime.exec_sync`."""
        self._check_runs()
        try:
            running = RunningCommand(
                command,
                self.record.env,
                Path(self.record.working_dir),
                self._commands.discard,
                self.record.number,
            )
        except ContainerRuntimeError as error:
            raise command_error(f"failed to exec in container: {error}") from error
        self._commands.add(running)
        return await running.wait(timeout_seconds)

    async def exec_streams(
        self,
        command: tuple[str, ...],
        streams: CommandStreams,
        *,
        has_stdin: bool,
        tty: bool,
    ) -> int:
        """Run a command with streams; see `ports.Runtime.exec_streams`."""
        # Late: few sessions run interactive commands.
        from probetui.runtimes.process.interactive import (  # noqa: PLC0415
            run_interactive,
        )

        self._check_runs()
        try:
            return await run_interactive(
                command,
                self.record.env,
                Path(self.record.working_dir),
                self.record.number,
                streams,
                has_stdin=has_stdin,
                tty=tty,
            )
        except ContainerRuntimeError as error:
            raise command_error(f"failed to exec in container: {error}") from error

    def _check_runs(self) -> None:
        if self.state is not RuntimeState.RUNNING:
            raise ContainerRuntimeError(
                f"failed to exec in container: container is {self._cri_state}"
            )

    def release(self) -> None:
        """Stop managing the container, which goes on; its commands are killed."""
        self._unfollow()
        process = self.record.process
        if self._is_frozen_here and process is not None:
            try:
                self.thaw(process)
            except OSError as error:
                # It goes on; the record is corrected when it is adopted.
                logger.warning("%s: %s", self.record.container_id, error)
        for command in self._commands:
            command.kill()

    async def close(self) -> None:
        """Stop managing the container, and wait for the end of its commands."""
        if self._ending is not None:
            await self._ending
        self.release()
        for command in tuple(self._commands):
            await command.ended()

    @property
    def _cri_state(self) -> str:
        return f"in CONTAINER_{self.state.name} state"

    def _update(self, record: ProcessContainerRecord) -> None:
        self.record = record
        self.status = translate.container_status(record)
        self._follow()
        self._on_change()

    def _save(self) -> None:
        records.write(self._file, self.record)
        self._signature = records.signature(self._file)

    def _follow(self) -> None:
        """Watch the main process while it runs, and record its end."""
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            self._unfollow()
        elif self._ending is not None:
            pass  # it has just ended, and its other processes are being killed
        elif is_alive(process):
            if self._stop_watching is None:
                self._stop_watching = watch_end(process, self._on_end)
        elif self._is_child:
            self._on_end()
        else:  # adopted: its end has to be recorded at once
            self._kill_left()
            self._end_main_process(process)
        if self.state is RuntimeState.EXITED:
            self._has_ended.set()

    def _unfollow(self) -> None:
        if self._stop_watching:
            self._stop_watching()
        self._stop_watching = None

    def _on_end(self) -> None:
        """Kill the other processes, as the end of a PID 1 does, then reap this one.

        They are searched for in /proc, in a thread, so that no probe waits for it.
        """
        self._unfollow()
        process = self.record.process
        assert process is not None, "it was watched"  # noqa: S101  # for the type
        for command in self._commands:
            command.kill()

        async def end() -> None:
            try:
                await self._kill_others(process)
            finally:
                self._ending = None
                self._end_main_process(process)

        self._ending = asyncio.get_running_loop().create_task(end())

    async def _kill_others(self, process: Process) -> None:
        """Kill the processes of the container, whose main process has ended."""
        if self._is_child:
            kill_group(process.pid)
        if not self.record.number:
            marker = translate.marker(self.record.container_id)
            await asyncio.to_thread(kill_marked, marker)
            return
        # Searched for once; `end_descendants` does so thoroughly before removal.
        killed = await self._killer.kill(
            self.record.number, self._spared(), is_thorough=False
        )
        self._warn_of(killed.refused)

    def _kill_left(self) -> None:
        """Kill the processes of a container of an earlier session, at once."""
        number = self.record.number
        if not number:
            kill_marked(translate.marker(self.record.container_id))
            return
        refused = kill_numbered({number}, self._spared(), looks=0)
        self._warn_of(refused.get(number, ()))

    def _warn_of(self, refused: Iterable[UnkillableProcess]) -> None:
        for process in refused:
            logger.warning("%s of %s is left", process, self.record.name)

    def _end_main_process(self, process: Process) -> None:
        """Reap the main process and record its end; kill commands that run still."""
        for command in self._commands:
            command.kill()
        exit_code = reap(process)
        if exit_code is None:
            self._end_unseen()
        else:
            self._end(exit_code, "Error" if exit_code else "Completed")

    def _end_unseen(self) -> None:
        """Record the end of a process that is not our child."""
        if self.refresh() and self.state is RuntimeState.EXITED:
            return  # its parent has recorded the exit code
        unknown = replace(
            self.record,
            finished_at=self._clock.now(),
            exit_code=UNKNOWN_EXIT_CODE,
            reason="Unknown",
            message="it ended while no probetui managed it",
        )
        if self._is_anothers():
            self._update(unknown)  # until the other probetui records the exit code
        else:
            self._finish(unknown)

    def _end(self, exit_code: int, reason: str, message: str = "") -> None:
        own = self._read_termination_message(exit_code, reason)
        message = termination_message(message, own)
        self._finish(
            replace(
                self.record,
                finished_at=self._clock.now(),
                exit_code=exit_code,
                reason=reason,
                message=message,
            )
        )

    def _read_termination_message(self, exit_code: int, reason: str) -> bytes:
        """Return the container's message file, or the end of its log if it counts."""
        file = None
        if self.record.message_path:
            path = Path(self.record.message_path)
            file = read_message_file(path, MAX_FILE_BYTES)
        policy = FALLBACK_TO_LOGS_ON_ERROR if self.record.is_message_from_log else ""
        if wants_log(policy, exit_code, reason, file):
            return logs.last_message(self.log)
        return file or b""

    def _finish(self, record: ProcessContainerRecord) -> None:
        try:
            self.record = record
            self._save()
        except FileNotFoundError:
            pass  # another probetui has removed the container
        except OSError as error:
            # Not the record itself: the variables of the container are in it.
            what = record.container_id
            logger.warning(
                "the end of container %s cannot be recorded: %s", what, error
            )
        self._update(record)


async def _send_stop_signal(process: Process, number: int) -> None:
    """Send a signal unless process 1 of a PID namespace would not get it."""
    reaches = reaches_pid_1(process, number)
    while reaches is None:  # there is no event for a signal that is unblocked
        await asyncio.sleep(POLL_SECONDS)
        reaches = reaches_pid_1(process, number)
    if reaches:
        send_signal(process, number)
