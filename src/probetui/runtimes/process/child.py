"""Starting programs and learning of their end, without a thread per process."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from probetui.descriptor_limit import original_descriptor_limit
from probetui.errors import ContainerRuntimeError
from probetui.runtimes.missing import refused_command
from probetui.runtimes.process.descendants import numbering
from probetui.runtimes.process_identity import PROC, Process, identify, is_alive

POLL_SECONDS = 0.05
SIGNAL_EXIT_CODE = 128
"""What the number of a deadly signal is added to, as shells and runtimes do."""

UNKNOWN_EXIT_CODE = 255
"""What containerd answers for a container whose end nobody saw."""

_SIGNAL_SETS = re.compile(rb"^Sig(Blk|Cgt):\s*([0-9a-f]+)$", re.MULTILINE)
"""The signals that a process blocks and those it handles (proc_pid_status(5))."""

_SIGNALFD = re.compile(rb"^sigmask:\s*([0-9a-f]+)$", re.MULTILINE)
"""The signals that are read from a descriptor (proc_pid_fdinfo(5))."""

_WAITS_FOR_SIGNALS = b"sigtimedwait"
"""Where a thread is in the kernel during sigwait(3)."""


def spawn(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdout: int,
    stderr: int,
    number: int = 0,
) -> Process:
    """Start a program in a session of its own, which bears a container's number.

    The caller reaps it. Text is handed over as UTF-8 with surrogateescape. Raises
    `ContainerRuntimeError` when it cannot be started.
    """
    if not command:
        raise ContainerRuntimeError("no command specified")
    try:
        with original_descriptor_limit(), numbering(number):
            child = subprocess.Popen(  # noqa: S603  # what the user's manifest asks for
                [_bytes(each) for each in command],
                env={_bytes(name): _bytes(value) for name, value in env.items()},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        reason = _reason(error, command[0], cwd)
        raise refused_command(f"unable to start container process: {reason}") from error
    # Popen would warn of a child that outlives it and reap it at its own time.
    child.returncode = 0
    process = identify(child.pid)
    if process is None:
        kill_group(child.pid)
        os.waitpid(child.pid, 0)
        raise ContainerRuntimeError("processes of this machine cannot be seen")
    return process


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _reason(error: OSError | ValueError, program: str, cwd: Path) -> str:
    """Say in a container runtime's words why a program did not start."""
    if isinstance(error, OSError) and error.filename == cwd:
        return f'chdir to cwd ("{cwd}"): {_words(error)}'
    if not isinstance(error, OSError):
        return f'exec: "{program}": {error}'
    if error.errno == errno.ENOENT and "/" not in program:
        return f'exec: "{program}": executable file not found in $PATH'
    if error.errno == errno.ENOENT:
        return f'exec: "{program}": stat {program}: {_words(error)}'
    return f'exec: "{program}": {_words(error)}'


def _words(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else str(error)


def reap(process: Process) -> int | None:
    """Return the exit code of a child that has ended, None if it is not ours to know.

    A deadly signal's number is added to 128. The process ID is free afterwards.
    """
    if identify(process.pid) != process:  # perhaps another child has the number now
        return None
    try:
        reaped, status = os.waitpid(process.pid, os.WNOHANG)
    except ChildProcessError:
        return None
    if not reaped:
        return None
    exit_code = os.waitstatus_to_exitcode(status)
    return exit_code if exit_code >= 0 else SIGNAL_EXIT_CODE - exit_code


def send(process: Process, number: signal.Signals) -> None:
    """Send a signal to a process; one that has ended is left alone."""
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def would_reach_first(process: Process, number: signal.Signals) -> bool | None:
    """Tell whether a signal would reach a process if it were a container's first one.

    From process 1 of a PID namespace the kernel keeps every signal but SIGKILL and
    SIGSTOP that would have its default effect (pid_namespaces(7)); it gets those that
    it handles or waits for. None is not known yet: the signal is blocked, as it is for
    a moment in a shell that starts a program, and would be decided about later. Where
    nothing can be seen, the answer is yes.
    """
    folder = PROC / str(process.pid)
    sets = dict(_SIGNAL_SETS.findall(_read(folder / "status")))
    if not sets or _has(sets[b"Cgt"], number):
        return True
    if any(_WAITS_FOR_SIGNALS in _read(each) for each in folder.glob("task/*/wchan")):
        return True
    for each in folder.glob("fdinfo/*"):
        if any(_has(read, number) for read in _SIGNALFD.findall(_read(each))):
            return True
    return None if _has(sets[b"Blk"], number) else False


def _has(mask: bytes, number: signal.Signals) -> bool:
    return bool(int(mask, 16) >> (number - 1) & 1)


def _read(file: Path) -> bytes:
    """Return what is in a file; nothing if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def kill_group(leader: int) -> None:
    """Kill a process group; only while its leader lives or has not been reaped."""
    # Some systems refuse where all that is left are processes that have ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def send_group(leader: Process, number: signal.Signals) -> None:
    """Send a signal to a process group whose leader is alive."""
    if is_alive(leader):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader.pid, number)


def watch_end(process: Process, on_end: Callable[[], None]) -> Callable[[], None]:
    """Call back once, on the event loop, when a process has ended.

    It may be a child, then it is not reaped yet, or any other process. Returns what
    ends the watch.
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
    if identify(process.pid) != process:  # ended, and the number means another one
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
    """`watch_end` by looking again and again."""
    loop = asyncio.get_running_loop()

    is_stopped = False

    def look() -> None:
        if is_stopped:
            return
        if is_alive(process):
            loop.call_later(POLL_SECONDS, look)
        else:
            on_end()

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True

    loop.call_soon(look)
    return stop
