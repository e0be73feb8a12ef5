"""Child processes: started, signalled, watched and reaped without a thread each."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from probetui.descriptor_limit import original_descriptor_limit
from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.ports import ExecResult
from probetui.runtimes.missing_executable import command_error
from probetui.runtimes.process.descendants import numbering
from probetui.runtimes.process_identity import PROC, Process, identify, is_alive
from probetui.untrusted_files import read_kernel_file

POLL_SECONDS = 0.05
SIGNAL_EXIT_CODE = 128
"""The exit code of a process that a signal ended is this plus the signal's number."""

UNKNOWN_EXIT_CODE = 255
"""The exit code that containerd reports for a container whose end it did not see."""

KEPT_BYTES = 16 * 1024
"""How much of each stream is kept; a probe shows 10 KiB of both."""

CHUNK_BYTES = 64 * 1024
PAUSE_SECONDS = 0.001
"""Pause between reads of output that is not kept: at 64 MB/s the loop stays free."""

LAST_CHUNKS = 16
"""A pipe holds at most 1 MiB: so many chunks read all of it."""

_SIGNAL_SETS = re.compile(rb"^Sig(Blk|Cgt):\s*([0-9a-f]+)$", re.MULTILINE)
"""The signals that a process blocks and those it handles (proc_pid_status(5))."""

_SIGNALFD = re.compile(rb"^sigmask:\s*([0-9a-f]+)$", re.MULTILINE)
"""The signals that are read from a descriptor (proc_pid_fdinfo(5))."""

_WAITS_FOR_SIGNALS = b"sigtimedwait"
"""The kernel function that a thread is in during sigwait(3)."""


def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdout: int,
    stderr: int,
    number: int = 0,
    stdin: int = subprocess.DEVNULL,
    is_terminal: bool = False,
) -> Process:
    """Start a program in a session of its own; the caller reaps it.

    Args:
        command: the program and its arguments, UTF-8 with surrogateescape.
        env: its environment, likewise.
        cwd: its working directory.
        stdout: the descriptor of its standard output.
        stderr: that of its standard error.
        number: the container's number, see `descendants`; 0 for none.
        stdin: that of its standard input.
        is_terminal: the descriptors are a terminal, which becomes its own.

    Raises:
        ContainerRuntimeError: it cannot be started.
    """
    if not command:
        raise ContainerRuntimeError("no command specified")
    try:
        with original_descriptor_limit(), numbering(number):
            child = subprocess.Popen(  # noqa: S603  # what the user's manifest asks for
                [_bytes(text) for text in command],
                env={_bytes(name): _bytes(value) for name, value in env.items()},
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                # One call of the kernel, which needs nothing that a thread may hold.
                preexec_fn=_take_terminal if is_terminal else None,  # noqa: PLW1509
            )
    except (OSError, ValueError) as error:
        reason = _reason(error, command[0], cwd)
        raise command_error(f"unable to start container process: {reason}") from error
    # Otherwise Popen would warn that the child outlives it, and reap it.
    child.returncode = 0
    process = identify(child.pid)
    if process is None:
        kill_group(child.pid)
        os.waitpid(child.pid, 0)
        raise ContainerRuntimeError("the processes of this machine are not visible")
    return process


def _take_terminal() -> None:
    """Make standard input the terminal of this session, which has none yet."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _reason(error: OSError | ValueError, program: str, cwd: Path) -> str:
    """Format why a program did not start, as container runtimes do."""
    if isinstance(error, OSError) and error.filename == cwd:
        return f'chdir to cwd ("{cwd}"): {_strerror(error)}'
    if not isinstance(error, OSError):
        return f'exec: "{program}": {error}'
    if error.errno == errno.ENOENT and "/" not in program:
        return f'exec: "{program}": executable file not found in $PATH'
    if error.errno == errno.ENOENT:
        return f'exec: "{program}": stat {program}: {_strerror(error)}'
    return f'exec: "{program}": {_strerror(error)}'


def _strerror(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else str(error)


def reap(process: Process) -> int | None:
    """Return the exit code of a child that has ended, None for any other process.

    For a signal it is 128 plus its number. The process ID is free afterwards.
    """
    if identify(process.pid) != process:  # perhaps another child has the PID now
        return None
    try:
        reaped, status = os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return None
    if not reaped:
        return None
    exit_code = os.waitstatus_to_exitcode(status)
    return exit_code if exit_code >= 0 else SIGNAL_EXIT_CODE - exit_code


def send_signal(process: Process, number: int) -> None:
    """Send a signal to a process, if it is alive."""
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def reaches_pid_1(process: Process, number: int) -> bool | None:
    """Return whether a signal would be delivered if this were PID 1 of a container.

    To process 1 of a PID namespace the kernel delivers only signals that it handles or
    waits for, and SIGKILL and SIGSTOP (pid_namespaces(7)). None while the signal is
    blocked, as it is for a moment in a shell that starts a program: the kernel decides
    once it is unblocked. True where /proc does not show it.
    """
    if number in {signal.SIGKILL, signal.SIGSTOP}:
        return True
    folder = PROC / str(process.pid)
    sets = dict(_SIGNAL_SETS.findall(_read(folder / "status")))
    if not sets or _has(sets[b"Cgt"], number):
        return True
    if any(_WAITS_FOR_SIGNALS in _read(path) for path in folder.glob("task/*/wchan")):
        return True
    for path in folder.glob("fdinfo/*"):
        if any(_has(read, number) for read in _SIGNALFD.findall(_read(path))):
            return True
    return None if _has(sets[b"Blk"], number) else False


def _has(mask: bytes, number: int) -> bool:
    return bool(int(mask, 16) >> (number - 1) & 1)


def _read(file: Path) -> bytes:
    """Read a file; return empty if that is not possible."""
    try:
        return read_kernel_file(file)
    except OSError:
        return b""


def kill_group(leader: int) -> None:
    """Kill a process group, whose leader must be alive or not reaped yet."""
    # Some systems refuse if only zombies are left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def send_group(leader: Process, number: signal.Signals) -> None:
    """Send a signal to a process group, if its leader is alive."""
    if is_alive(leader):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader.pid, number)


def watch_end(process: Process, on_end: Callable[[], None]) -> Callable[[], None]:
    """Call `on_end` once, on the event loop, when a process has ended.

    A child is not reaped yet then. Returns a function that stops watching.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return watch_descriptor(process, on_end)
    return watch_polling(process, on_end)


def watch_descriptor(
    process: Process, on_end: Callable[[], None]
) -> Callable[[], None]:
    """`watch_end` by a process descriptor; raises `OSError` where there are none."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return loop.call_soon(on_end).cancel
    if identify(process.pid) != process:  # it ended, and its PID was used again
        os.close(descriptor)
        return loop.call_soon(on_end).cancel

    def stop() -> None:
        nonlocal descriptor
        if descriptor >= 0:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            descriptor = -1

    def ended() -> None:
        stop()
        on_end()

    loop.add_reader(descriptor, ended)
    return stop


def watch_polling(process: Process, on_end: Callable[[], None]) -> Callable[[], None]:
    """`watch_end` by polling."""
    loop = asyncio.get_running_loop()

    is_stopped = False

    def poll() -> None:
        if is_stopped:
            return
        if is_alive(process):
            loop.call_later(POLL_SECONDS, poll)
        else:
            on_end()

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True

    loop.call_soon(poll)
    return stop


class RunningCommand:
    """A command that runs in a process group of its own, and its output.

    Background processes that it leaves go on, as in a container; their output is lost.

    Args:
        command: the program and its arguments.
        env: its environment.
        cwd: its working directory.
        on_end: called when it has ended and was reaped.
        number: the container's number, see `descendants`; 0 for none.

    Raises:
        ContainerRuntimeError: the program cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        on_end: Callable[[RunningCommand], None],
        number: int = 0,
    ) -> None:
        self._on_end = on_end
        self._stdout, self._stderr = OutputPipe(), OutputPipe()
        try:
            self._process = spawn(
                command,
                env=env,
                cwd=cwd,
                stdout=self._stdout.write_end,
                stderr=self._stderr.write_end,
                number=number,
            )
        except BaseException:
            self._stdout.close()
            self._stderr.close()
            raise
        finally:
            os.close(self._stdout.write_end)
            os.close(self._stderr.write_end)
        self._exit_code = UNKNOWN_EXIT_CODE
        self._has_ended = asyncio.Event()
        watch_end(self._process, self._reap)

    async def wait(self, limit_seconds: int) -> ExecResult:
        """Wait for the end; the command is killed on timeout and on cancellation.

        Raises:
            ExecTimeoutError: it ran longer than `limit_seconds` (0: no limit).
        """
        try:
            async with asyncio.timeout(limit_seconds or None):
                await self._has_ended.wait()
        except TimeoutError:
            raise ExecTimeoutError(
                f"command timed out after {limit_seconds}s", killed=True
            ) from None
        finally:
            self.kill()
            self._stdout.close()
            self._stderr.close()
        return ExecResult(
            self._exit_code, bytes(self._stdout.kept), bytes(self._stderr.kept)
        )

    def kill(self) -> None:
        """Kill it and its process group, unless it has ended already."""
        if not self._has_ended.is_set():
            kill_group(self._process.pid)

    async def ended(self) -> None:
        """Return when it has ended."""
        await self._has_ended.wait()

    def _reap(self) -> None:
        exit_code = reap(self._process)
        self._exit_code = UNKNOWN_EXIT_CODE if exit_code is None else exit_code
        self._has_ended.set()
        self._on_end(self)


class OutputPipe:
    """A pipe whose output is read to its end; `kept` is its beginning."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe()
        self._is_open = True
        self.kept = bytearray()
        os.set_blocking(self._read_end, False)
        self._resume()

    def close(self) -> None:
        """Read what is in the pipe now, and close it."""
        for _ in range(LAST_CHUNKS):
            if not self._read():
                break
        self._close()

    def _resume(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._read_end, self._on_readable)

    def _on_readable(self) -> None:
        """Read once; pause between reads once nothing more is kept."""
        if self._read() and len(self.kept) >= KEPT_BYTES:
            self._loop.remove_reader(self._read_end)
            self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _read(self) -> bool:
        """Read once; return whether there was something."""
        if not self._is_open:
            return False
        try:
            chunk = os.read(self._read_end, CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            self._close()
        self.kept += chunk[: KEPT_BYTES - len(self.kept)]
        return bool(chunk)

    def _close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
