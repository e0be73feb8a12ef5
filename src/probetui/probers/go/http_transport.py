"""An httpx2 transport with a new connection for every request.

No pool, no proxy, no environment; it sends and refuses the same as Go. It sends
requests from `http_request.to_httpx` and any other httpx2 request.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import httpx2

from probetui.errors import GoError
from probetui.probers.go.dial import Connection, DialledConnection, dial
from probetui.probers.go.http2_stream import Headers, HTTP2Stream
from probetui.probers.go.http_response import (
    ReceiveBuffer,
    ResponseHead,
    read_body,
    read_head,
)
from probetui.probers.go.tls import TLSConnection, client_context, to_server_name
from probetui.probers.http_request import DEFAULT_PORTS
from probetui.probers.route import Route, direct_route

_HTTP_2 = "h2"
_PROTOCOLS = (_HTTP_2, "http/1.1")


class OneShotTransport(httpx2.AsyncBaseTransport):
    """Sends each request over its own connection.

    Errors are httpx2's, with Go's words as text. Time limits are the caller's, by
    cancellation; only the TLS handshake has one of its own.

    Args:
        route: where to connect instead of the host and port of a request.
    """

    def __init__(self, route: Route = direct_route) -> None:
        self._route = route

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; closing the response closes its connection."""
        try:
            connection = await self._connect(request)
        except GoError as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        try:
            is_http2: bool = request.extensions.get("is_http2", False)
            if isinstance(connection, TLSConnection):
                is_http2 = connection.protocol == _HTTP_2
            if is_http2:
                # 13 ms to import, and few probes meet an HTTP/2 server.

                return await send_http2_request(connection, request)
            return await _send_http1_request(connection, request)
        except GoError as error:
            connection.close()
            raise httpx2.RemoteProtocolError(str(error), request=request) from error
        except BaseException:
            connection.close()
            raise

    async def _connect(
        self, request: httpx2.Request
    ) -> DialledConnection | TLSConnection:
        url = request.url
        host, port = request.extensions.get("address") or (
            url.raw_host.decode("ascii"),
            url.port or DEFAULT_PORTS[url.scheme],
        )
        connection = await dial(host, port, self._route)
        if url.scheme != "https":
            return connection
        protocols = () if request.extensions.get("is_upgrade") else _PROTOCOLS
        try:
            context = client_context(protocols)
            secured = TLSConnection(connection, context, to_server_name(host))
            await secured.handshake()
        except BaseException:
            connection.close()
            raise
        return secured


async def _send_http1_request(
    connection: Connection, request: httpx2.Request
) -> httpx2.Response:
    """Send a request over HTTP/1.1 and wait for the head of the response."""
    target = request.extensions.get("target", request.url.raw_path)
    lines = [b"GET " + target + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in request.headers.raw]
    await connection.send(b"\r\n".join([*lines, b"", b""]))
    buffer = ReceiveBuffer()
    head = await _receive_head(connection, buffer)
    return httpx2.Response(
        head.status,
        headers=head.headers,
        stream=_BodyStream(connection, buffer, head, request),
        request=request,
    )


async def _receive_head(connection: Connection, buffer: ReceiveBuffer) -> ResponseHead:
    steps = read_head(buffer)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            head: ResponseHead = done.value
            return head
        await _receive(connection, buffer)


async def _receive(connection: Connection, buffer: ReceiveBuffer) -> None:
    try:
        buffer.feed(await connection.receive())
    except GoError as error:
        buffer.fail(error)


class _BodyStream(httpx2.AsyncByteStream):
    """A streamed body; closing it closes the connection."""

    def __init__(
        self,
        connection: Connection,
        buffer: ReceiveBuffer,
        head: ResponseHead,
        request: httpx2.Request,
    ) -> None:
        self._connection = connection
        self._buffer = buffer
        self._pieces = read_body(buffer, head.body)
        self._request = request

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            for piece in self._pieces:
                if piece is not None:
                    return piece
                await _receive(self._connection, self._buffer)
        except GoError as error:
            raise httpx2.ReadError(str(error), request=self._request) from error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._connection.close()


_STATUS = re.compile(rb"[0-9]{1,9}")
# Connection-specific headers; HTTP/2 has none (RFC 9113, 8.2.2).
_NOT_SENT = frozenset(
    {b"host", b"connection", b"proxy-connection", b"upgrade", b"keep-alive"}
)


async def send_http2_request(
    connection: Connection, request: httpx2.Request
) -> httpx2.Response:
    """Send a request and wait for the head of the response; raises `GoError`."""
    stream = HTTP2Stream(connection)
    await stream.send_request(_headers(request))
    status, headers = _read_head(await stream.receive_head())
    return httpx2.Response(
        status,
        headers=headers,
        stream=_Body(stream, request),
        request=request,
        extensions={"http_version": b"HTTP/2"},
    )


class _Body(httpx2.AsyncByteStream):
    """A streamed body; closing it closes the connection."""

    def __init__(self, stream: HTTP2Stream, request: httpx2.Request) -> None:
        self._stream = stream
        self._request = request

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._stream.receive()
        except GoError as error:
            raise httpx2.ReadError(str(error), request=self._request) from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._stream.close()


def _headers(request: httpx2.Request) -> Iterator[tuple[bytes, bytes]]:
    yield b":authority", request.headers["host"].encode("latin-1")
    yield b":method", b"GET"
    yield b":path", request.extensions.get("target", request.url.raw_path)
    yield b":scheme", request.url.raw_scheme
    for name, value in request.headers.raw:
        if (lowered := name.lower()) not in _NOT_SENT:
            yield lowered, value


def _read_head(headers: Headers) -> tuple[int, Headers]:
    status = dict(headers).get(b":status", b"")
    if not status:
        raise GoError("malformed response from server: missing status pseudo header")
    if not _STATUS.fullmatch(status):
        text = "malformed response from server: malformed non-numeric status"
        raise GoError(f"{text} pseudo header")
    return int(status), [header for header in headers if header[0][:1] != b":"]
