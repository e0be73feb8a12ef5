"""SPDY streams over an upgraded connection or inside a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from probetui.runtimes.streaming.input_pipe import InputPipe
from probetui.runtimes.streaming.spdy import (
    ConnectionEnded,
    SpdyConnection,
    SpdyError,
    StreamData,
    StreamOpened,
    StreamReset,
)

MAX_STREAMS = 1000
FRAMES_IN_A_TURN = 64
"""Before a pause: a frame may have eight bytes."""

PAUSE_SECONDS = 0.005
"""For the rest of the program: a flood of frames gets a small part of a core."""

_CHUNK_BYTES = 1 << 16


class ByteReader(Protocol):
    """A source of bytes."""

    async def read(self, n: int, /) -> bytes:
        """Return some bytes, none at the end."""


class ByteWriter(Protocol):
    """A sink of bytes."""

    def write(self, data: bytes, /) -> None:
        """Buffer bytes to be sent."""

    async def drain(self) -> None:
        """Wait until most bytes are sent."""


class ByteConnection(Protocol):
    """A bidirectional byte stream; WebSocket message boundaries mean nothing."""

    async def send(self, message: bytes) -> None:
        """Send bytes."""

    async def receive(self) -> bytes | None:
        """Return some bytes, None at the end."""


class UpgradedConnection:
    """The upgraded connection of a request."""

    def __init__(self, unread: bytes, reader: ByteReader, writer: ByteWriter) -> None:
        self._left = unread
        self._reader = reader
        self._writer = writer

    async def send(self, message: bytes) -> None:
        """Send bytes."""
        self._writer.write(message)
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """Return some bytes, None at the end."""
        left, self._left = self._left, b""
        return left or await self._reader.read(_CHUNK_BYTES) or None


class SpdyStream:
    """One stream; `incoming` has the bytes that the peer sends on it."""

    def __init__(
        self, stream_id: int, headers: Mapping[str, str], streams: SpdyStreams
    ) -> None:
        self.stream_id = stream_id
        self.headers = headers
        self.incoming = InputPipe()
        self.has_ended = False
        """Whether the other side sends nothing more."""
        self.backlog = 0
        """How many bytes came that `read` has not returned."""
        self.is_finished = False
        """Whether this side sends nothing more."""
        self._streams = streams

    async def read(self) -> bytes:
        """Return received bytes; none at the end."""
        data = await self.incoming.read(_CHUNK_BYTES)
        self.backlog -= len(data)
        return data

    async def write(self, data: bytes) -> None:
        """Send data."""
        if data and not self.is_finished:
            await self._streams.send(self.stream_id, data)

    async def finish(self) -> None:
        """Finish the sending side."""
        if not self.is_finished:
            self.is_finished = True
            await self._streams.send(self.stream_id, b"", is_finished=True)

    async def reset(self) -> None:
        """Reset the stream."""
        self.is_finished = True
        await self._streams.reset(self.stream_id)


class SpdyStreams:
    """The streams of one connection.

    Args:
        connection: the underlying connection.
        longest_backlog: the number of unread bytes at which a stream is reset; with 0,
            receiving pauses while one stream has too many.
        on_stream: called with each stream that the peer opens, None to refuse them, as
            a client does.
    """

    def __init__(
        self,
        connection: ByteConnection,
        on_stream: Callable[[SpdyStream], None] | None = None,
        *,
        longest_backlog: int = 0,
    ) -> None:
        self._connection = connection
        self._on_stream = on_stream
        self._longest_backlog = longest_backlog
        self._spdy = SpdyConnection()
        self._streams: dict[int, SpdyStream] = {}

    async def open(self, headers: Mapping[str, str]) -> SpdyStream:
        """Open a stream."""
        stream = SpdyStream(self._spdy.open(headers), headers, self)
        self._streams[stream.stream_id] = stream
        await self._flush()
        return stream

    async def send(
        self, stream_id: int, data: bytes, *, is_finished: bool = False
    ) -> None:
        """Send data on a stream."""
        self._spdy.send(stream_id, data, is_finished=is_finished)
        stream = self._streams.get(stream_id)
        if is_finished and stream is not None and stream.has_ended:
            del self._streams[stream_id]
        await self._flush()

    async def reset(self, stream_id: int) -> None:
        """Reset a stream, unless both sides have finished it."""
        if self._streams.pop(stream_id, None) is not None:
            self._spdy.reset(stream_id)
            await self._flush()

    async def run(self) -> None:
        """Handle received frames until the peer ends the connection."""
        frames = 0
        try:
            while (data := await self._connection.receive()) is not None:
                for event in self._spdy.receive(data):
                    frames += 1
                    if frames % FRAMES_IN_A_TURN == 0:
                        await asyncio.sleep(PAUSE_SECONDS)
                    if isinstance(event, ConnectionEnded):
                        return
                    if event is not None:
                        await self._handle_event(event)
                await self._flush()
        except SpdyError:
            return
        finally:
            for stream in self._streams.values():
                stream.incoming.feed_eof()
            # Streams refer to each other and to their opener: without this, all
            # received data stays until the garbage collector runs, which takes minutes.
            self._streams.clear()
            self._on_stream = None

    async def _handle_event(
        self, event: StreamOpened | StreamData | StreamReset
    ) -> None:
        if isinstance(event, StreamOpened):
            return self._open_stream(event)
        stream = self._streams.get(event.stream_id)
        if stream is None or (stream.has_ended and isinstance(event, StreamData)):
            return None
        if isinstance(event, StreamData):
            stream.backlog += len(event.data)
            if not self._longest_backlog:
                await stream.incoming.feed(event.data)
            elif stream.backlog > self._longest_backlog:
                self._spdy.reset(event.stream_id)
                event = StreamReset(event.stream_id)
            else:
                stream.incoming.feed_data(event.data)
        if isinstance(event, StreamReset) or event.is_finished:
            stream.has_ended = True
            stream.incoming.feed_eof()
            if isinstance(event, StreamReset) or stream.is_finished:
                self._streams.pop(event.stream_id, None)
        return None

    def _open_stream(self, event: StreamOpened) -> None:
        if self._on_stream is None:
            return self._spdy.reset(event.stream_id)
        if len(self._streams) >= MAX_STREAMS or event.stream_id in self._streams:
            raise SpdyError("too many streams, or one twice")
        stream = SpdyStream(event.stream_id, event.headers, self)
        self._streams[event.stream_id] = stream
        self._spdy.reply(event.stream_id)
        if event.is_finished:
            stream.has_ended = True
            stream.incoming.feed_eof()
        return self._on_stream(stream)

    async def _flush(self) -> None:
        if self._spdy.output:
            data = bytes(self._spdy.output)
            self._spdy.output.clear()
            await self._connection.send(data)


async def run_beside(work: Awaitable[None], until_gone: Awaitable[None]) -> None:
    """Run a task, and cancel it when the client disconnects."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(until_gone)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]
