"""The processes of a container, where its runtime is on this machine.

A runtime says the number of a container's main process to who asks for verbose answers.
It is the number on the runtime's machine, which need not be this one, though its socket
is here. So a process counts only if its control group bears the container's ID: the
runtimes name the groups after the containers.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from probetui.errors import ContainerRuntimeError

PROC = Path("/proc")
STOPPED = b"T"
"""The state of a process that was stopped by a signal (proc_pid_stat(5))."""


def verbose(info: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what a runtime tells besides; containerd and CRI-O do it in one JSON."""
    try:
        found = json.loads(info.get("info", ""))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def main_process(info: Mapping[str, str], cri_id: str) -> int:
    """Return the number of the main process of a container, or of a sandbox.

    Raises `ContainerRuntimeError` where it is not known, or not on this machine.
    """
    pid = verbose(info).get("pid")
    if not isinstance(pid, int) or pid <= 0:
        raise ContainerRuntimeError("the runtime does not say which process it is")
    if not belongs(pid, cri_id):
        raise ContainerRuntimeError(
            f"process {pid} of this machine is not the container's: the runtime seems "
            "to run on another machine"
        )
    return pid


def groups(pid: int) -> Iterator[tuple[str, str]]:
    """Yield the control groups of a process: controllers, empty for all, and path."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            yield controllers, path


def belongs(pid: int, cri_id: str) -> bool:
    """Tell whether a process is one of a container's."""
    return any(cri_id in path for _, path in groups(pid))


def processes_of(cri_id: str) -> Iterator[int]:
    """Yield the processes of a container, those too that others forked in it."""
    for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
        if name.isdecimal() and belongs(int(name), cri_id):
            yield int(name)


def is_stopped(pid: int) -> bool:
    """Tell whether a process stands still already; one that is gone does."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return True
    # The name in brackets may hold blanks and brackets of its own.
    return stat[stat.rindex(b")") + 2 :].startswith(STOPPED)


def send(pid: int, cri_id: str, number: signal.Signals) -> bool:
    """Send a signal to a process of a container; False if that has ended.

    Raises `OSError` where it is not allowed.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # Asked again: now the number cannot come to mean another one.
        if not belongs(pid, cri_id):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True
