"""The connection of an HTTP request after an upgrade."""

from __future__ import annotations

import asyncio

import httpcore2
import httpx2

_CLOSED = (httpcore2.NetworkError, httpcore2.TimeoutException, OSError)


class NetworkBytes:
    """An upgraded connection as a byte reader and a byte writer."""

    def __init__(self, response: httpx2.Response) -> None:
        self._stream: httpcore2.AsyncNetworkStream = response.extensions[
            "network_stream"
        ]
        self._waiting = bytearray()
        self._sending = asyncio.Lock()

    async def read(self, n: int, /) -> bytes:
        """Return received bytes; none after any kind of end."""
        try:
            return await self._stream.read(n)
        except _CLOSED:
            return b""

    def write(self, data: bytes, /) -> None:
        """Buffer bytes to be sent."""
        self._waiting += data

    async def drain(self) -> None:
        """Send the buffered bytes; a lost connection shows in `read`."""
        # The streams of one connection are written by different tasks.
        async with self._sending:
            data = bytes(self._waiting)
            self._waiting.clear()
            try:
                if data:
                    await self._stream.write(data)
            except _CLOSED:
                return
