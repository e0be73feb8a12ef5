"""A TCP connection of a probe, as Go's net.Dialer makes it.

Measured for one GET on loopback, a transport with its protocol costs half as much CPU
again as the loop's `sock_*` calls, streams three quarters more.

Difference: the kubelet sets SO_LINGER to 1 s on every probe's socket; here it stays
off. With it, Linux holds `close` until the peer has acknowledged the end, also on a
non-blocking socket: 4 ms on loopback, the whole second for a pod whose network is
gone. That stops one goroutine there, but every probe here. TIME-WAIT lasts its 60 s
with and without it, and the peer sees no difference.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
from typing import Protocol

from probetui.cpu_budget import CPUBudget, wait_readable
from probetui.errors import GoError, LocalResourceError, ProbetuiError
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.probers.go.errors import DialRefusedError, describe_os_error
from probetui.probers.go.forwarded import forward
from probetui.probers.go.net import address_family, check_host_port
from probetui.probers.go.resolver import Resolver, is_own_shortage
from probetui.probers.route import Route, direct_route

PORTS = range(1 << 16)
_RECEIVE_BYTES = 1 << 14
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DOMAIN_NAME = re.compile(rf"(?=.{{1,254}}$)(?=.*[A-Za-z_-])(?:{_LABEL}\.)*{_LABEL}\.?")
_THIS_MACHINE = "127.0.0.1"

_RESOLVER = Resolver()
"""One for all: how many threads there are is a matter of the process."""


class Connection(Protocol):
    """A connection, as requests use it; errors are `GoError`s."""

    async def send(self, data: bytes) -> None:
        """Send all of it."""

    async def receive(self) -> bytes:
        """Return received bytes; empty at the end of the stream."""

    async def give_way(self) -> None:
        """Suspend if the received data has used up the CPU budget."""

    def close(self) -> None:
        """Close the connection, unless it is closed already."""


class DialledConnection(Connection, Protocol):
    """A connection returned by a dialler."""

    async def established(self, limit_seconds: float) -> None:
        """Wait until the connection is certainly established, or for most of a limit.

        Raises the dial error if it only shows now.
        """

    def send_at_once(self, data: bytes) -> None:
        """Send as much as is possible without waiting; drop the rest."""


class TCPConnection:
    """A connected socket, which the caller of `dial` closes.

    A peer that sends endless data is read within a `CPUBudget`.

    Args:
        sock: non-blocking and connected.
        peer: the dialled address, for messages.
    """

    __slots__ = ("_budget", "_has_received", "_loop", "_peer", "_socket")

    def __init__(self, sock: socket.socket, peer: str) -> None:
        self._socket = sock
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._budget: CPUBudget | None = None
        self._has_received = False

    async def established(self, limit_seconds: float) -> None:
        """Do nothing: the socket is connected."""

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        try:
            await self._loop.sock_sendall(self._socket, data)
        except OSError as error:
            raise self._broken("write", error) from error

    async def receive(self) -> bytes:
        """Return received bytes, at most 16 KiB; empty at the end."""
        await self.give_way()
        while True:
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                if self._budget is None:
                    await wait_readable(self._socket)
                else:
                    await self._budget.wait_readable(self._socket)
            except OSError as error:
                raise self._broken("read", error) from error
            else:
                # Reading the thread's clock is one of the most expensive calls here,
                # and most responses arrive at once.
                if self._has_received and self._budget is None:
                    self._budget = CPUBudget()
                self._has_received = True
                return data

    async def give_way(self) -> None:
        """Suspend if the received data has used up the CPU budget."""
        if self._budget is not None:
            await self._budget.give_way()

    def send_at_once(self, data: bytes) -> None:
        """Send as much as is possible without waiting; drop the rest."""
        try:
            self._socket.send(data)
        except OSError:
            return  # the peer may be gone

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _broken(self, operation: str, error: OSError) -> ProbetuiError:
        if is_own_shortage(error):
            return LocalResourceError(
                f"probetui could not {operation}: {error.strerror}"
            )
        try:
            here = join_host_port(*self._socket.getsockname()[:2])
        except OSError:
            here = ""
        text = describe_os_error(error)
        return GoError(f"{operation} tcp {here}->{self._peer}: {operation}: {text}")


async def dial(host: str, port: int, route: Route = direct_route) -> DialledConnection:
    """Connect to a host and port; an empty host is this machine, as in Go.

    Messages name the requested host and port, not the address of `route`. Raises
    `GoError`, `DialRefusedError` if the first address refused, and `LocalResourceError`
    if this process could not even try.

    Difference: the kubelet takes it for a failure if it has no descriptor left.

    Source: net/dial.go, Dialer.DialContext.
    """
    try:
        check_host_port(join_host_port(host, port))
        if port not in PORTS:
            raise GoError(f"address {port}: invalid port")  # noqa: TRY301  # one prefix for all
        where = route(host, port)
        if not isinstance(where, tuple):
            return await forward(host, port, where)
        addresses = await _look_up(host, port, where)
    except GoError as error:
        raise GoError(f"dial tcp: {error}") from error
    errors: list[GoError] = []
    for family, address, name in addresses:
        try:
            return TCPConnection(await _connect(family, address), name)
        except OSError as error:
            if is_own_shortage(error) or _has_no_local_port(family, error):
                raise LocalResourceError(
                    f"probetui could not connect to {name}: {describe_os_error(error)}"
                ) from error
            text = f"dial tcp {name}: connect: {describe_os_error(error)}"
            is_refused = isinstance(error, ConnectionRefusedError)
            there = SocketAddress(host or _THIS_MACHINE, port)
            errors.append(
                DialRefusedError(text, there) if is_refused else GoError(text)
            )
    raise errors[0]


_Address = tuple[socket.AddressFamily, tuple[str, int], str]


async def _look_up(host: str, port: int, where: tuple[str, int]) -> list[_Address]:
    """Return the addresses to try: family, socket address, and text for messages."""
    family = address_family(where[0])
    if family is not None or not where[0]:
        address = (where[0] or _THIS_MACHINE, where[1])
        return [(family or socket.AF_INET, address, join_host_port(host, port))]
    if not _is_domain_name(where[0]):
        raise GoError(f"lookup {host}: no such host")
    try:
        addresses = await _RESOLVER.look_up(where[0])
    except GoError as error:
        # Messages must not name the address of a route.
        raise GoError(str(error).replace(where[0], host, 1)) from error
    return [
        (family, (address, where[1]), join_host_port(address, where[1]))
        for family, address in addresses
    ]


def _has_no_local_port(family: socket.AddressFamily, error: OSError) -> bool:
    """Return whether all local ports are in use; for IPv6 there may be no address."""
    return error.errno == errno.EADDRNOTAVAIL and family is socket.AF_INET


def _is_domain_name(host: str) -> bool:
    """Return whether a name is looked up; Go rejects `127.1`, which C accepts.

    Source: net/dnsclient.go, isDomainName.
    """
    return bool(_DOMAIN_NAME.fullmatch(host))


async def _connect(
    family: socket.AddressFamily, address: tuple[str, int]
) -> socket.socket:
    """Connect; a handshake within this machine takes no turn of the event loop.

    The kernel completes it within the first call; the second returns the result.
    """
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003  # the name of its only argument is private
        number = sock.connect_ex(address)
        if number == errno.EINPROGRESS:
            number = sock.connect_ex(address)
        if number == errno.EALREADY:
            await asyncio.get_running_loop().sock_connect(sock, address)
        elif number not in {0, errno.EISCONN}:
            raise OSError(number, os.strerror(number))  # noqa: TRY301  # closed below
    except BaseException:
        sock.close()
        raise
    return sock
