"""The processes of a container whose runtime is on this machine.

A verbose response has the PID of a container's main process on the runtime's machine,
which need not be this one, though its socket is here. So a process counts only if the
name of its cgroup contains the container's ID, as all runtimes name them.
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
from probetui.untrusted_files import read_kernel_file

PROC = Path("/proc")
STOPPED = b"T"
"""The state of a process that was stopped by a signal (proc_pid_stat(5))."""


def verbose(info: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the verbose part of a response, empty if it is not JSON."""
    try:
        details = json.loads(info.get("info", ""))
    except ValueError:
        return {}
    return details if isinstance(details, dict) else {}


def main_pid(info: Mapping[str, str], cri_id: str) -> int:
    """Return the PID of the main process of a container or sandbox.

    Raises `ContainerRuntimeError` if it is unknown or not on this machine.
    """
    pid = verbose(info).get("pid")
    if not isinstance(pid, int) or pid <= 0:
        raise ContainerRuntimeError("the runtime does not report the PID")
    if not is_in_container(pid, cri_id):
        raise ContainerRuntimeError(
            f"process {pid} of this machine is not the container's: the runtime seems "
            "to run on another machine"
        )
    return pid


def list_cgroups(pid: int) -> Iterator[tuple[str, str]]:
    """Yield the cgroups of a process: controllers (empty for v2) and path."""
    with contextlib.suppress(OSError):
        text = os.fsdecode(read_kernel_file(PROC / str(pid) / "cgroup"))
        for line in text.splitlines():
            _, controllers, path = line.split(":", 2)
            yield controllers, path


def is_in_container(pid: int, cri_id: str) -> bool:
    """Return whether a process is in a container."""
    return any(cri_id in path for _, path in list_cgroups(pid))


def list_pids(cri_id: str) -> Iterator[int]:
    """Yield the PIDs of a container, those of exec sessions included."""
    for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
        if name.isdecimal() and is_in_container(int(name), cri_id):
            yield int(name)


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped or gone."""
    try:
        stat = read_kernel_file(PROC / str(pid) / "stat")
    except OSError:
        return True
    # The name in parentheses may contain spaces and parentheses.
    return stat[stat.rindex(b")") + 2 :].startswith(STOPPED)


def send_signal(pid: int, cri_id: str, number: signal.Signals) -> bool:
    """Send a signal to a process of a container; return False if it has ended.

    Raises `OSError` if that is not permitted.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        # Checked again: with the descriptor open, the PID cannot be reused.
        if not is_in_container(pid, cri_id):
            return False
        signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True
