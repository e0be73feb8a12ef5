"""Forwarded ports: a pair of SPDY streams for each connection.

kubectl runs SPDY inside a WebSocket (`SPDY/3.1+portforward.k8s.io`), or after an
upgrade.

Source: k8s.io/kubelet pkg/cri/streaming/portforward/httpstream.go, v0.36.2.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from probetui.cluster.serving.http_server import CHUNK_BYTES, HttpAnswer, HttpRequest
from probetui.cluster.serving.remote_command import spdy_tunnel
from probetui.cluster.serving.websocket import (
    WebSocket,
    choose_protocol,
    is_websocket,
    websocket_tunnel,
)
from probetui.probers.go.errors import describe_os_error
from probetui.runtimes.streaming.spdy import SpdyError
from probetui.runtimes.streaming.spdy_streams import (
    ByteConnection,
    SpdyStream,
    SpdyStreams,
    UpgradedConnection,
)

MAX_FORWARDS = 256
"""Of one client: each takes descriptors."""

PORT_FORWARD = "portforward.k8s.io"
TUNNELED = f"SPDY/3.1+{PORT_FORWARD}"

Dial: TypeAlias = Callable[
    [int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
]
"""Connects to a port of the pod; raises OSError."""


def answer_port_forward(
    request: HttpRequest, target: str, dial: Dial
) -> HttpAnswer | None:
    """Return the response that forwards ports, None if no upgrade was requested.

    Args:
        request: the request.
        target: the pod as errors name it: `pod 7ef3... , uid : ...`.
        dial: connects to a port of the pod.
    """
    if is_websocket(request):
        if (protocol := choose_protocol(request, (TUNNELED,))) is None:
            return None

        async def over_websocket(socket: WebSocket) -> None:
            await _Forwarder(socket, target, dial).serve()

        return websocket_tunnel(request, protocol, over_websocket)
    if request.headers.get("upgrade", "").lower() == "spdy/3.1":

        async def over_spdy(
            unread: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            connection = UpgradedConnection(unread, reader, writer)
            await _Forwarder(connection, target, dial).serve()

        return spdy_tunnel(request, (PORT_FORWARD,), over_spdy)
    return None


class _Forwarder:
    """Forwards the connections of one client."""

    def __init__(self, connection: ByteConnection, target: str, dial: Dial) -> None:
        self._spdy = SpdyStreams(connection, self._open)
        self._target = target
        self._dial = dial
        self._errors: dict[str, SpdyStream] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        try:
            await self._spdy.run()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _open(self, stream: SpdyStream) -> None:
        """Accept a stream; the error stream comes before the data stream."""
        request_id = stream.headers.get("requestid", "")
        if len(self._errors) + len(self._tasks) >= MAX_FORWARDS:
            raise SpdyError("too many connections at once")
        if stream.headers.get("streamtype") == "error":
            stream.incoming.discard()
            self._errors[request_id] = stream
        elif (errors := self._errors.pop(request_id, None)) is not None:
            task = asyncio.ensure_future(self._forward(stream, errors))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, data: SpdyStream, errors: SpdyStream) -> None:
        port = data.headers.get("port", "")
        try:
            reader, writer = await self._dial(int(port))
        except (OSError, OverflowError, ValueError) as error:
            why = str(error)
            if isinstance(error, OSError):
                why = f"connect: {describe_os_error(error)}"
            text = f"error forwarding port {port} to {self._target}: {why}"
            await errors.write(text.encode())
        else:
            try:
                await self._copy(data, reader, writer)
            finally:
                writer.transport.abort()
        data.incoming.discard()
        await data.finish()
        await errors.finish()

    @staticmethod
    async def _copy(
        data: SpdyStream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async def to_pod() -> None:
            with suppress(OSError):
                while chunk := await data.incoming.read(CHUNK_BYTES):
                    writer.write(chunk)
                    await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()

        sending = asyncio.ensure_future(to_pod())
        try:
            with suppress(OSError):
                while chunk := await reader.read(CHUNK_BYTES):
                    await data.write(chunk)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
