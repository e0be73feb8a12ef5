"""Where containers listen, by what Linux tells of their network in `/proc`.

Nothing is run in a container for it, which would be seen there. Whoever may run
containers may look: the tables of another network are readable to all. psutil would
do the same work for this machine's own network only; it cannot look into another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import NamedTuple

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Endpoint, Extent, Listeners

PROC = Path("/proc")

_LISTENS = "0A"
"""The state of a socket that listens: TCP_LISTEN in the kernel's net/tcp_states.h."""

_TABLES = ("tcp", "tcp6")
_ADDRESS, _STATE, _INODE = 1, 3, 9
"""Columns of a table, see proc(5)."""

_WORD_DIGITS = 8
"""An IPv4 address is one word, an IPv6 address four."""


class Socket(NamedTuple):
    """A socket that listens; its inode tells which process has it."""

    endpoint: Endpoint
    inode: int


def parse_table(text: str) -> Iterator[Socket]:
    """Yield the sockets that listen, of the text of a `/proc/<pid>/net/tcp` or `tcp6`.

    The kernel lists them before all others, so that no further line is looked at.
    """
    for line in text.splitlines()[1:]:
        columns = line.split()
        if columns[_STATE] != _LISTENS:
            return
        address, _, port = columns[_ADDRESS].partition(":")
        yield Socket(Endpoint(_address(address), int(port, 16)), int(columns[_INODE]))


def _address(digits: str) -> str:
    """Return an address; it is written as words of 32 bits in this machine's order."""
    packed = b"".join(
        int(digits[at : at + _WORD_DIGITS], 16).to_bytes(4, sys.byteorder)
        for at in range(0, len(digits), _WORD_DIGITS)
    )
    if len(digits) == _WORD_DIGITS:
        return str(IPv4Address(packed))
    address = IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def listeners_in_network_of(process_id: int, proc: Path = PROC) -> Listeners:
    """Return who listens in the network that a process is in.

    Raises:
        ContainerRuntimeError: it cannot be seen from here.
    """
    folder = proc / str(process_id) / "net"
    try:
        is_ours = folder.joinpath("tcp").samefile(proc / "self" / "net" / "tcp")
        sockets = _sockets(folder)
    except OSError as error:
        raise _not_seen(error) from error
    extent = Extent.MACHINE if is_ours else Extent.POD
    return Listeners(_endpoints(sockets), extent)


def listeners_of(process_ids: Iterable[int], proc: Path = PROC) -> Listeners:
    """Return who listens among processes of this machine's own network.

    Raises:
        ContainerRuntimeError: it cannot be seen from here.
    """
    inodes: set[int] = set()
    try:
        for each in process_ids:
            inodes.update(_inodes(proc / str(each) / "fd"))
        sockets = _sockets(proc / "self" / "net")
    except OSError as error:
        raise _not_seen(error) from error
    own = [each for each in sockets if each.inode in inodes]
    return Listeners(_endpoints(own), Extent.CONTAINER)


def _sockets(folder: Path) -> list[Socket]:
    found: list[Socket] = []
    for name in _TABLES:
        try:
            text = (folder / name).read_text("ascii")
        except FileNotFoundError:
            if name == _TABLES[0]:
                raise
            continue  # a kernel without IPv6
        found += parse_table(text)
    return found


def _inodes(folder: Path) -> Iterator[int]:
    """Yield the sockets of a process; none of one that has ended."""
    try:
        descriptors = list(folder.iterdir())
    except FileNotFoundError:
        return
    for each in descriptors:
        try:
            kind, _, rest = str(each.readlink()).partition(":[")
        except FileNotFoundError:
            continue  # closed meanwhile
        if kind == "socket":
            yield int(rest.rstrip("]"))


def _endpoints(sockets: Iterable[Socket]) -> tuple[Endpoint, ...]:
    endpoints = {each.endpoint for each in sockets}
    return tuple(sorted(endpoints, key=lambda each: (each.port, each.address)))


def _not_seen(error: OSError) -> ContainerRuntimeError:
    return ContainerRuntimeError(
        f"its network cannot be seen from here: {error.strerror}"
    )
