"""Where containers listen, read from /proc/<pid>/net.

Nothing is run in a container for that. The tables of other network namespaces are
readable to every user. psutil reads only those of this machine's own network.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address
from operator import attrgetter
from pathlib import Path

from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import Listeners, ListenerScope, SocketAddress
from probetui.untrusted_files import read_kernel_file

PROC = Path("/proc")

_LISTENS = "0A"
"""The state of a listening socket: TCP_LISTEN in the kernel's net/tcp_states.h."""

_TABLES = ("tcp", "tcp6")
_ADDRESS, _STATE, _INODE = 1, 3, 9
"""Columns of a table, see proc(5)."""

_WORD_DIGITS = 8
"""An IPv4 address is one word, an IPv6 address four."""


class ListeningSocket(Struct, frozen=True):
    """A listening socket; its inode identifies the process that has it."""

    endpoint: SocketAddress
    inode: int


def parse_table(text: str) -> Iterator[ListeningSocket]:
    """Yield the listening sockets in the text of `/proc/<pid>/net/tcp` or `tcp6`.

    The kernel lists them before all others, so that the rest is not parsed.
    """
    for line in text.splitlines()[1:]:
        columns = line.split()
        if columns[_STATE] != _LISTENS:
            return
        address, _, port = columns[_ADDRESS].partition(":")
        yield ListeningSocket(
            SocketAddress(_address(address), int(port, 16)), int(columns[_INODE])
        )


def _address(digits: str) -> str:
    """Parse an address, written as words of 32 bits in this machine's byte order."""
    packed = b"".join(
        int(digits[at : at + _WORD_DIGITS], 16).to_bytes(4, sys.byteorder)
        for at in range(0, len(digits), _WORD_DIGITS)
    )
    if len(digits) == _WORD_DIGITS:
        return str(IPv4Address(packed))
    address = IPv6Address(packed)
    return str(address.ipv4_mapped or address)


def listeners_in_network_of(process_id: int, proc: Path = PROC) -> Listeners:
    """Return the listeners in the network namespace of a process.

    Raises:
        ContainerRuntimeError: it is not visible from here.
    """
    folder = proc / str(process_id) / "net"
    try:
        is_ours = folder.joinpath("tcp").samefile(proc / "self" / "net" / "tcp")
        sockets = _sockets(folder)
    except OSError as error:
        raise _not_visible(error) from error
    extent = ListenerScope.MACHINE if is_ours else ListenerScope.POD
    return Listeners(_endpoints(sockets), extent)


def listeners_of(process_ids: Iterable[int], proc: Path = PROC) -> Listeners:
    """Return the listeners of processes in this machine's own network namespace.

    Raises:
        ContainerRuntimeError: they are not visible from here.
    """
    inodes: set[int] = set()
    try:
        for pid in process_ids:
            inodes.update(_inodes(proc / str(pid) / "fd"))
        sockets = _sockets(proc / "self" / "net")
    except OSError as error:
        raise _not_visible(error) from error
    own = [socket for socket in sockets if socket.inode in inodes]
    return Listeners(_endpoints(own), ListenerScope.CONTAINER)


def _sockets(folder: Path) -> list[ListeningSocket]:
    sockets: list[ListeningSocket] = []
    for name in _TABLES:
        try:
            text = read_kernel_file(folder / name).decode("ascii")
        except FileNotFoundError:
            if name == _TABLES[0]:
                raise
            continue  # a kernel without IPv6
        sockets += parse_table(text)
    return sockets


def _inodes(folder: Path) -> Iterator[int]:
    """Yield the inodes of a process's sockets; none if it has ended."""
    try:
        descriptors = list(folder.iterdir())
    except FileNotFoundError:
        return
    for descriptor in descriptors:
        try:
            kind, _, rest = str(descriptor.readlink()).partition(":[")
        except FileNotFoundError:
            continue  # closed meanwhile
        if kind == "socket":
            yield int(rest.rstrip("]"))


def _endpoints(sockets: Iterable[ListeningSocket]) -> tuple[SocketAddress, ...]:
    endpoints = {socket.endpoint for socket in sockets}
    return tuple(sorted(endpoints, key=attrgetter("port", "address")))


def _not_visible(error: OSError) -> ContainerRuntimeError:
    return ContainerRuntimeError(
        f"its network is not visible from here: {error.strerror}"
    )
