"""Disconnect a pod's network and reconnect it as it was, by rtnetlink.

Every interface but the loopback is switched off inside the pod's network namespace: the
pod is cut off, while its containers reach each other. The kernel forgets addresses and
routes of an interface that is down, so they are saved.

Source: rtnetlink(7), netlink(7).
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.network_namespace import socket_in

NEW_LINK, GET_LINK = 16, 18
NEW_ADDRESS, GET_ADDRESS = 20, 22
NEW_ROUTE, GET_ROUTE = 24, 26
_ERROR, _DONE = 2, 3

REQUEST, ACKNOWLEDGE, DUMP = 0x1, 0x4, 0x300
EXCLUSIVE, CREATE = 0x200, 0x400

IS_UP, IS_LOOPBACK = 0x1, 0x8
"""Flags of an interface (netdevice(7))."""

"""CLONE_NEWNET."""

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ERRNO = struct.Struct("=i")
_BUFFER_BYTES = 1 << 16


class NetworkInterface(Struct, frozen=True):
    """A network interface: its index and the flags of netdevice(7)."""

    number: int
    flags: int


class NetlinkSocket:
    """A netlink socket in a network namespace, as a context manager.

    While it is open the namespace exists. Errors of the kernel are `OSError`s.

    Args:
        namespace: the file of the namespace, such as `/proc/<pid>/ns/net`.
    """

    def __init__(self, namespace: Path) -> None:
        self._socket = socket_in(
            namespace,
            socket.AF_NETLINK,  # only on Linux, like all of this
            socket.SOCK_RAW,
            socket.NETLINK_ROUTE,
        )
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def links(self) -> list[NetworkInterface]:
        """Return all network interfaces."""
        interfaces = []
        for message in self.dump(GET_LINK, _LINK.pack(0, 0, 0, 0, 0)):
            _, _, number, flags, _ = _LINK.unpack_from(message)
            interfaces.append(NetworkInterface(number, flags))
        return interfaces

    def set_up(self, number: int, *, is_up: bool) -> None:
        """Bring an interface up or down."""
        flags = IS_UP if is_up else 0
        self.request(NEW_LINK, _LINK.pack(0, 0, number, flags, IS_UP), ACKNOWLEDGE)

    def dump(self, kind: int, about: bytes) -> list[bytes]:
        """Return the messages of a dump request."""
        return list(self._responses(kind, about, DUMP))

    def request(self, kind: int, about: bytes, flags: int) -> None:
        """Send a request and wait for its acknowledgement."""
        for _ in self._responses(kind, about, flags | ACKNOWLEDGE):
            pass

    def _responses(self, kind: int, about: bytes, flags: int) -> Iterator[bytes]:
        self._sequence += 1
        length = _HEADER.size + len(about)
        header = _HEADER.pack(length, kind, flags | REQUEST, self._sequence, 0)
        self._socket.send(header + about)
        while True:
            for kind_of_answer, answer in _messages(self._socket.recv(_BUFFER_BYTES)):
                if kind_of_answer == _ERROR:
                    (number,) = _ERRNO.unpack_from(answer)
                    if number:
                        raise OSError(-number, os.strerror(-number))
                    return
                if kind_of_answer == _DONE:
                    return
                yield answer


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of every message of a datagram."""
    while len(data) >= _HEADER.size:
        length, kind, _, _, _ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


FAMILIES = (socket.AF_INET, socket.AF_INET6)

_LOCAL_TABLE = 255
_BY_KERNEL = 2
"""The routing table `local`, and the protocol of routes the kernel adds itself."""

_ADDRESS = struct.Struct("=BBBBi")
_ROUTE = struct.Struct("=BBBBBBBBI")
_WITHOUT_DETECTION = 0x02
"""IFA_F_NODAD: no duplicate address detection."""

_FLAGS_ATTRIBUTE = 8
_ATTRIBUTE = struct.Struct("=HH")


class NetworkState(Struct, frozen=True):
    """Interfaces that were up, and the kernel's messages of addresses and routes."""

    links: tuple[int, ...]
    addresses: tuple[bytes, ...]
    routes: tuple[bytes, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "links": list(self.links),
            "addresses": [message.hex() for message in self.addresses],
            "routes": [message.hex() for message in self.routes],
        }

    @classmethod
    def from_json(cls, json: Mapping[str, Any]) -> NetworkState:
        """Read a state from JSON; raises `ContainerRuntimeError` if it is invalid."""
        try:
            return cls(
                tuple(map(int, json["links"])),
                tuple(map(bytes.fromhex, json["addresses"])),
                tuple(map(bytes.fromhex, json["routes"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ContainerRuntimeError(
                f"the saved network state is invalid: {error!r}"
            ) from error


def read_network_state(namespace: Path) -> NetworkState:
    """Return the state of a network namespace; raises `OSError`."""
    with NetlinkSocket(namespace) as netlink:
        return NetworkState(
            tuple(
                link.number
                for link in netlink.links()
                if link.flags & IS_UP and not link.flags & IS_LOOPBACK
            ),
            _addresses(netlink),
            _routes(netlink),
        )


def disconnect_network(namespace: Path, before: NetworkState) -> None:
    """Bring the interfaces of a network namespace down.

    Raises `OSError` if that is not permitted, with the state as before.
    """
    with NetlinkSocket(namespace) as netlink:
        try:
            for number in before.links:
                netlink.set_up(number, is_up=False)
        except OSError:
            _restore(netlink, before)
            raise


def reconnect_network(namespace: Path, before: NetworkState) -> None:
    """Bring the interfaces up again, with their addresses and routes.

    Raises `OSError` for what the kernel refuses.
    """
    with NetlinkSocket(namespace) as netlink:
        _restore(netlink, before)


def _restore(netlink: NetlinkSocket, before: NetworkState) -> None:
    here = {link.number for link in netlink.links()}
    for number in before.links:
        if number in here:
            netlink.set_up(number, is_up=True)
    _replay_messages(netlink, NEW_ADDRESS, before.addresses)
    _replay_messages(netlink, NEW_ROUTE, before.routes)


def _addresses(netlink: NetlinkSocket) -> tuple[bytes, ...]:
    return tuple(
        _skip_duplicate_detection(message)
        for family in FAMILIES
        for message in netlink.dump(GET_ADDRESS, _ADDRESS.pack(family, 0, 0, 0, 0))
        if message[0] == family
    )


def _routes(netlink: NetlinkSocket) -> tuple[bytes, ...]:
    """Return the routes that the kernel does not add with an address."""
    question = (0, 0, 0, 0, 0, 0, 0, 0)
    return tuple(
        message
        for family in FAMILIES
        for message in netlink.dump(GET_ROUTE, _ROUTE.pack(family, *question))
        if message[0] == family and not _is_by_kernel(message)
    )


def _is_by_kernel(route: bytes) -> bool:
    _, _, _, _, table, protocol, *_ = _ROUTE.unpack_from(route)
    return bool(table == _LOCAL_TABLE or protocol == _BY_KERNEL)


def _skip_duplicate_detection(address: bytes) -> bytes:
    """Return an address message with IFA_F_NODAD set, so it is usable at once."""
    message = bytearray(address)
    message[2] |= _WITHOUT_DETECTION
    place = _ADDRESS.size
    while place + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, place)
        if kind == _FLAGS_ATTRIBUTE:
            message[place + _ATTRIBUTE.size] |= _WITHOUT_DETECTION
        place += max((length + 3) & ~3, _ATTRIBUTE.size)
    return bytes(message)


def _replay_messages(
    netlink: NetlinkSocket, kind: int, messages: Sequence[bytes]
) -> None:
    """Send saved messages in an order that the kernel accepts.

    A route via a gateway needs the route to the gateway first, so refused messages are
    sent again after the others.
    """
    pending = list(messages)
    while pending:
        refused: list[bytes] = []
        why = OSError()
        for message in pending:
            try:
                netlink.request(kind, message, CREATE | EXCLUSIVE)
            except FileExistsError:
                continue
            except OSError as error:
                if error.errno == errno.ENODEV:  # its interface is gone
                    continue
                refused.append(message)
                why = error
        if len(refused) == len(pending):
            raise why
        pending = refused
