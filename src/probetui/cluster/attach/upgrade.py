"""The client's side of connections that an API server upgrades: WebSocket and SPDY."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpcore
import httpx

from probetui.cluster.client import ApiClient
from probetui.cluster.errors import Access, ServerUnreachableError
from probetui.cluster.serving.spdy_streams import UpgradedConnection
from probetui.cluster.serving.websocket import WebSocket, accept_token

_CLOSED = (httpcore.NetworkError, httpcore.TimeoutException, OSError)

LONGEST_BACKLOG = 1 << 20
"""Bytes of one stream that nobody has read yet; more are not waited for."""


class _NetworkBytes:
    """The bytes of an upgraded connection, as a reader and a writer."""

    def __init__(self, response: httpx.Response) -> None:
        self._stream: httpcore.AsyncNetworkStream = response.extensions[
            "network_stream"
        ]
        self._waiting = bytearray()

    async def read(self, n: int, /) -> bytes:
        """Return some bytes; none at the end, however it came."""
        try:
            return await self._stream.read(n)
        except _CLOSED:
            return b""

    def write(self, data: bytes, /) -> None:
        """Take bytes to be sent."""
        self._waiting += data

    async def drain(self) -> None:
        """Send what waits; one who is gone is noticed by reading."""
        data = bytes(self._waiting)
        self._waiting.clear()
        try:
            if data:
                await self._stream.write(data)
        except _CLOSED:
            return


@asynccontextmanager
async def open_websocket(
    client: ApiClient, path: str, access: Access, protocols: tuple[str, ...]
) -> AsyncIterator[WebSocket]:
    """Open a WebSocket of one of some protocols.

    Raises:
        ApiError: the server refused.
        ServerUnreachableError: there is no answer, or none of a WebSocket.
    """
    key = base64.b64encode(os.urandom(16))
    headers = {
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key.decode(),
        "Sec-WebSocket-Protocol": ", ".join(protocols),
    }
    async with client.upgrade("GET", path, access, headers) as response:
        chosen = response.headers.get("Sec-WebSocket-Protocol", "")
        is_ours = response.headers.get("Sec-WebSocket-Accept") == accept_token(key)
        if not is_ours or chosen not in protocols:
            raise ServerUnreachableError(
                f"{client.access.cluster.server}: the answer is no WebSocket of ours"
            )
        network = _NetworkBytes(response)
        yield WebSocket(b"", network, network, is_client=True)


@asynccontextmanager
async def open_spdy(
    client: ApiClient, path: str, access: Access, protocols: tuple[str, ...]
) -> AsyncIterator[UpgradedConnection]:
    """Open a connection of SPDY/3.1; errors as of `open_websocket`."""
    headers = {
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": ", ".join(protocols),
    }
    async with client.upgrade("POST", path, access, headers) as response:
        network = _NetworkBytes(response)
        yield UpgradedConnection(b"", network, network)
