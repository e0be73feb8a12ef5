"""One GET over HTTP/2, on a connection whose server chose it by ALPN.

The kubelet offers HTTP/2 to every https server and uses it where it is taken.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import httpx

from probetui.errors import GoError
from probetui.probers.connection import Connection
from probetui.probers.http2_stream import Headers, HTTP2Stream

_STATUS = re.compile(rb"[0-9]{1,9}")
# Headers about the connection; HTTP/2 has none (RFC 9113, 8.2.2).
_NOT_SENT = frozenset(
    {b"host", b"connection", b"proxy-connection", b"upgrade", b"keep-alive"}
)


async def exchange(connection: Connection, request: httpx.Request) -> httpx.Response:
    """Send a request and wait for the head of the response; raises `GoError`."""
    stream = HTTP2Stream(connection)
    await stream.send_request(_headers(request))
    status, headers = _read_head(await stream.receive_head())
    return httpx.Response(
        status,
        headers=headers,
        stream=_Body(stream, request),
        request=request,
        extensions={"http_version": b"HTTP/2"},
    )


class _Body(httpx.AsyncByteStream):
    """A body as it comes in; closing it closes the connection."""

    def __init__(self, stream: HTTP2Stream, request: httpx.Request) -> None:
        self._stream = stream
        self._request = request

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._stream.receive()
        except GoError as error:
            raise httpx.ReadError(str(error), request=self._request) from error
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._stream.close()


def _headers(request: httpx.Request) -> Iterator[tuple[bytes, bytes]]:
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
