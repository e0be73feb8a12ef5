"""The network of a pod that is unplugged, and plugged in again as it was.

Every interface but the loopback is switched off, inside the pod's network namespace:
nobody reaches the pod and it reaches nobody, while its containers reach each other. The
kernel forgets what leads over an interface that is off, so all of it is remembered.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.cri.netlink import (
    CREATE,
    EXCLUSIVE,
    GET_ADDRESS,
    GET_ROUTE,
    IS_LOOPBACK,
    IS_UP,
    NEW_ADDRESS,
    NEW_ROUTE,
    Netlink,
)

FAMILIES = (socket.AF_INET, socket.AF_INET6)

_LOCAL_TABLE = 255
_BY_KERNEL = 2
"""The table of own addresses, and the mark of routes that come with an address."""

_ADDRESS = struct.Struct("=BBBBi")
_ROUTE = struct.Struct("=BBBBBBBBI")
_WITHOUT_DETECTION = 0x02
"""An address is known to be nobody else's: IFA_F_NODAD."""

_FLAGS_ATTRIBUTE = 8
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(frozen=True, slots=True)
class Unplugged:
    """What was there before: interfaces that were on, and the kernel's own messages."""

    links: tuple[int, ...]
    addresses: tuple[bytes, ...]
    routes: tuple[bytes, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return {
            "links": list(self.links),
            "addresses": [message.hex() for message in self.addresses],
            "routes": [message.hex() for message in self.routes],
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Unplugged:
        """Read it back; raises `ContainerRuntimeError` for anything else."""
        try:
            return cls(
                tuple(map(int, found["links"])),
                tuple(map(bytes.fromhex, found["addresses"])),
                tuple(map(bytes.fromhex, found["routes"])),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ContainerRuntimeError(
                f"what was noted of its network cannot be read: {error!r}"
            ) from error


def look_at_network(namespace: Path) -> Unplugged:
    """Return how the network of a namespace is; raises `OSError`."""
    with Netlink(namespace) as netlink:
        return Unplugged(
            tuple(
                each.number
                for each in netlink.links()
                if each.flags & IS_UP and not each.flags & IS_LOOPBACK
            ),
            _addresses(netlink),
            _routes(netlink),
        )


def unplug(namespace: Path, before: Unplugged) -> None:
    """Switch the interfaces of a network namespace off.

    Raises `OSError` where that is not allowed; then all is as before.
    """
    with Netlink(namespace) as netlink:
        try:
            for number in before.links:
                netlink.set_up(number, is_up=False)
        except OSError:
            _restore(netlink, before)
            raise


def plug(namespace: Path, before: Unplugged) -> None:
    """Switch the interfaces on again, with the addresses and routes that they had.

    Raises `OSError` for what the kernel refuses.
    """
    with Netlink(namespace) as netlink:
        _restore(netlink, before)


def _restore(netlink: Netlink, before: Unplugged) -> None:
    here = {each.number for each in netlink.links()}
    for number in before.links:
        if number in here:
            netlink.set_up(number, is_up=True)
    _send_all(netlink, NEW_ADDRESS, before.addresses)
    _send_all(netlink, NEW_ROUTE, before.routes)


def _addresses(netlink: Netlink) -> tuple[bytes, ...]:
    return tuple(
        _as_known(each)
        for family in FAMILIES
        for each in netlink.dump(GET_ADDRESS, _ADDRESS.pack(family, 0, 0, 0, 0))
        if each[0] == family
    )


def _routes(netlink: Netlink) -> tuple[bytes, ...]:
    """Return the routes that do not come with an address."""
    question = (0, 0, 0, 0, 0, 0, 0, 0)
    return tuple(
        each
        for family in FAMILIES
        for each in netlink.dump(GET_ROUTE, _ROUTE.pack(family, *question))
        if each[0] == family and not _is_by_kernel(each)
    )


def _is_by_kernel(route: bytes) -> bool:
    _, _, _, _, table, protocol, *_ = _ROUTE.unpack_from(route)
    return bool(table == _LOCAL_TABLE or protocol == _BY_KERNEL)


def _as_known(address: bytes) -> bytes:
    """Return an address that is used at once, without asking around whose it is."""
    message = bytearray(address)
    message[2] |= _WITHOUT_DETECTION
    place = _ADDRESS.size
    while place + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, place)
        if kind == _FLAGS_ATTRIBUTE:
            message[place + _ATTRIBUTE.size] |= _WITHOUT_DETECTION
        place += max((length + 3) & ~3, _ATTRIBUTE.size)
    return bytes(message)


def _send_all(netlink: Netlink, kind: int, messages: Sequence[bytes]) -> None:
    """Send what the kernel told, in the order in which it takes it.

    A route by way of another host needs the route to that host first, so what is
    refused is sent again after the others.
    """
    left = list(messages)
    while left:
        refused: list[bytes] = []
        why = OSError()
        for each in left:
            try:
                netlink.ask(kind, each, CREATE | EXCLUSIVE)
            except FileExistsError:
                continue
            except OSError as error:
                if error.errno == errno.ENODEV:  # it was of an interface that is gone
                    continue
                refused.append(each)
                why = error
        if len(refused) == len(left):
            raise why
        left = refused
