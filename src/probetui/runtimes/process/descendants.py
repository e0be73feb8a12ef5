"""Descendants of a process container, also those that left its session.

Whatever a container starts has the container's number as its soft RLIMIT_RTTIME: other
than variables, groups and sessions a resource limit is not lost by `env -i`, setsid(2)
or the death of a parent, and everybody may read it. The number is a limit of thousands
of years on something that hardly any program uses. What sets this limit to another
value is not found any more.

Nothing is found where there is no /proc.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import secrets
import signal
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from probetui.runtimes.process_identity import PROC, Process, identify, is_alive

LOOKS = 800
"""A program that does nothing else starts the next one some times meanwhile."""

_FIRST_NUMBER = 1 << 61
_LIMIT = re.compile(rb"^Max realtime timeout +(\d+) ", re.MULTILINE)
_RESOURCE: int | None = getattr(resource, "RLIMIT_RTTIME", None)


class Unkillable(NamedTuple):
    """A process that could not be killed, and why."""

    process: Process
    reason: str


def new_number() -> int:
    """Return a number that nothing bears, 0 where processes cannot be found by one."""
    if (
        _RESOURCE is None
        or resource.getrlimit(_RESOURCE)[1] != resource.RLIM_INFINITY
        or not (PROC / "self/limits").exists()
    ):
        return 0
    return _FIRST_NUMBER + secrets.randbelow(_FIRST_NUMBER)


@contextlib.contextmanager
def numbering(number: int) -> Iterator[None]:
    """Have processes that are started in the block bear a number; 0 is none.

    This process bears it as well for that long: whoever kills leaves it out.
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


def numbered(number: int, spared: Collection[Process]) -> Iterator[Process]:
    """Yield the processes that run and bear a number, as they are found."""
    if sys.platform != "linux" or number < _FIRST_NUMBER:
        return
    pids = (int(name) for name in os.listdir(PROC) if name.isdecimal())  # noqa: PTH208  # hundreds of names, no paths
    # The youngest first: one that starts the next and ends is found before it has.
    yield from _bearing(number, sorted(pids, reverse=True), spared)


def kill_numbered(
    number: int, spared: Collection[Process], *, looks: int = LOOKS
) -> tuple[Unkillable, ...]:
    """Kill all that bear a number.

    This is the end that a PID namespace brings to all that are in it. All are stopped
    first, so that nothing starts the next while others are killed.

    Args:
        number: what they bear.
        spared: processes that start some of them, and bear it for a moment.
        looks: how often it is looked which processes begin, once none was found any
            more: one that only starts the next may be in no list.

    Returns:
        Those that the system does not let us kill.
    """
    found: dict[Process, str] = {}

    def stop(processes: Iterable[Process]) -> bool:
        before = len(found)
        for process in processes:
            if process not in found:
                found[process] = _send(process, number, signal.SIGSTOP)
        return len(found) > before

    while stop(numbered(number, spared)) or stop(_new(number, spared, looks)):
        pass
    for process in found:
        found[process] = _send(process, number, signal.SIGKILL)
    return tuple(Unkillable(it, error) for it, error in found.items() if error)


def _bearing(
    number: int, pids: Iterable[int], spared: Collection[Process]
) -> Iterator[Process]:
    for pid in pids:
        if _number_of(pid) == number:
            process = identify(pid)
            if process and process not in spared and is_alive(process):
                yield process


def _new(number: int, spared: Collection[Process], looks: int) -> Iterator[Process]:
    """Yield the first process that bears a number of those that begin for a while."""
    if sys.platform != "linux" or number < _FIRST_NUMBER:
        return
    last = _last_pid()
    for _ in range(looks):
        before, last = last, _last_pid()
        for process in _bearing(number, range(last, before, -1), spared):
            yield process
            return


def _last_pid() -> int:
    """Return the number that was given to a process last (proc(5), loadavg)."""
    return int((PROC / "loadavg").read_bytes().split()[-1])


def _send(process: Process, number: int, what: signal.Signals) -> str:
    """Signal a process that bears a number; return why that cannot be, or nothing."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return ""
    try:
        # Asked again: from now on the number of the process means no other one.
        if identify(process.pid) == process and _number_of(process.pid) == number:
            signal.pidfd_send_signal(descriptor, what)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(descriptor)
    return ""


def _number_of(pid: int) -> int | None:
    """Return the soft limit that a process has, None for none or if it has ended."""
    try:
        found = _LIMIT.search((PROC / str(pid) / "limits").read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None
