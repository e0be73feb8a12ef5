"""One GET over HTTP/2, on a connection whose server chose it by ALPN.

The kubelet offers HTTP/2 to every https server and uses it where it is taken.

Difference: the head of an answer over HTTP/2 has at most 64 KiB, in 64 frames; Go takes
10 MiB. A server is told so in the settings.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import httpx
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from probetui.errors import GoError
from probetui.probers.connection import Connection

_CONFIG = h2.config.H2Configuration(
    client_side=True,
    header_encoding=None,
    # The kubelet's headers go out as they are, and what comes is only looked at.
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    logger=None,
)
# A frame of nine bytes takes 20 µs to read: a slice of them takes 2 ms.
_SLICE_BYTES = 1 << 10
_STATUS = re.compile(rb"[0-9]{1,9}")
_HEAD_TOO_LONG = "http2: response header list larger than advertised limit"
# Headers about the connection; HTTP/2 has none (RFC 9113, 8.2.2).
_NOT_SENT = frozenset(
    {b"host", b"connection", b"proxy-connection", b"upgrade", b"keep-alive"}
)


async def exchange(connection: Connection, request: httpx.Request) -> httpx.Response:
    """Send a request and wait for the head of the response; raises `GoError`."""
    stream = _Stream(connection, request)
    await stream.send_request()
    status, headers = await stream.receive_head()
    return httpx.Response(
        status,
        headers=headers,
        stream=stream,
        request=request,
        extensions={"http_version": b"HTTP/2"},
    )


class _Stream(httpx.AsyncByteStream):
    """The only stream of a connection, and the body that comes over it."""

    def __init__(self, connection: Connection, request: httpx.Request) -> None:
        self._connection = connection
        self._request = request
        self._h2 = h2.connection.H2Connection(config=_CONFIG)
        # As Go: what a server pushes would be kept.
        self._h2.local_settings[SettingCodes.ENABLE_PUSH] = 0
        self._h2.local_settings.acknowledge()
        self._pieces: list[bytes] = []
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._is_over = False

    async def send_request(self) -> None:
        self._h2.initiate_connection()
        self._h2.send_headers(1, _headers(self._request), end_stream=True)
        await self._flush()

    async def receive_head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        while self._head is None:
            await self._receive()
        return self._head

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            while not self._pieces and not self._is_over:
                await self._receive()
        except GoError as error:
            raise httpx.ReadError(str(error), request=self._request) from error
        if not self._pieces:
            raise StopAsyncIteration
        return self._pieces.pop(0)

    async def aclose(self) -> None:
        self._connection.close()

    async def _receive(self) -> None:
        data = await self._connection.receive()
        if not data:
            raise GoError("unexpected EOF")
        for start in range(0, len(data), _SLICE_BYTES):
            await self._connection.give_way()
            self._read_frames(data[start : start + _SLICE_BYTES])
            await self._flush()

    def _read_frames(self, data: bytes) -> None:
        try:
            events = self._h2.receive_data(data)
        except h2.exceptions.DenialOfServiceError as error:
            raise GoError(_HEAD_TOO_LONG) from error
        except h2.exceptions.ProtocolError as error:
            raise GoError(f"http2: {error}") from error
        for event in events:
            self._take(event)

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived(headers=headers):
                self._head = _read_head(headers)
            case h2.events.DataReceived(data=data, flow_controlled_length=length):
                self._h2.acknowledge_received_data(length, 1)
                self._pieces.append(data)
            case h2.events.StreamEnded():
                self._is_over = True
            case h2.events.StreamReset(error_code=code, remote_reset=True):
                name = _error_name(code)
                raise GoError(f"stream error: stream ID 1; {name}; received from peer")
            case h2.events.ConnectionTerminated(last_stream_id=0, error_code=code):
                raise GoError(
                    "http2: server sent GOAWAY and closed the connection; "
                    f'LastStreamID=0, ErrCode={_error_name(code)}, debug=""'
                )
            case _:
                pass  # settings, pings, interim responses: h2 has answered them

    async def _flush(self) -> None:
        if data := self._h2.data_to_send():
            await self._connection.send(data)


def _headers(request: httpx.Request) -> Iterator[tuple[bytes, bytes]]:
    yield b":authority", request.headers["host"].encode("latin-1")
    yield b":method", b"GET"
    yield b":path", request.extensions.get("target", request.url.raw_path)
    yield b":scheme", request.url.raw_scheme
    for name, value in request.headers.raw:
        if (lowered := name.lower()) not in _NOT_SENT:
            yield lowered, value


def _read_head(
    headers: list[tuple[bytes, bytes]],
) -> tuple[int, list[tuple[bytes, bytes]]]:
    status = dict(headers).get(b":status", b"")
    if not status:
        raise GoError("malformed response from server: missing status pseudo header")
    if not _STATUS.fullmatch(status):
        text = "malformed response from server: malformed non-numeric status"
        raise GoError(f"{text} pseudo header")
    return int(status), [each for each in headers if not each[0].startswith(b":")]


def _error_name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else f"unknown error code {code}"
