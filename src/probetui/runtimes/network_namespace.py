"""Sockets in the network namespace of a pod, made from outside."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import threading
from pathlib import Path

_NEW_NETWORK = 0x40000000
_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def network_file(process_id: int) -> Path:
    """Return the file of the network namespace of a process."""
    return Path(f"/proc/{process_id}/ns/net")


def socket_in(
    namespace: Path, family: int, kind: int, protocol: int = 0
) -> socket.socket:
    """Return a socket in a network namespace; the calling thread stays outside.

    A thread enters the namespace, opens the socket and ends: cheaper than a process.
    `os.setns` needs Python 3.12.

    Raises:
        OSError: there is no such namespace, or it may not be entered.
    """
    made: list[socket.socket] = []
    refused: list[OSError] = []

    def enter() -> None:
        try:
            _enter(namespace)
            made.append(socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol))
        except OSError as error:
            refused.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if refused:
        raise refused[0]
    (opened,) = made
    return opened


async def connect_inside(namespace: Path, port: int) -> socket.socket:
    """Return a connection to a port at localhost in a network namespace.

    Source: containerd v1.6.20, pkg/cri/server/sandbox_portforward_linux.go.

    Raises:
        PermissionError: the namespace may not be entered.
        OSError: nobody listens there, or the namespace is gone.
    """
    refusal: OSError | None = None
    for family, address in _LOOPBACK:
        opened = socket_in(namespace, family, socket.SOCK_STREAM)
        opened.setblocking(False)  # noqa: FBT003
        try:
            await asyncio.get_running_loop().sock_connect(opened, (address, port))
        except OSError as error:
            opened.close()
            refusal = refusal or error
        except BaseException:
            opened.close()
            raise
        else:
            return opened
    raise refusal or OSError("no address to connect to")


def _enter(namespace: Path) -> None:
    """Move the current thread into a network namespace for good."""
    with namespace.open() as file:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), _NEW_NETWORK):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(namespace))
