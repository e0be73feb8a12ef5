"""One container: its main process, the commands in it, its record on disk."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.runtime import RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import Disruption
from probetui.kubelet.termination_message import (
    FALLBACK_TO_LOGS_ON_ERROR,
    MAX_FILE_BYTES,
    termination_message,
    wants_log,
)
from probetui.ports import Clock, ExecResult
from probetui.runtimes.missing import refused_command
from probetui.runtimes.process import logs, records, translate
from probetui.runtimes.process.child import (
    POLL_SECONDS,
    UNKNOWN_EXIT_CODE,
    kill_group,
    reap,
    send,
    send_group,
    spawn,
    watch_end,
    would_reach_first,
)
from probetui.runtimes.process.command import Command
from probetui.runtimes.process.descendants import (
    Unkillable,
    kill_numbered,
    numbered,
)
from probetui.runtimes.process.disruptions import NETWORK_OF_ALL
from probetui.runtimes.process.mounts import read_message_file
from probetui.runtimes.process.records import ContainerRecord
from probetui.runtimes.process_identity import Process, is_alive, kill_marked, marked

logger = logging.getLogger(__name__)

END_ROUNDS = 100
"""How often it is looked whether what was killed has ended."""

START_ERROR_EXIT_CODE = 128
"""What containerd answers for a container that could not be started."""


class ProcessContainer:
    """A container that is made here, or was found on disk.

    Owned by its `ProcessSandbox`. `is_anothers` tells whether another probetui looks
    after it, `spared` which processes start what runs in it, `on_change` is called
    whenever its status may have changed.
    """

    def __init__(
        self,
        folder: Path,
        record: ContainerRecord,
        *,
        clock: Clock,
        is_anothers: Callable[[], bool],
        spared: Callable[[], Collection[Process]],
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
        self._on_change = on_change
        self._is_child = False
        self._has_no_descendants = False
        self._is_frozen_here = False
        self._has_ended = asyncio.Event()
        self._stop_watching: Callable[[], None] | None = None
        self._commands: set[Command] = set()
        self._follow()

    @property
    def state(self) -> RuntimeState:
        """The state that was last seen."""
        return self.status.state

    def refresh(self) -> bool:
        """Take over what another probetui wrote; False when the container is gone."""
        found = records.signature(self._file)
        if found == self._signature:
            return found is not None
        record = records.read_container(self._file)
        if record is None:
            return False
        self._signature = found
        self._take(record)
        return True

    def start(self) -> None:
        """Start the main process, once.

        One that cannot be started leaves an exited container, as with containerd.
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
        self._take(replace(self.record, process=process, started_at=self._clock.now()))
        try:
            self._save()
        except OSError:
            self.kill()
            raise

    async def stop(self, grace_period_seconds: int) -> None:
        """Ask the main process to end, then kill everything, and wait for the end.

        As in a container, a program that does not handle SIGTERM is not ended by it.
        """
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            return
        if grace_period_seconds > 0:
            try:
                async with asyncio.timeout(grace_period_seconds):
                    await _ask_to_end(process)
                    await self._has_ended.wait()
            except TimeoutError:
                pass
        self.kill()
        await self._has_ended.wait()
        await self.end_descendants()

    def kill(self) -> None:
        """Kill all that runs in the container, if it runs."""
        process = self.record.process
        if self.state is RuntimeState.RUNNING and process and is_alive(process):
            kill_group(process.pid)

    async def end_descendants(self) -> None:
        """Kill all that the container has left running, and wait until it is gone.

        Raises:
            ContainerRuntimeError: some of it cannot be killed, or does not end.
        """
        if self._has_no_descendants:
            return
        refused, left = await asyncio.to_thread(self._kill_descendants)
        for _ in range(END_ROUNDS):
            if not left:
                # Nothing is started any more in one that has ended.
                self._has_no_descendants = self.state is RuntimeState.EXITED
                return
            if refused:
                break
            await asyncio.sleep(POLL_SECONDS)
            refused, left = await asyncio.to_thread(self._kill_descendants)
        told = ", ".join(f"{it.pid}" for it in left)
        reason = refused[0].reason if refused else "they do not end"
        raise ContainerRuntimeError(
            f"processes that container {self.record.name} started are left: "
            f"{told}: {reason}"
        )

    def _kill_descendants(self) -> tuple[tuple[Unkillable, ...], list[Process]]:
        number, spared = self.record.number, self._spared()
        refused = kill_numbered(number, spared)
        return refused, list(numbered(number, spared))

    def pids(self) -> Iterator[int]:
        """Yield the processes that run in the container, as they are found."""
        if not self.record.number:
            return marked(translate.marker(self.record.container_id))
        return (each.pid for each in numbered(self.record.number, self._spared()))

    async def disrupt(self, disruption: Disruption) -> None:
        """Freeze or unfreeze the main process and its group, or signal it.

        Commands of probes and hooks are in groups of their own: they go on while the
        container stands still. There is no network to cut: it is this machine's.
        """
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            raise ContainerRuntimeError(f"container is {self._cri_state}")
        match disruption:
            case Disruption.FREEZE:
                self._note_frozen(is_frozen=True)
                send_group(process, signal.SIGSTOP)
            case Disruption.UNFREEZE:
                self.thaw(process)
            case Disruption.STOP:
                if would_reach_first(process, signal.SIGTERM) is not False:
                    send(process, signal.SIGTERM)
            case Disruption.KILL:
                send(process, signal.SIGKILL)
            case Disruption.CUT_NETWORK | Disruption.RESTORE_NETWORK:
                raise ContainerRuntimeError(NETWORK_OF_ALL)

    def thaw(self, process: Process) -> None:
        """Let the main process and its group go on; raises `OSError`."""
        self._is_frozen_here = False
        send_group(process, signal.SIGCONT)
        if self.record.is_frozen and self.refresh():
            self._note_frozen(is_frozen=False)

    def thaw_left(self) -> bool:
        """Let a container go on that a probetui left frozen which was killed."""
        process = self.record.process
        if not self.record.is_frozen or process is None:
            return False
        try:
            self.thaw(process)
        except OSError as error:  # on a full disk it is thawed, and noted later
            logger.warning("%s: %s", self.record.container_id, error)
        return self.state is RuntimeState.RUNNING

    def _note_frozen(self, *, is_frozen: bool) -> None:
        self._is_frozen_here = is_frozen
        self.record = replace(self.record, is_frozen=is_frozen)
        self._save()

    async def exec_sync(
        self, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        """Run a command beside the main process; see `ports.Runtime`."""
        if self.state is not RuntimeState.RUNNING:
            raise ContainerRuntimeError(
                f"failed to exec in container: container is {self._cri_state}"
            )
        try:
            running = Command(
                command,
                self.record.env,
                Path(self.record.working_dir),
                self._commands.discard,
                self.record.number,
            )
        except ContainerRuntimeError as error:
            raise refused_command(f"failed to exec in container: {error}") from error
        self._commands.add(running)
        try:
            return await running.wait(timeout_seconds)
        except TimeoutError:
            raise ExecTimeoutError(
                f"command timed out after {timeout_seconds}s", killed=True
            ) from None

    def release(self) -> None:
        """Let go of the container, which goes on; commands in it are killed."""
        self._unfollow()
        process = self.record.process
        if self._is_frozen_here and process is not None:
            try:
                self.thaw(process)
            except OSError as error:
                # It goes on; what is noted is put right when it is adopted.
                logger.warning("%s: %s", self.record.container_id, error)
        for each in self._commands:
            each.kill()

    async def close(self) -> None:
        """Let go of the container, and wait for the end of commands in it."""
        self.release()
        for each in tuple(self._commands):
            await each.ended()

    @property
    def _cri_state(self) -> str:
        return f"in CONTAINER_{self.state.name} state"

    def _take(self, record: ContainerRecord) -> None:
        self.record = record
        self.status = translate.container_status(record)
        self._follow()
        self._on_change()

    def _save(self) -> None:
        records.write(self._file, self.record)
        self._signature = records.signature(self._file)

    def _follow(self) -> None:
        """Wait for the end of the main process, if it runs."""
        process = self.record.process
        if self.state is not RuntimeState.RUNNING or process is None:
            self._unfollow()
        elif not is_alive(process):
            self._main_process_ended()
        elif self._stop_watching is None:
            self._stop_watching = watch_end(process, self._main_process_ended)
        if self.state is RuntimeState.EXITED:
            self._has_ended.set()

    def _unfollow(self) -> None:
        if self._stop_watching:
            self._stop_watching()
        self._stop_watching = None

    def _main_process_ended(self) -> None:
        """Take all others in the container along, as the end of a PID 1 does."""
        self._unfollow()
        process = self.record.process
        assert process is not None, "it was watched"  # noqa: S101  # for the type
        if self._is_child:
            kill_group(process.pid)
        for each in self._commands:
            each.kill()
        if self.record.number:
            # Once, as everything waits for it; before it is removed, more thoroughly.
            number, spared = self.record.number, self._spared()
            for left in kill_numbered(number, spared, looks=0):
                logger.warning("%s of %s is left", left, self.record.name)
        else:
            kill_marked(translate.marker(self.record.container_id))
        exit_code = reap(process)
        if exit_code is None:
            self._end_unseen()
        else:
            self._end(exit_code, "Error" if exit_code else "Completed")

    def _end_unseen(self) -> None:
        """Say how a process ended that was not ours to reap."""
        if self.refresh() and self.state is RuntimeState.EXITED:
            return  # who reaped it has written it down
        unknown = replace(
            self.record,
            finished_at=self._clock.now(),
            exit_code=UNKNOWN_EXIT_CODE,
            reason="Unknown",
            message="it ended while no probetui looked after it",
        )
        if self._is_anothers():
            self._take(unknown)  # until the other one writes what it was
        else:
            self._finish(unknown)

    def _end(self, exit_code: int, reason: str, message: str = "") -> None:
        message = termination_message(message, self._last_words(exit_code, reason))
        self._finish(
            replace(
                self.record,
                finished_at=self._clock.now(),
                exit_code=exit_code,
                reason=reason,
                message=message,
            )
        )

    def _last_words(self, exit_code: int, reason: str) -> bytes:
        """Return what the container left, or the end of its log if that counts."""
        file = None
        if self.record.message_path:
            path = Path(self.record.message_path)
            file = read_message_file(path, MAX_FILE_BYTES)
        policy = FALLBACK_TO_LOGS_ON_ERROR if self.record.is_message_from_log else ""
        if wants_log(policy, exit_code, reason, file):
            return logs.last_message(self.log)
        return file or b""

    def _finish(self, record: ContainerRecord) -> None:
        try:
            self.record = record
            self._save()
        except FileNotFoundError:
            pass  # another probetui has removed the container
        except OSError as error:
            # Not the record itself: the variables of the container are in it.
            what = record.container_id
            logger.warning("the end of container %s cannot be noted: %s", what, error)
        self._take(record)


async def _ask_to_end(process: Process) -> None:
    """Send SIGTERM as the first process of a container gets it, or does not."""
    reaches = would_reach_first(process, signal.SIGTERM)
    while reaches is None:  # nobody tells when a program unblocks it
        await asyncio.sleep(POLL_SECONDS)
        reaches = would_reach_first(process, signal.SIGTERM)
    if reaches:
        send(process, signal.SIGTERM)
