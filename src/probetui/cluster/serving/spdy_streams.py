"""SPDY streams over a connection that was upgraded, or inside a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from probetui.cluster.serving.http_server import CHUNK_BYTES
from probetui.cluster.serving.spdy import (
    ConnectionEnded,
    SpdyConnection,
    SpdyError,
    StreamData,
    StreamOpened,
    StreamReset,
)

MAX_STREAMS = 1000


class ByteConnection(Protocol):
    """Bytes both ways; a message of a WebSocket is nothing but some of them."""

    async def send(self, message: bytes) -> None:
        """Send bytes."""

    async def receive(self) -> bytes | None:
        """Return some bytes, None at the end."""


class UpgradedConnection:
    """The connection of a request itself."""

    def __init__(
        self, left: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._left = left
        self._reader = reader
        self._writer = writer

    async def send(self, message: bytes) -> None:
        """Send bytes."""
        self._writer.write(message)
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """Return some bytes, None at the end."""
        left, self._left = self._left, b""
        return left or await self._reader.read(CHUNK_BYTES) or None


class SpdyStream:
    """One stream; `incoming` has what the client sends on it."""

    def __init__(
        self, stream_id: int, headers: Mapping[str, str], streams: SpdyStreams
    ) -> None:
        self.stream_id = stream_id
        self.headers = headers
        self.incoming = asyncio.StreamReader()
        self._streams = streams
        self._is_finished = False

    async def write(self, data: bytes) -> None:
        """Send data."""
        if data and not self._is_finished:
            await self._streams.send(self.stream_id, data)

    async def finish(self) -> None:
        """Say that nothing more is sent."""
        if not self._is_finished:
            self._is_finished = True
            await self._streams.send(self.stream_id, b"", is_finished=True)


class SpdyStreams:
    """The streams of one connection.

    Args:
        connection: where they run.
        on_stream: called with each stream that the client opens.
    """

    def __init__(
        self, connection: ByteConnection, on_stream: Callable[[SpdyStream], None]
    ) -> None:
        self._connection = connection
        self._on_stream = on_stream
        self._spdy = SpdyConnection()
        self._streams: dict[int, SpdyStream] = {}

    async def send(
        self, stream_id: int, data: bytes, *, is_finished: bool = False
    ) -> None:
        """Send data on a stream."""
        self._spdy.send(stream_id, data, is_finished=is_finished)
        await self._flush()

    async def run(self) -> None:
        """Take what the client sends, until it ends the connection."""
        try:
            while (data := await self._connection.receive()) is not None:
                for event in self._spdy.receive(data):
                    if isinstance(event, ConnectionEnded):
                        return
                    self._take(event)
                await self._flush()
        except SpdyError:
            return
        finally:
            for stream in self._streams.values():
                stream.incoming.feed_eof()

    def _take(self, event: StreamOpened | StreamData | StreamReset) -> None:
        if isinstance(event, StreamOpened):
            if len(self._streams) >= MAX_STREAMS:
                raise SpdyError("too many streams")
            stream = SpdyStream(event.stream_id, event.headers, self)
            self._streams[event.stream_id] = stream
            self._spdy.reply(event.stream_id)
            if event.is_finished:
                stream.incoming.feed_eof()
            self._on_stream(stream)
            return
        found = self._streams.get(event.stream_id)
        if found is None:
            return
        if isinstance(event, StreamData):
            found.incoming.feed_data(event.data)
        if isinstance(event, StreamReset) or event.is_finished:
            found.incoming.feed_eof()
            if isinstance(event, StreamReset):
                del self._streams[event.stream_id]

    async def _flush(self) -> None:
        if self._spdy.output:
            data = bytes(self._spdy.output)
            self._spdy.output.clear()
            await self._connection.send(data)


async def run_beside(work: Awaitable[None], until_gone: Awaitable[None]) -> None:
    """Do some work, and end it when the client is gone."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(until_gone)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(found[0], Exception):
        raise found[0]
