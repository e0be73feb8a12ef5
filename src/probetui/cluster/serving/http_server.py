"""An HTTP/1.1 server: h11 on asyncio, one handler for all requests.

The event loop also runs the probes, so no client may block it. Accepting a connection
and parsing a piece of a request each take one turn of the loop; handling a request
shares the turn of its last piece. One lock serializes the turns: however many clients
are waiting, the loop is free between any two. Pipelining is refused (no client of
Kubernetes does it), and a connection ends when its credentials are refused.

A connection counts once it is accepted, before TLS. It is a stranger's until a request
with credentials has been answered other than by 401 or 403. Strangers are limited in
number, time and size of requests, and the oldest is closed for a new one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing
from datetime import datetime
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote

import h11
from msgspec import Struct
from msgspec.structs import replace

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 16
LONGEST_HEAD_BYTES = 1 << 16
MOST_HEADERS = 500
"""They are parsed in one turn: 64 KiB of short ones would take a tenth of a second."""

MOST_PARAMETERS = 4096
"""Of a query; each word of a command is one."""

LARGEST_NUMBER = 2**63 - 1
"""Of a parameter: an int64 of the API."""

HANDSHAKE_SECONDS = 5
"""For TLS, at the begin and at the end of a connection."""

ACCEPT_PAUSE_SECONDS = 1
"""After a connection that could not be accepted: no descriptor was left, mostly."""

CHUNKS_IN_A_TURN = 64
"""Of a stream, before the event loop goes on."""

_BACKLOG = 128
_UNREAD_BYTES = 1 << 18
"""Of a connection, in the kernel's buffer; Linux doubles it for its own use."""
_SHOWN_CHARACTERS = 40
_REFUSALS = frozenset({HTTPStatus.UNAUTHORIZED.value, HTTPStatus.FORBIDDEN.value})

_PHRASES = {
    **{status.value: status.phrase for status in HTTPStatus},
    413: "Request Entity Too Large",
    422: "Unprocessable Entity",
}
"""As Go has them; Python has renamed two. Source: Go net/http/status.go, StatusText."""


class HttpLimits(Struct, frozen=True):
    """The limits of a server's clients.

    `seconds` limits the head and the body of a request, the idle time before it, and
    the reception of a response that is no stream. `strangers` and the fields named
    after it apply to connections without accepted credentials; if a server asks for
    none, all are strangers. `credentials` is the header that has them.
    """

    connections: int = 256
    strangers: int = 64
    seconds: float = 60
    stranger_seconds: float = 10
    body_bytes: int = 3 << 20
    """As much as an API server takes."""
    stranger_body_bytes: int = 1 << 16
    credentials: str = "authorization"


class ParameterError(ValueError):
    """A query parameter is invalid; the message says why."""


class HttpRequest(Struct, frozen=True):
    """One request with its whole body.

    `path` is decoded and has no query. Header names are in lower case; the values of a
    repeated header are joined. `certificate` is the client's, in the form of `ssl`, if
    TLS has verified one.
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

    def number(self, name: str, most: int = LARGEST_NUMBER) -> int | None:
        """Parse an integer parameter; None if it is absent.

        Raises:
            ParameterError: it is no integer, or is more than `most`.
        """
        if not (text := self.parameter(name)):
            return None
        digits = len(str(most))
        if text.isascii() and text.isdecimal() and len(text) <= digits:
            number = int(text)
            if number <= most:
                return number
        shown = text[:_SHOWN_CHARACTERS]
        raise ParameterError(
            f'{name}: Invalid value: "{shown}": must be a whole number up to {most}'
        )

    def has_credentials(self, header: str) -> bool:
        """Return whether it has credentials, valid or not, in a header or by TLS."""
        return header in self.headers or bool(self.certificate)


class HttpResponse(Struct, frozen=True):
    """A response with a body of known length."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class HttpStream(Struct, frozen=True):
    """A streamed response; closed when the client disconnects."""

    status: int
    chunks: AsyncIterator[bytes]
    content_type: str = "application/json"
    headers: Mapping[str, str] = {}


class HttpTunnel(Struct, frozen=True):
    """An upgraded connection.

    `serve` receives the bytes read so far, and leaves closing to the server. With
    status 0 it writes the head of the response itself.
    """

    serve: Callable[
        [bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
    ]
    status: int = 101
    headers: Mapping[str, str] = {}


HttpAnswer: TypeAlias = HttpResponse | HttpStream | HttpTunnel
Handler: TypeAlias = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class HttpServerAddress(Struct, frozen=True):
    """The address of a server."""

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
    limits: HttpLimits | None = None,
) -> AsyncIterator[HttpServerAddress]:
    """Serve while the context lasts; at its end every connection is closed.

    An exception of the handler is logged and answered with 500.

    Args:
        handler: answers requests.
        host: where to listen.
        port: where to listen, 0 for any free port.
        tls: the TLS context of the connections.
        now: the clock, in UTC; without it, responses have no date.
        limits: the limits of clients.

    Raises:
        OSError: the address cannot be used.
    """
    server = _Server(handler, tls, now, limits or HttpLimits())
    async with AsyncExitStack() as stack:
        listeners = [
            stack.enter_context(closing(listener))
            for listener in await _listen(host, port)
        ]
        stack.push_async_callback(server.close)
        for listener in listeners:
            accepting = asyncio.create_task(server.accept_from(listener))
            stack.push_async_callback(_cancelled, accepting)
        bound = listeners[0].getsockname()
        yield HttpServerAddress(bound[0], bound[1], tls is not None)


async def _listen(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for every address of a host."""
    loop = asyncio.get_running_loop()
    addresses = await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listeners: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(addresses):
            listener = socket.create_server(address, family=family, backlog=_BACKLOG)
            # Connections inherit it. By default a client that leaves can have sent
            # 6 MiB, in frames of a few bytes, which take minutes to be read.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UNREAD_BYTES)
            listener.settimeout(0)
            listeners.append(listener)
    except OSError as error:
        for listener in listeners:
            listener.close()
        # The error's own text repeats the address.
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(error.errno, reason) from error
    return listeners


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Server:
    """The connections of a server.

    `strangers` are the connections without accepted credentials, oldest first.
    """

    def __init__(
        self,
        handler: Handler,
        tls: ssl.SSLContext | None,
        now: Callable[[], datetime] | None,
        limits: HttpLimits,
    ) -> None:
        self.handler = handler
        self.now = now
        self.limits = limits
        self.strangers: dict[asyncio.Task[None], None] = {}
        self._tls = tls
        self._connections: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Lock()

    async def turn(self) -> None:
        """Wait for a turn of the event loop that no other connection uses."""
        async with self._turns:
            await asyncio.sleep(0)

    async def accept_from(self, listener: socket.socket) -> None:
        """Accept connections until cancelled, one turn each."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                log.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            self._admit(client)
            await self.turn()

    async def close(self) -> None:
        """Close every connection."""
        await _cancelled(*self._connections)

    def _admit(self, client: socket.socket) -> None:
        """Serve a connection; close the oldest stranger if there are too many."""
        limits = self.limits
        if (
            len(self.strangers) >= limits.strangers
            or len(self._connections) >= limits.connections
        ):
            if not self.strangers:
                client.close()
                return
            oldest = next(iter(self.strangers))
            del self.strangers[oldest]
            oldest.cancel()
        task = asyncio.create_task(self._serve(client))
        self._connections.add(task)
        self.strangers[task] = None

        def forget(task: asyncio.Task[None]) -> None:
            client.close()  # The task may have been cancelled before it started.
            self._connections.discard(task)
            self.strangers.pop(task, None)

        task.add_done_callback(forget)

    async def _serve(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(CHUNK_BYTES)
        protocol = _Protocol(reader)
        seconds = HANDSHAKE_SECONDS if self._tls else None
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=seconds,
            )
        except OSError:
            return  # The TLS handshake failed or took too long.
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            await _ClientConnection(reader, writer, self).serve()
        except (TimeoutError, OSError, h11.ProtocolError):
            pass  # The client disconnected, or is too slow.
        except Exception:
            log.exception("a connection ended by an error of ours")
        finally:
            transport.abort()
            _forget_frames(reader.exception())


class _Protocol(asyncio.StreamReaderProtocol):
    """Passes on what is received, and keeps no frames of the connection's end."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End the streams; a failed write is told after its connection has ended."""
        _forget_frames(exc)
        super().connection_lost(exc)


def _forget_frames(error: BaseException | None) -> None:
    """Drop the traceback of the error that ended a connection.

    The reader keeps the error, and its traceback the frames with the reader: a cycle
    that holds the buffers until the garbage collector runs, which takes minutes.
    """
    if error is not None:
        error.__traceback__ = None


class _ClientConnection:
    """One client's connection, which carries requests in sequence."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: _Server,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._server = server
        self._task = asyncio.current_task()
        self._lines_of_head = 0
        self._is_last = False
        """Whether the connection ends with the next answer."""
        self._h11 = h11.Connection(
            h11.SERVER, max_incomplete_event_size=LONGEST_HEAD_BYTES
        )

    @property
    def _is_strange(self) -> bool:
        return self._task in self._server.strangers

    @property
    def _seconds(self) -> float:
        limits = self._server.limits
        return limits.stranger_seconds if self._is_strange else limits.seconds

    async def serve(self) -> None:
        """Answer requests until the connection ends."""
        try:
            while (request := await self._read_request()) is not None:
                answer = await self._answer(request)
                if isinstance(answer, HttpTunnel):
                    await self._tunnel(answer)
                    return
                # Data after a request and before its response is pipelining.
                self._is_last = self._is_last or bool(self._h11.trailing_data[0])
                await self._send_answer(answer, is_head=request.method == "HEAD")
                if self._h11.our_state is not h11.DONE or self._is_last:
                    break
                self._h11.start_next_cycle()
        except h11.RemoteProtocolError as error:
            if self._h11.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                self._is_last = True
                text = f"{error}\n".encode()
                await self._send_answer(
                    HttpResponse(error.error_status_hint, text, "text/plain")
                )
        await self._close()

    async def _read_request(self) -> HttpRequest | None:
        limits = self._server.limits
        most = limits.stranger_body_bytes if self._is_strange else limits.body_bytes
        async with asyncio.timeout(self._seconds):
            self._lines_of_head = 0
            head = await self._next_event()
            if not isinstance(head, h11.Request):
                return None
            if self._h11.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=100, headers=[]))
            body = bytearray()
            while isinstance(event := await self._next_event(), h11.Data):
                body += event.data
                await self._server.turn()
                if len(body) > most:
                    raise h11.RemoteProtocolError(
                        "the request body is too long",
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    )
        certificate = self._writer.get_extra_info("peercert")
        return replace(_request(head, bytes(body)), certificate=certificate or None)

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(CHUNK_BYTES)
            await self._server.turn()
            if self._h11.their_state is h11.IDLE:
                self._lines_of_head += data.partition(b"\r\n\r\n")[0].count(b"\n")
                if self._lines_of_head > MOST_HEADERS:
                    raise h11.RemoteProtocolError(
                        "too many headers",
                        HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    )
            self._h11.receive_data(data)
        return event  # type: ignore[return-value]  # NEED_DATA is not it

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        try:
            answer = await self._server.handler(request)
        except Exception:
            log.exception("%s %.200s failed", request.method, request.path)
            return HttpResponse(500, b"internal error\n", "text/plain")
        if isinstance(answer, HttpResponse) and answer.status in _REFUSALS:
            self._is_last = True
        elif (
            request.has_credentials(self._server.limits.credentials)
            and self._task is not None
        ):
            self._server.strangers.pop(self._task, None)
        if isinstance(answer, HttpTunnel) and request.method == "HEAD":
            return HttpResponse(405, b"only GET and POST\n", "text/plain")
        return answer

    async def _send_answer(
        self, answer: HttpResponse | HttpStream, *, is_head: bool = False
    ) -> None:
        if isinstance(answer, HttpStream) and not is_head:
            await self._send_stream(answer)
            return
        if isinstance(answer, HttpStream):
            await _close_chunks(answer.chunks)
            self._write(self._head(answer, {}))
        else:
            length = {"Content-Length": str(len(answer.body))}
            self._write(self._head(answer, length))
            if not is_head:
                self._write(h11.Data(data=answer.body))
        self._write(h11.EndOfMessage())
        async with asyncio.timeout(self._seconds):
            await self._writer.drain()

    async def _send_stream(self, answer: HttpStream) -> None:
        """Send chunks as they come, until the last or the client's disconnection.

        A client that sends anything meanwhile is disconnected, too.
        """
        self._write(self._head(answer, {}))
        await self._writer.drain()
        gone = asyncio.ensure_future(self._reader.read(CHUNK_BYTES))
        sending = asyncio.ensure_future(self._send_chunks(answer.chunks))
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sending):
                task.cancel()
            read, sent = await asyncio.gather(gone, sending, return_exceptions=True)
        if isinstance(sent, OSError):
            raise sent
        if isinstance(sent, Exception):
            log.error("the answer is cut off", exc_info=sent)
            return
        if isinstance(sent, asyncio.CancelledError) or isinstance(read, bytes):
            raise ConnectionResetError

    async def _send_chunks(self, chunks: AsyncIterator[bytes]) -> None:
        count = 0
        async with aclosing(chunks):  # type: ignore[type-var]  # generators all
            async for chunk in chunks:
                self._write(h11.Data(data=chunk))
                await self._writer.drain()
                count += 1
                if count % CHUNKS_IN_A_TURN == 0:
                    await self._server.turn()
        self._write(h11.EndOfMessage())
        await self._writer.drain()

    def _head(
        self, answer: HttpResponse | HttpStream, more: Mapping[str, str]
    ) -> h11.Response:
        now = self._server.now
        date = {"Date": format_datetime(now(), usegmt=True)} if now else {}
        close = {"Connection": "close"} if self._is_last else {}
        headers = {
            "Cache-Control": "no-cache, private",
            "Content-Type": answer.content_type,
            **answer.headers,
            **date,
            **close,
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
        await self._close()

    async def _close(self) -> None:
        """Flush and close the connection."""
        self._writer.close()
        async with asyncio.timeout(self._seconds):
            await self._writer.wait_closed()

    def _write(self, event: h11.Event) -> None:
        self._writer.write(self._h11.send(event) or b"")


async def _close_chunks(chunks: AsyncIterator[bytes]) -> None:
    """Close a generator that is not iterated any further."""
    if isinstance(chunks, AsyncGenerator):
        await chunks.aclose()


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    target = head.target.decode("ascii", "replace")
    path, _, query = target.partition("?")
    headers: dict[str, list[str]] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers.setdefault(name, []).append(value)
    try:
        parameters = parse_qsl(
            query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS
        )
    except ValueError as error:
        raise h11.RemoteProtocolError(f"the query cannot be read: {error}") from None
    return HttpRequest(
        method=head.method.decode("ascii"),
        path=unquote(path),
        query=tuple(parameters),
        headers={name: ", ".join(values) for name, values in headers.items()},
        body=body,
    )
