"""Which process a number means: process IDs are used again, births are not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PROC = Path("/proc")
ZOMBIE_STATES = frozenset({"Z", "X"})
STOPPED_STATE = "T"
START_TIME = 19
"""Index of `starttime` in /proc/<pid>/stat, counted from the state (proc(5))."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process for good: its number and the moment it was born.

    `born` is the system's own writing of it, only ever compared.
    """

    pid: int
    born: str


def identify(pid: int) -> Process | None:
    """Return which process has that number now, None if there is none.

    A process that has ended and waits for its parent still has its number.
    """
    found = _look(pid)
    return Process(pid, found[1]) if found else None


def is_alive(process: Process) -> bool:
    """Tell whether a process still runs; one that waits for its parent does not."""
    found = _look(process.pid)
    return (
        found is not None and found[0] not in ZOMBIE_STATES and found[1] == process.born
    )


def is_stopped(process: Process) -> bool:
    """Tell whether a process stands still because of a signal."""
    found = _look(process.pid)
    return found == (STOPPED_STATE, process.born)


def _look(pid: int) -> tuple[str, str] | None:
    """Return state letter and birth of the process with that number."""
    return _look_in_proc(pid) if sys.platform == "linux" else _ask_ps(pid)


def _look_in_proc(pid: int) -> tuple[str, str] | None:
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name in brackets may hold blanks and brackets of its own.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return fields[0].decode(), f"{_boot()}/{fields[START_TIME].decode()}"


@lru_cache(maxsize=1)
def _boot() -> str:
    """Return what sets this boot apart; births are counted from it."""
    with contextlib.suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
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
    """Kill every process that was born with `marker` (NAME=value) in its environment.

    This is the end that a PID namespace brings to all that are in it, also to those
    that left for a process group or session of their own. Where there is no /proc
    nothing is done.
    """
    killed: set[int] = set()
    while fresh := set(_kill_marked_once(marker.encode(), killed)):
        killed |= fresh  # what they have forked meanwhile is found in the next round


def marked(marker: str) -> Iterator[int]:
    """Yield every process that was born with `marker` (NAME=value), as it is found.

    Only those whose environment may be read; none where there is no /proc.
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
                    # Asked again: now the number cannot come to mean another one.
                    if _has(marker, name):
                        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                        yield int(name)
                finally:
                    os.close(descriptor)


def _has(marker: bytes, pid: str) -> bool:
    try:
        environ = (PROC / pid / "environ").read_bytes()
    except OSError:  # ended, or somebody else's
        return False
    return marker in environ.split(b"\0")
