"""An HTTP/1.1 server: h11 on asyncio, one handler for all requests."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

import h11
from msgspec import Struct
from msgspec.structs import replace

CHUNK_BYTES = 1 << 16
LONGEST_HEAD_BYTES = 1 << 16
LONGEST_BODY_BYTES = 3 << 20
"""As much as an API server takes."""

_PHRASES = {
    **{status.value: status.phrase for status in HTTPStatus},
    413: "Request Entity Too Large",
    422: "Unprocessable Entity",
}
"""As Go has them; Python has renamed two. Source: Go net/http/status.go, StatusText."""

MAX_CONNECTIONS = 1000
"""Further connections are closed without an answer."""

REQUEST_TIMEOUT_SECONDS = 60
"""For the head and the body of a request, and for idleness before it."""


class HttpRequest(Struct, frozen=True):
    """One request, its body read.

    `path` is decoded and has no query. Names of headers are in lower case; values of a
    header that comes twice are joined.
    `certificate` is the client's, as `ssl` has it, if TLS has verified one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes = b""
    certificate: Mapping[str, Any] | None = None

    def parameter(self, name: str) -> str:
        """Return the first value of a query parameter, empty for none."""
        return next((value for key, value in self.query if key == name), "")

    def parameters(self, name: str) -> list[str]:
        """Return all values of a query parameter."""
        return [value for key, value in self.query if key == name]


class HttpResponse(Struct, frozen=True):
    """An answer with a body of known length."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class HttpStream(Struct, frozen=True):
    """An answer whose body comes bit by bit; closed when the client goes away."""

    status: int
    chunks: AsyncIterator[bytes]
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class HttpTunnel(Struct, frozen=True):
    """A connection that is no HTTP from here on.

    `serve` gets what was read already, and closes nothing. With status 0 it writes the
    response's head itself.
    """

    serve: Callable[
        [bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
    ]
    status: int = 101
    headers: Mapping[str, str] = {}


class HttpCut(Struct, frozen=True):
    """An answer of which so many bytes are sent before the connection is closed.

    0 closes it at once; the head counts.
    """

    after_bytes: int
    answer: HttpResponse | HttpStream | None = None


HttpAnswer: TypeAlias = HttpResponse | HttpStream | HttpTunnel | HttpCut
Handler: TypeAlias = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpServerAddress(Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int
    uses_tls: bool

    @property
    def url(self) -> str:
        """The server's URL, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.uses_tls else ''}://{host}:{self.port}"


@asynccontextmanager
async def serve_http(
    handler: Handler,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    now: Callable[[], datetime] | None = None,
) -> AsyncIterator[HttpServerAddress]:
    """Serve while the context lasts; at its end every connection is closed.

    An exception of the handler is answered with 500, and raised at the end.

    Args:
        handler: answers requests.
        host: where to listen.
        port: where to listen, 0 for any that is free.
        tls: of each connection.
        now: the clock, in UTC; without one answers have no date.

    Raises:
        OSError: the address cannot be used.
    """
    connections: set[asyncio.Task[None]] = set()
    failures: list[Exception] = []

    async def accept(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(connections) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # a callback of a stream is a task
        connections.add(task)
        try:
            await _ClientConnection(reader, writer, handler, failures, now).serve()
        except (TimeoutError, OSError, h11.ProtocolError, asyncio.CancelledError):
            pass  # The client is gone, or the server ends.
        except Exception as error:  # noqa: BLE001  # raised at the end
            failures.append(error)
        finally:
            connections.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(accept, host, port, limit=CHUNK_BYTES, ssl=tls)
    bound = server.sockets[0].getsockname()
    try:
        yield HttpServerAddress(bound[0], bound[1], tls is not None)
    finally:
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
    if failures:
        raise failures[0]


class _CutOff(Exception):  # noqa: N818  # no error: the answer ends here
    """As much was sent as was to be sent."""


class _ClientConnection:
    """One client's connection, request after request."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
        failures: list[Exception],
        now: Callable[[], datetime] | None,
    ) -> None:
        self._now = now
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._failures = failures
        self._left_to_send: int | None = None
        self._h11 = h11.Connection(
            h11.SERVER, max_incomplete_event_size=LONGEST_HEAD_BYTES
        )

    async def serve(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while (request := await self._read_request()) is not None:
                answer = await self._answer(request)
                if isinstance(answer, HttpTunnel):
                    await self._tunnel(answer)
                    return
                await self._send_answer(answer, is_head=request.method == "HEAD")
                if self._h11.our_state is not h11.DONE:
                    break
                self._h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self._h11.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                text = f"{error}\n".encode()
                await self._send_answer(
                    HttpResponse(error.error_status_hint, text, "text/plain")
                )
        except _CutOff:
            pass
        self._writer.close()
        await self._writer.wait_closed()

    async def _read_request(self) -> HttpRequest | None:
        async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
            head = await self._next_event()
            if not isinstance(head, h11.Request):
                return None
            if self._h11.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=100, headers=[]))
            body = bytearray()
            while isinstance(event := await self._next_event(), h11.Data):
                body += event.data
                if len(body) > LONGEST_BODY_BYTES:
                    raise h11.RemoteProtocolError(
                        "the request body is too long",
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    )
        certificate = self._writer.get_extra_info("peercert")
        return replace(_request(head, bytes(body)), certificate=certificate or None)

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(await self._reader.read(CHUNK_BYTES))
        return event  # type: ignore[return-value]  # NEED_DATA is not it

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        try:
            return await self._handler(request)
        except Exception as error:  # noqa: BLE001  # kept for who started the server
            self._failures.append(error)
            return HttpResponse(500, b"internal error\n", "text/plain")

    async def _send_answer(self, answer: HttpAnswer, *, is_head: bool = False) -> None:
        if isinstance(answer, HttpCut):
            self._left_to_send = answer.after_bytes
            if answer.answer is None or not answer.after_bytes:
                raise _CutOff
            answer = answer.answer
        if isinstance(answer, HttpStream):
            await self._send_stream(answer)
        elif isinstance(answer, HttpResponse):
            length = {"Content-Length": str(len(answer.body))}
            self._write(self._head(answer, length))
            if not is_head:
                self._write(h11.Data(data=answer.body))
            self._write(h11.EndOfMessage())
            await self._writer.drain()

    async def _send_stream(self, answer: HttpStream) -> None:
        """Send chunks as they come, until the last or until the client goes away."""
        self._write(self._head(answer, {}))
        await self._writer.drain()
        gone = asyncio.ensure_future(self._reader.read(CHUNK_BYTES))
        sending = asyncio.ensure_future(self._send_chunks(answer.chunks))
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
            if not sending.done() and gone.result():
                # The next request came early.
                self._h11.receive_data(gone.result())
                await sending
        finally:
            for task in (gone, sending):
                task.cancel()
            outcomes = await asyncio.gather(gone, sending, return_exceptions=True)
        read, sent = outcomes
        if isinstance(sent, _CutOff | OSError):
            raise sent
        if isinstance(sent, Exception):
            self._failures.append(sent)
            raise _CutOff
        if isinstance(sent, asyncio.CancelledError):
            raise ConnectionResetError
        if isinstance(read, bytes) and not read:
            raise ConnectionResetError

    async def _send_chunks(self, chunks: AsyncIterator[bytes]) -> None:
        async with aclosing(chunks):  # type: ignore[type-var]  # generators all
            async for chunk in chunks:
                self._write(h11.Data(data=chunk))
                await self._writer.drain()
        self._write(h11.EndOfMessage())
        await self._writer.drain()

    def _head(
        self, answer: HttpResponse | HttpStream, more: Mapping[str, str]
    ) -> h11.Response:
        date = {"Date": format_datetime(self._now(), usegmt=True)} if self._now else {}
        headers = {
            "Cache-Control": "no-cache, private",
            "Content-Type": answer.content_type,
            **answer.headers,
            **date,
            **more,
        }
        return h11.Response(
            status_code=answer.status,
            headers=list(headers.items()),
            reason=_PHRASES.get(answer.status, "").encode(),
        )

    async def _tunnel(self, answer: HttpTunnel) -> None:
        if answer.status:
            headers = list(answer.headers.items())
            self._write(
                h11.InformationalResponse(
                    status_code=answer.status,
                    headers=headers,
                    reason=_PHRASES.get(answer.status, "").encode(),
                )
            )
            await self._writer.drain()
        left, _ = self._h11.trailing_data
        await answer.serve(left, self._reader, self._writer)
        self._writer.close()
        await self._writer.wait_closed()

    def _write(self, event: h11.Event) -> None:
        data = self._h11.send(event) or b""
        if self._left_to_send is not None:
            data = data[: self._left_to_send]
            self._left_to_send -= len(data)
        self._writer.write(data)
        if self._left_to_send == 0:
            raise _CutOff


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    target = head.target.decode("ascii", "surrogateescape")
    path, _, query = target.partition("?")
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return HttpRequest(
        method=head.method.decode("ascii"),
        path=unquote(path),
        query=tuple(parse_qsl(query, keep_blank_values=True)),
        headers=headers,
        body=body,
    )
