"""A forwarded connection in place of a dialled one.

An error at the far end has the message of a dial from there. An error on the way there
says nothing about the container, and is no failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from probetui.errors import (
    ContainerRuntimeError,
    ForwardRefusedError,
    GoError,
    LocalResourceError,
)
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.ports import Forward, ForwardedConnection
from probetui.probers.go.errors import DialRefusedError

MOST_OF_A_LIMIT = 0.8
"""How much of a probe's limit is waited for a refusal, at the most."""

_REFUSED = "connection refused"

T = TypeVar("T")


class ForwardedPort:
    """A connection through a port-forward; has the methods of `DialledConnection`.

    Args:
        connection: the connection.
        there: the address and port that were to be dialled.
    """

    def __init__(self, connection: ForwardedConnection, there: SocketAddress) -> None:
        self._connection = connection
        self._there = there

    async def established(self, limit_seconds: float) -> None:
        """Wait for a refusal, which comes soon or never.

        A port-forward does not confirm a connection. Only an end without a refusal is
        certain: so the sending side is finished, which makes most servers end it.
        """
        await _translated(self._connection.finish_sending(), self._there)
        quiet = self._connection.quiet_seconds
        if limit_seconds > 0:
            quiet = min(quiet, limit_seconds * MOST_OF_A_LIMIT)
        with suppress(TimeoutError):
            async with asyncio.timeout(quiet):
                await self.receive()

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        await _translated(self._connection.send(data), self._there)

    async def receive(self) -> bytes:
        """Return received bytes; empty at the end."""
        return await _translated(self._connection.receive(), self._there)

    async def give_way(self) -> None:
        """Do nothing: each message suspends."""

    def send_at_once(self, data: bytes) -> None:
        """Send nothing: close_notify is not worth a message through a cluster."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


async def forward(host: str, port: int, ask: Forward) -> ForwardedPort:
    """Open a forwarded connection; raises `GoError` or `LocalResourceError`."""
    there = SocketAddress(host, port)
    return ForwardedPort(await _translated(ask(), there), there)


async def _translated(work: Awaitable[T], there: SocketAddress) -> T:
    try:
        return await work
    except ForwardRefusedError as error:
        name, message = join_host_port(there.address, there.port), str(error)
        if _REFUSED in message.lower():
            text = f"dial tcp {name}: connect: {_REFUSED}"
            raise DialRefusedError(text, there) from error
        raise GoError(f"dial tcp {name}: {message}") from error
    except ContainerRuntimeError as error:
        raise LocalResourceError(f"port-forward: {error}") from error
