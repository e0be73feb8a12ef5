"""Identity of processes: a PID is reused, a PID with its start time is not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from probetui.untrusted_files import read_kernel_file

PROC = Path("/proc")
ZOMBIE_STATES = frozenset({"Z", "X"})
STOPPED_STATE = "T"
START_TIME = 19
"""Index of `starttime` in /proc/<pid>/stat, counted from the state (proc(5))."""


class Process(Struct, frozen=True):
    """A process: its PID and its start time.

    `born` is the start time as the system writes it, only to be compared.
    """

    pid: int
    born: str


def identify(pid: int) -> Process | None:
    """Return the process that has a PID now, None if there is none.

    A zombie still has its PID.
    """
    state = _read_state(pid)
    return Process(pid, state[1]) if state else None


def is_alive(process: Process) -> bool:
    """Return whether a process runs; a zombie does not."""
    state = _read_state(process.pid)
    return (
        state is not None and state[0] not in ZOMBIE_STATES and state[1] == process.born
    )


def is_stopped(process: Process) -> bool:
    """Return whether a process is stopped by a signal."""
    state = _read_state(process.pid)
    return state == (STOPPED_STATE, process.born)


def _read_state(pid: int) -> tuple[str, str] | None:
    """Return the state letter and the start time of the process with a PID."""
    return _read_proc(pid) if sys.platform == "linux" else _ask_ps(pid)


def _read_proc(pid: int) -> tuple[str, str] | None:
    try:
        stat = read_kernel_file(PROC / str(pid) / "stat")
    except OSError:
        return None
    # The name in parentheses may contain blanks and parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return fields[0].decode(), f"{_boot()}/{fields[START_TIME].decode()}"


@lru_cache(maxsize=1)
def _boot() -> str:
    """Return the ID of this boot, from which start times are counted."""
    with contextlib.suppress(OSError):
        boot_id = PROC / "sys/kernel/random/boot_id"
        return read_kernel_file(boot_id).decode("ascii").strip()
    return ""


def _ask_ps(pid: int) -> tuple[str, str] | None:
    answer = subprocess.run(  # noqa: S603  # our own words and a number
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
    ).stdout.decode()
    state, _, born = answer.strip().partition(" ")
    return (state[0], born.strip()) if state else None


def kill_marked(marker: str) -> None:
    """Kill every process that has `marker` (NAME=value) in its initial environment.

    As at the end of a PID namespace, that includes processes in process groups and
    sessions of their own. Without /proc nothing is done.
    """
    killed: set[int] = set()
    while fresh := set(_kill_marked_once(marker.encode(), killed)):
        killed |= fresh  # what they forked meanwhile is found in the next round


def marked(marker: str) -> Iterator[int]:
    """Yield the PID of every process that was started with `marker` (NAME=value).

    Only those whose environment may be read; none without /proc.
    """
    if sys.platform == "linux":
        for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
            if name.isdecimal() and _has(marker.encode(), name):
                yield int(name)


def _kill_marked_once(marker: bytes, killed: set[int]) -> Iterator[int]:
    if sys.platform != "linux":
        return
    for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
        if name.isdecimal() and int(name) not in killed and _has(marker, name):
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(int(name))
                try:
                    # Checked again: from now on the PID cannot be reused.
                    if _has(marker, name):
                        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                        yield int(name)
                finally:
                    os.close(descriptor)


def _has(marker: bytes, pid: str) -> bool:
    try:
        environ = read_kernel_file(PROC / pid / "environ")
    except OSError:  # it has ended, or is another user's
        return False
    return marker in environ.split(b"\0")
