"""One side of a WebSocket that carries whole binary messages.

Source: RFC 6455; k8s.io/apimachinery pkg/util/httpstream/wsstream/conn.go, v0.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, generate_accept_token

from probetui.cluster.serving.http_server import CHUNK_BYTES, HttpRequest, HttpTunnel
from probetui.runtimes.streaming.spdy_streams import ByteReader, ByteWriter

NORMAL_CLOSURE = 1000
TOO_BIG = 1009
LONGEST_MESSAGE = 1 << 21
"""A frame of SPDY, which runs inside for forwarded ports, is half of it."""

FRAMES_IN_A_TURN = 32
"""Before a pause: each takes tens of microseconds, and may be empty."""

PAUSE_SECONDS = 0.005
"""For the rest of the program: a flood of frames gets a small part of a core."""


class WebSocket:
    """One connection; only one task may call `receive`.

    Args:
        unread: what has been read of it already.
        reader: reads the rest.
        writer: writes.
        is_client: whether this is the client's side.
        longest: the bytes of a message; a longer one ends the connection.
    """

    def __init__(
        self,
        unread: bytes,
        reader: ByteReader,
        writer: ByteWriter,
        *,
        is_client: bool = False,
        longest: int = LONGEST_MESSAGE,
    ) -> None:
        kind = ConnectionType.CLIENT if is_client else ConnectionType.SERVER
        self._connection = Connection(kind)
        self._reader = reader
        self._writer = writer
        self._longest = longest
        self._parts = bytearray()
        self._events: Iterator[Event] = iter(())
        self._frames = 0
        self._is_over = False
        if unread:
            self._receive_data(unread)

    async def send(self, message: bytes) -> None:
        """Send a message; do nothing once the connection is closed."""
        self._write(BytesMessage(data=message))
        await self._writer.drain()

    async def receive(self) -> bytes | None:
        """Return the next message, None once the peer has closed."""
        while not self._is_over:
            if (message := await self._next_message()) is not None:
                return message
            if not self._is_over:
                self._receive_data(await self._reader.read(CHUNK_BYTES))
        return None

    async def close(self, code: int = NORMAL_CLOSURE) -> None:
        """Close this side."""
        self._write(CloseConnection(code=code))
        await self._writer.drain()

    def _receive_data(self, data: bytes) -> None:
        if not data:
            self._is_over = True
            return
        self._connection.receive_data(data)
        self._events = self._connection.events()

    async def _next_message(self) -> bytes | None:
        """Return the next received message, None if it is incomplete."""
        for event in self._events:
            self._frames += 1
            if self._frames % FRAMES_IN_A_TURN == 0:
                await self._writer.drain()
                await asyncio.sleep(PAUSE_SECONDS)
            if isinstance(event, BytesMessage | TextMessage):
                if self._add_message_part(event):
                    message = bytes(self._parts)
                    self._parts.clear()
                    return message
            elif isinstance(event, Ping):
                self._write(event.response())
            elif isinstance(event, CloseConnection):
                self._is_over = True
                if self._connection.state is ConnectionState.REMOTE_CLOSING:
                    self._write(event.response())
            if self._is_over:
                break
        await self._writer.drain()
        return None

    def _add_message_part(self, event: BytesMessage | TextMessage) -> bool:
        """Add a part; return whether the message is complete."""
        data = event.data
        self._parts += data.encode() if isinstance(data, str) else data
        if len(self._parts) > self._longest:
            self._is_over = True
            self._write(CloseConnection(code=TOO_BIG))
            return False
        return event.message_finished

    def _write(self, event: Event) -> None:
        try:
            self._writer.write(self._connection.send(event))
        except LocalProtocolError:
            return  # The connection is closed.


def accept_token(key: bytes) -> str:
    """Return a server's Sec-WebSocket-Accept for a client's key."""
    return generate_accept_token(key).decode()


def is_websocket(request: HttpRequest) -> bool:
    """Return whether a request is a WebSocket handshake."""
    return request.headers.get("upgrade", "").lower() == "websocket"


def choose_protocol(request: HttpRequest, protocols: Sequence[str]) -> str | None:
    """Return the client's first supported protocol, None if there is none."""
    asked = request.headers.get("sec-websocket-protocol", "")
    offered = [name.strip() for name in asked.split(",")]
    return next((name for name in offered if name in protocols), None)


def websocket_tunnel(
    request: HttpRequest,
    protocol: str,
    serve: Callable[[WebSocket], Awaitable[None]],
    longest: int = LONGEST_MESSAGE,
) -> HttpTunnel:
    """Return the response that upgrades a connection to a WebSocket.

    Args:
        request: the handshake.
        protocol: the chosen one, empty if the client named none.
        serve: serves the connection.
        longest: the bytes of a message.
    """

    async def run(
        unread: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await serve(WebSocket(unread, reader, writer, longest=longest))

    key = request.headers.get("sec-websocket-key", "").encode()
    return HttpTunnel(
        run,
        headers={
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Accept": accept_token(key),
            **({"Sec-WebSocket-Protocol": protocol} if protocol else {}),
        },
    )
