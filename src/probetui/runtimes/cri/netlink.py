"""What the kernel is asked about the network interfaces of one network namespace.

Source: rtnetlink(7), netlink(7).
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

NEW_LINK, GET_LINK = 16, 18
NEW_ADDRESS, GET_ADDRESS = 20, 22
NEW_ROUTE, GET_ROUTE = 24, 26
_ERROR, _DONE = 2, 3

REQUEST, ACKNOWLEDGE, DUMP = 0x1, 0x4, 0x300
EXCLUSIVE, CREATE = 0x200, 0x400

IS_UP, IS_LOOPBACK = 0x1, 0x8
"""Flags of an interface (netdevice(7))."""

_NEW_NETWORK = 0x40000000
"""CLONE_NEWNET."""

_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_ERRNO = struct.Struct("=i")
_BUFFER_BYTES = 1 << 16


class Link(NamedTuple):
    """A network interface: its number, and the flags of netdevice(7)."""

    number: int
    flags: int


class Netlink:
    """A connection to the kernel's routing of one network namespace.

    As a context manager, for a few questions: as long as it is open, the namespace does
    not go away. Whatever the kernel refuses is an `OSError`.

    Args:
        namespace: its file, such as `/proc/<pid>/ns/net`.
    """

    def __init__(self, namespace: Path) -> None:
        self._socket = _socket_in(namespace)
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

    def links(self) -> list[Link]:
        """Return all interfaces."""
        found = []
        for message in self.dump(GET_LINK, _LINK.pack(0, 0, 0, 0, 0)):
            _, _, number, flags, _ = _LINK.unpack_from(message)
            found.append(Link(number, flags))
        return found

    def set_up(self, number: int, *, is_up: bool) -> None:
        """Switch an interface on or off."""
        flags = IS_UP if is_up else 0
        self.ask(NEW_LINK, _LINK.pack(0, 0, number, flags, IS_UP), ACKNOWLEDGE)

    def dump(self, kind: int, about: bytes) -> list[bytes]:
        """Return every answer there is to a question."""
        return list(self._answers(kind, about, DUMP))

    def ask(self, kind: int, about: bytes, flags: int) -> None:
        """Have something done, and wait until it is."""
        for _ in self._answers(kind, about, flags | ACKNOWLEDGE):
            pass

    def _answers(self, kind: int, about: bytes, flags: int) -> Iterator[bytes]:
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
    """Yield kind and body of each message of a datagram."""
    while len(data) >= _HEADER.size:
        length, kind, _, _, _ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


def _socket_in(namespace: Path) -> socket.socket:
    """Return a socket that belongs to a network namespace; the caller stays outside.

    A thread that enters it and ends is cheaper than a process, and leaves no thread in
    there. `os.setns` is of Python 3.12.
    """
    made: list[socket.socket] = []
    refused: list[OSError] = []

    def enter() -> None:
        try:
            _enter(namespace)
            made.append(
                socket.socket(
                    socket.AF_NETLINK,  # only on Linux, like all of this
                    socket.SOCK_RAW | socket.SOCK_CLOEXEC,
                    socket.NETLINK_ROUTE,
                )
            )
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if refused:
        raise refused[0]
    (opened,) = made
    return opened


def _enter(namespace: Path) -> None:
    """Move this thread into a network namespace, for as long as it lives."""
    with namespace.open() as file:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), _NEW_NETWORK):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))
