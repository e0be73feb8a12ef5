"""The processes of this machine: number, parent, names, and when they began."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from probetui.runtimes.process_identity import PROC, START_TIME, ZOMBIE_STATES

LSTART_WORDS = 5
"""How many words `ps` has for an instant: `Fri Nov 20 13:33:33 2026`."""

LSTART = "%a %b %d %H:%M:%S %Y"


class Listed(NamedTuple):
    """A process that runs; the first of `names` is the one to show.

    Names are its program's, as it was called and as the system knows it, and that of
    a script which it runs.
    """

    pid: int
    parent: int
    names: tuple[str, ...]
    started_at: datetime


def list_processes() -> Iterator[Listed]:
    """Yield the processes that run, those of the kernel left out."""
    if sys.platform == "linux":
        yield from _from_proc()
    else:
        yield from parse_ps(_ask_ps().splitlines())


def _from_proc() -> Iterator[Listed]:
    for name in os.listdir(PROC):  # noqa: PTH208  # hundreds of names, no paths
        if name.isdecimal() and (found := read_proc(PROC / name)):
            yield found


def read_proc(folder: Path) -> Listed | None:
    """Read a process's folder; None for one that has ended or is the kernel's."""
    try:
        stat = (folder / "stat").read_bytes()
        words = (folder / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return None
    begin, end = stat.index(b"(") + 1, stat.rindex(b")")
    fields = stat[end + 2 :].split()
    if fields[0].decode() in ZOMBIE_STATES or not words[0]:
        return None
    command = [each.decode("utf-8", "surrogateescape") for each in words]
    name = stat[begin:end].decode("utf-8", "surrogateescape")
    ticks = int(fields[START_TIME])
    since_boot = timedelta(seconds=ticks / os.sysconf("SC_CLK_TCK"))
    return Listed(
        int(folder.name), int(fields[1]), _names(command, name), _booted() + since_boot
    )


@lru_cache(maxsize=1)
def _booted() -> datetime:
    """Return when this machine was started: births are counted from then."""
    for line in (PROC / "stat").read_text("ascii").splitlines():
        name, _, value = line.partition(" ")
        if name == "btime":
            return datetime.fromtimestamp(int(value), UTC)
    return datetime.fromtimestamp(0, UTC)


def parse_ps(lines: Iterable[str]) -> Iterator[Listed]:
    """Yield the processes in the output of `ps -o pid=,ppid=,lstart=,command=`."""
    for line in lines:
        words = line.split()
        if len(words) <= 2 + LSTART_WORDS:
            continue
        pid, parent, *rest = words
        written = " ".join(rest[:LSTART_WORDS])
        # It is written in the time of this machine, without saying which that is.
        started_at = datetime.strptime(written, LSTART).astimezone()
        names = _names(rest[LSTART_WORDS:], "")
        yield Listed(int(pid), int(parent), names, started_at.astimezone(UTC))


def _ask_ps() -> str:
    return subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid=,lstart=,command="],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C"},
    ).stdout.decode("utf-8", "surrogateescape")


def _names(command: list[str], known_as: str) -> tuple[str, ...]:
    names = [Path(command[0]).name, known_as]
    if len(command) > 1 and not command[1].startswith("-"):
        names.append(Path(command[1]).name)
    return tuple(dict.fromkeys(each for each in names if each))
