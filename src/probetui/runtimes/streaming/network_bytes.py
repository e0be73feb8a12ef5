"""The connection of an HTTP request whose answer changed the protocol."""

from __future__ import annotations

import asyncio

import httpcore2
import httpx2

_CLOSED = (httpcore2.NetworkError, httpcore2.TimeoutException, OSError)


class NetworkBytes:
    """The bytes of an upgraded connection, as a reader and a writer."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream: httpcore2.AsyncNetworkStream = response.extensions[
            "network_stream"
        ]
        self._waiting = bytearray()
        self._sending = asyncio.Lock()

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
        # The streams of one connection are written by different tasks.
        async with self._sending:
            data = bytes(self._waiting)
            self._waiting.clear()
            try:
                if data:
                    await self._stream.write(data)
            except _CLOSED:
                return
