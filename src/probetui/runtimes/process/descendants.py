"""Descendants of a container's process, found by a number in a resource limit.

Every process that a container starts has the container's number as its soft
RLIMIT_RTTIME. Unlike environment variables, process groups and sessions, a limit is
not lost by `env -i`, setsid(2) or the death of a parent, and everybody may read it. As
a limit, the number is thousands of years of something that hardly any program uses. A
process that sets this limit itself is not found any more.

Without /proc nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import sys
from collections.abc import Collection, Iterable, Iterator
from random import SystemRandom

from msgspec import Struct

from probetui.runtimes.process_identity import PROC, Process, identify, is_alive
from probetui.untrusted_files import read_kernel_file

LOOKS = 800
"""How often to check for new processes: long enough for a program that only starts
the next one to do so a few times."""

_FIRST_NUMBER = 1 << 61
_LIMIT = re.compile(rb"^Max realtime timeout +(\d+) ", re.MULTILINE)
_RESOURCE: int | None = getattr(resource, "RLIMIT_RTTIME", None)


class UnkillableProcess(Struct, frozen=True):
    """A process that could not be killed, and why."""

    process: Process
    reason: str


def new_number() -> int:
    """Return an unused number, 0 where processes cannot be found by it."""
    if (
        _RESOURCE is None
        or resource.getrlimit(_RESOURCE)[1] != resource.RLIM_INFINITY
        or not (PROC / "self/limits").exists()
    ):
        return 0
    return _FIRST_NUMBER + SystemRandom().randrange(_FIRST_NUMBER)


@contextlib.contextmanager
def numbering(number: int) -> Iterator[None]:
    """Set the number that processes started in the block inherit; 0 is none.

    This process has it as well meanwhile: `spared` keeps it from being killed.
    """
    if number < _FIRST_NUMBER or _RESOURCE is None:
        yield
        return
    soft, hard = resource.getrlimit(_RESOURCE)
    resource.setrlimit(_RESOURCE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(_RESOURCE, (soft, hard))


def numbered(
    numbers: Collection[int], spared: Collection[Process]
) -> Iterator[tuple[int, Process]]:
    """Yield the running processes with one of some numbers, as they are found."""
    usable = _usable(numbers)
    if not usable:
        return
    pids = (int(name) for name in os.listdir(PROC) if name.isdecimal())  # noqa: PTH208  # hundreds of names, no paths
    # Youngest first: one that starts the next and exits is found before it exits.
    yield from _bearing(usable, sorted(pids, reverse=True), spared)


def kill_numbered(
    numbers: Collection[int], spared: Collection[Process], *, looks: int = LOOKS
) -> dict[int, tuple[UnkillableProcess, ...]]:
    """Kill all processes with some numbers, as the end of a PID namespace does.

    All are stopped first, so that none starts another while others are killed. It
    reads a file of every process in /proc: 25 microseconds each, however many numbers
    there are.

    Args:
        numbers: theirs.
        spared: processes that start some of them, and have a number for a moment.
        looks: how often to check for new processes once none is found any more: one
            that only starts the next and exits may be in no list.

    Returns:
        The processes that the system does not let us kill, by their number.
    """
    refusals: dict[tuple[int, Process], str] = {}

    def stop(processes: Iterable[tuple[int, Process]]) -> bool:
        before = len(refusals)
        for number, process in processes:
            if (number, process) not in refusals:
                error = _send(process, number, signal.SIGSTOP)
                refusals[number, process] = error
        return len(refusals) > before

    while stop(numbered(numbers, spared)) or stop(_new(numbers, spared, looks)):
        pass
    for number, process in refusals:
        refusals[number, process] = _send(process, number, signal.SIGKILL)
    refused: dict[int, list[UnkillableProcess]] = {}
    for (number, process), error in refusals.items():
        if error:
            refused.setdefault(number, []).append(UnkillableProcess(process, error))
    return {number: tuple(processes) for number, processes in refused.items()}


def _usable(numbers: Collection[int]) -> frozenset[int]:
    """Return the numbers by which processes can be found here."""
    if sys.platform != "linux":
        return frozenset()
    return frozenset(number for number in numbers if number >= _FIRST_NUMBER)


def _bearing(
    numbers: Collection[int], pids: Iterable[int], spared: Collection[Process]
) -> Iterator[tuple[int, Process]]:
    for pid in pids:
        number = _number_of(pid)
        if number is not None and number in numbers:
            process = identify(pid)
            if process and process not in spared and is_alive(process):
                yield number, process


def _new(
    numbers: Collection[int], spared: Collection[Process], looks: int
) -> Iterator[tuple[int, Process]]:
    """Yield the first process with one of the numbers among those started meanwhile."""
    usable = _usable(numbers)
    if not usable:
        return
    last = _last_pid()
    for _ in range(looks):
        before, last = last, _last_pid()
        for bearer in _bearing(usable, range(last, before, -1), spared):
            yield bearer
            return


def _last_pid() -> int:
    """Return the PID that was allocated last (proc(5), loadavg)."""
    return int(read_kernel_file(PROC / "loadavg").split()[-1])


def _send(process: Process, number: int, signal_to_send: signal.Signals) -> str:
    """Signal a process with a number; return why that fails, empty if it does not."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return ""
    try:
        # Checked again: from now on its PID cannot become another process's.
        if identify(process.pid) == process and _number_of(process.pid) == number:
            signal.pidfd_send_signal(descriptor, signal_to_send)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(descriptor)
    return ""


def _number_of(pid: int) -> int | None:
    """Return the soft limit of a process, None without one or if it has ended."""
    try:
        match = _LIMIT.search(read_kernel_file(PROC / str(pid) / "limits"))
    except OSError:
        return None
    return int(match[1]) if match else None
