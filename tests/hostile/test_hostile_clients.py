"""Clients without a right, and with one, that attack the servers of a session.

What is asserted is how long the event loop was held, in time of its own thread, and how
many bytes a server took: neither depends on how fast the machine is. The clients are in
threads of their own.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import ssl
import struct
import tracemalloc
from asyncio import StreamReader
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx2
import pytest

from probetui.cluster.api_server.api import ADMIN, ApiServer
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.api_server.pod_connections import log_connection
from probetui.cluster.api_server.resources import PODS
from probetui.cluster.local_api.session_connections import SessionLogs
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.http_server import (
    HttpAnswer,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    HttpStream,
    serve_http,
)
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteStreams,
    answer_exec,
    read_remote_command,
)
from probetui.drive.clocks import SystemClock
from probetui.record.masking import Mask
from probetui.runtimes.streaming.spdy import SpdyConnection, SpdyError
from probetui.runtimes.streaming.spdy_streams import SpdyStream
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.hostile.clients import (
    EXEC_ATTACKS,
    HTTP_ATTACKS,
    TLS_ATTACKS,
    Attack,
    Target,
)
from tests.turns import LONGEST_TURN_SECONDS, measured_turns

TOKEN = "token"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXEC = "/exec?command=cat&stdin=1&stdout=1&stderr=1&tty=1"
MOST_TAKEN_BYTES = 7 << 20
"""Of one client: its own buffer of at most 4 MiB, a small one of the server's, and what
is read from that. What a client leaves in the server's is read after it has left."""

MOST_LEFT_BYTES = 1 << 20
MOST_KEPT_STREAMS = 20
"""Of a command: five that it wants, and those that are being handled."""

LONG_NAME_BYTES = 200
"""A stream is opened and reset with fewer bytes on the wire, on average."""

SECONDS = pytest.mark.parametrize(
    "seconds", [pytest.param(1, id="short"), pytest.param(12, marks=pytest.mark.slow)]
)
"""How long an attack takes: a part of it in every run, all of it in some."""


def a_feed(pods: int = 100) -> ObjectFeed:
    feed = ObjectFeed(lambda: NOW)
    for number in range(pods):
        container = {"name": "app", "image": "busybox:1.36"}
        feed.put(
            PODS,
            {
                "metadata": {"name": f"web-{number}", "namespace": "default"},
                "spec": {"nodeName": "node1", "containers": [container]},
                "status": {"phase": "Pending"},
            },
        )
    return feed


def tls_context() -> ssl.SSLContext:
    return self_signed(["127.0.0.1"], SystemClock().now()).tls_context()


@asynccontextmanager
async def a_session(*, tls: bool = False, token: str = TOKEN) -> AsyncIterator[Target]:
    """Serve pods as `probetui serve` does."""
    api = ApiServer(
        a_feed(),
        version="1.36.2",
        tokens={token: ADMIN},
        read_only="no",
        connect=log_connection(
            SessionLogs(FakeRuntime(FakeEngine(FakeClock())), Mask()), lambda: NOW
        ),
    )
    async with serve_http(api.handle, tls=tls_context() if tls else None) as address:
        yield Target(address.port, "/api/v1/pods", uses_tls=tls)


async def under_attack(
    attack: Callable[[Target], int],
    target: Target,
    seconds: float,
    beside: Callable[[], Awaitable[None]] | None = None,
    *,
    clients: int = 4,
) -> list[int]:
    """Attack, assert that no turn of the loop is long; return what clients counted."""
    running = Attack(attack, target, clients)
    async with measured_turns() as turns:
        running.start()
        await asyncio.sleep(seconds)
        if beside is not None:
            await beside()
        await asyncio.to_thread(running.stop)
    assert turns.longest < LONGEST_TURN_SECONDS
    return running.results


@SECONDS
@pytest.mark.parametrize("token", ["", TOKEN], ids=["without-a-token", "with-a-token"])
@pytest.mark.parametrize("name", HTTP_ATTACKS)
async def test_requests_hold_no_turn_of_the_loop(
    name: str, token: str, seconds: float
) -> None:
    async with a_session() as target:
        target.token = token
        results = await under_attack(HTTP_ATTACKS[name], target, seconds)
    assert len(results) == 4


@SECONDS
@pytest.mark.parametrize("name", TLS_ATTACKS)
async def test_connections_without_a_token_leave_room_for_one_with_it(
    name: str, seconds: float
) -> None:
    async with a_session(tls=True) as target:

        async def list_pods() -> None:
            async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
                answer = await client.get(
                    f"https://127.0.0.1:{target.port}/api/v1/pods?limit=1",
                    headers={"Authorization": f"Bearer {TOKEN}"},
                )
            assert answer.status_code == 200

        await under_attack(TLS_ATTACKS[name], target, seconds, list_pods)


async def test_half_open_connections_are_few() -> None:
    async with a_session(tls=True) as target:
        (kept,) = await under_attack(TLS_ATTACKS["half-open"], target, 3, clients=1)
    assert 0 < kept <= 2 * HttpLimits().strangers  # some are accepted just now


@pytest.mark.parametrize("name", [*TLS_ATTACKS, "many-headers"])
async def test_what_connections_took_is_given_back(name: str) -> None:
    """The allocator keeps most of it for the process, which uses it again."""
    attack = {**TLS_ATTACKS, **HTTP_ATTACKS}[name]
    async with a_session(tls=True) as target:
        await asyncio.to_thread(_attack_once, attack, target)  # what is made once
        gc.collect()
        tracemalloc.start()
        try:
            (attempts,) = await asyncio.to_thread(_attack_once, attack, target)
            async with asyncio.timeout(60):  # until the server has seen their end
                while traced_bytes() >= MOST_LEFT_BYTES:  # the server's
                    gc.collect()
                    await asyncio.sleep(0.05)
            left = traced_bytes()
        finally:
            tracemalloc.stop()
    assert attempts
    assert left < MOST_LEFT_BYTES


def traced_bytes() -> int:
    return tracemalloc.get_traced_memory()[0]


def _attack_once(attack: Callable[[Target], int], target: Target) -> list[int]:
    """Return what the client counted."""
    target.stopped.clear()
    running = Attack(attack, target, 1)
    running.start()
    target.stopped.wait(2)
    running.stop()
    return running.results


@asynccontextmanager
async def a_command(*, tls: bool = False) -> AsyncIterator[Target]:
    """Serve a command that reads no input and takes no size."""

    async def never_read(_: RemoteCommand, __: RemoteStreams) -> int:
        await asyncio.Event().wait()
        return 0

    async def handle(request: HttpRequest) -> HttpAnswer:
        command = read_remote_command(request)
        return answer_exec(request, command, never_read) or HttpResponse(400)

    async with serve_http(handle, tls=tls_context() if tls else None) as address:
        yield Target(address.port, EXEC, uses_tls=tls)


@SECONDS
@pytest.mark.parametrize("name", EXEC_ATTACKS)
async def test_a_command_is_sent_no_more_than_it_takes(
    name: str, seconds: float
) -> None:
    async with a_command() as target:
        results = await under_attack(EXEC_ATTACKS[name], target, seconds)
    is_input = name.endswith(("stdin", "short-messages", "short-data"))
    if is_input:
        assert max(results) < MOST_TAKEN_BYTES


async def test_streams_that_a_client_has_reset_are_forgotten() -> None:
    async with a_command() as target:
        running = Attack(EXEC_ATTACKS["spdy-openings"], target, 1)
        running.start()
        await asyncio.sleep(2)
        gc.collect()
        kept = count_streams()
        await asyncio.to_thread(running.stop)
    opened = max(running.results) / LONG_NAME_BYTES
    assert opened > MOST_KEPT_STREAMS
    assert kept <= MOST_KEPT_STREAMS


async def test_streams_go_with_their_connection() -> None:
    """A session looks for garbage once in minutes."""
    before = count_streams()
    async with a_command() as target:
        gc.disable()
        try:
            attack = EXEC_ATTACKS["spdy-half-open"]
            await asyncio.to_thread(_attack_once, attack, target)
            async with asyncio.timeout(60):
                while left := count_streams() - before:  # noqa: ASYNC110  # the server's
                    await asyncio.sleep(0.05)
        finally:
            gc.enable()
    assert left == 0


def _reset(connection: socket.socket) -> None:
    """Close a connection so that the peer sees a reset."""
    now = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    connection.close()


_HEADS = {
    "nothing": b"",
    "half-a-head": b"GET / HTTP/1.1\r\nHost: x\r\nA: ",
    "half-a-body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1",
    "a-tunnel": (
        b"POST /exec?command=cat&stdin=1&stdout=1 HTTP/1.1\r\nHost: x\r\n"
        b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
    ),
}


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("sent", _HEADS)
async def test_what_is_read_into_goes_with_a_reset_connection(
    sent: str, *, tls: bool
) -> None:
    """Each connection has a buffer of 256 KiB, and garbage is rarely looked for."""

    def send(target: Target) -> socket.socket:
        connection = target.connect()
        connection.sendall(_HEADS[sent])
        return connection

    def count_readers() -> int:
        return sum(isinstance(found, StreamReader) for found in gc.get_objects())

    async with a_command(tls=tls) as target:
        before = count_readers()
        gc.disable()
        try:
            connections = [await asyncio.to_thread(send, target) for _ in range(5)]
            async with asyncio.timeout(20):
                while count_readers() < before + 5:  # noqa: ASYNC110  # the server's
                    await asyncio.sleep(0.05)
            for connection in connections:
                _reset(connection)
            async with asyncio.timeout(20):
                while count_readers() > before:  # noqa: ASYNC110  # the server's
                    await asyncio.sleep(0.05)
        finally:
            gc.enable()


def count_streams() -> int:
    return sum(isinstance(found, SpdyStream) for found in gc.get_objects())


@pytest.mark.parametrize("length", [5_000, 60_000, 900_000])
def test_headers_of_a_stream_are_short(length: int) -> None:
    client, server = SpdyConnection(), SpdyConnection()
    client.open({"streamtype": "x" * length})
    with pytest.raises(SpdyError, match="headers of more than 4096 bytes"):
        list(server.receive(bytes(client.output)))


async def exchange(target: Target, data: bytes) -> bytes:
    """Send bytes, and return all that is answered until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    writer.write(data)
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    return answer


async def test_a_head_has_few_headers() -> None:
    async with a_session() as target:
        target.token = TOKEN
        few, many = [
            await exchange(
                target, target.request("GET", "Connection: close", *["a: b"] * count)
            )
            for count in (400, 600)
        ]
    assert few.startswith(b"HTTP/1.1 200 ")
    assert many.startswith(b"HTTP/1.1 431 ")


async def test_a_pipelined_request_is_not_answered() -> None:
    async with a_session() as target:
        target.token = TOKEN
        answer = await exchange(target, target.request() * 3)
    assert answer.count(b"HTTP/1.1 200 OK") == 1
    assert b"connection: close" in answer.lower()


@pytest.mark.parametrize(
    ("token", "status"),
    [pytest.param("", 403, id="none"), pytest.param("other", 401, id="another")],
)
async def test_a_connection_ends_with_a_refusal(token: str, status: int) -> None:
    async with a_session() as target:
        target.token = token
        answer = await exchange(target, target.request())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


DEEP = b"[" * 20_000
MANY_DIGITS = "9" * 400
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
LOG = "/api/v1/namespaces/default/pods/web-1/log"


def review(spec: bytes) -> bytes:
    return b'{"kind": "SelfSubjectAccessReview", "spec": ' + spec + b"}"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        *(
            pytest.param("GET", f"{path}{name}={MANY_DIGITS}", b"", 400, id=name)
            for path, name in (
                ("/api/v1/pods?", "limit"),
                ("/api/v1/pods?", "resourceVersion"),
                ("/api/v1/pods?watch=1&", "timeoutSeconds"),
                (f"{LOG}?", "sinceSeconds"),
                (f"{LOG}?", "tailLines"),
                (f"{LOG}?", "limitBytes"),
            )
        ),
        pytest.param("GET", f"{LOG}?sinceSeconds={2**63 - 1}", b"", 400, id="no-log"),
        pytest.param("GET", f"{LOG}?sinceTime=9999", b"", 400, id="since-time"),
        pytest.param("POST", REVIEWS, b'{"a": ' + DEEP, 400, id="deep"),
        pytest.param("POST", REVIEWS, review(b"[]"), 201, id="empty-spec"),
        pytest.param("POST", REVIEWS, review(b"[1]"), 400, id="spec-of-a-list"),
        pytest.param("POST", REVIEWS, review(b'"x"'), 400, id="spec-of-a-text"),
        pytest.param("POST", REVIEWS, b'{"kind": []}', 400, id="kind-of-a-list"),
        pytest.param("POST", REVIEWS, b"\xff", 400, id="no-text"),
        pytest.param(
            "POST",
            REVIEWS,
            review(b'{"resourceAttributes": {"resource": {}}}'),
            400,
            id="mistyped-resource",
        ),
        pytest.param(
            "POST", REVIEWS, review(b'{"resourceAttributes": 1}'), 400, id="number"
        ),
        pytest.param("POST", REVIEWS, b" " * 70_000, 413, id="long"),
        pytest.param("HEAD", "/api/v1/pods?watch=1", b"", 200, id="head-of-a-watch"),
        pytest.param("HEAD", "/api/v1/pods", b"", 200, id="head-of-a-list"),
        pytest.param("HEAD", f"{LOG}?follow=1", b"", 400, id="head-of-a-log"),
        pytest.param("GET", "/api/v1/pods?" + "&" * 5000, b"", 400, id="parameters"),
    ],
)
async def test_an_odd_request_gets_its_status_and_nothing_else_happens(
    method: str,
    path: str,
    body: bytes,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        a_session() as target,
        httpx2.AsyncClient(trust_env=False, timeout=30) as client,
    ):
        url = f"http://127.0.0.1:{target.port}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        found = await client.request(method, url + path, content=body, headers=headers)
        again = await client.get(f"{url}/api/v1/pods?limit=1", headers=headers)
    assert (found.status_code, again.status_code) == (status, 200)
    assert [one for one in caplog.records if one.levelno >= logging.ERROR] == []


async def test_an_error_of_a_handler_is_an_answer_and_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(_: HttpRequest) -> HttpAnswer:
        raise ZeroDivisionError("for example")

    async with (
        serve_http(fail) as address,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.get(f"{address.url}/some/path")

    assert (answer.status_code, answer.text) == (500, "internal error\n")
    assert "GET /some/path failed" in caplog.text


async def test_an_error_in_a_stream_cuts_the_answer_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"a line\n"
        raise ZeroDivisionError("for example")

    async def answer(_: HttpRequest) -> HttpAnswer:
        return HttpStream(200, chunks())

    async with (
        serve_http(answer) as address,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        with pytest.raises(httpx2.RemoteProtocolError, match="incomplete chunked read"):
            await client.get(address.url)

    assert "the answer is cut off" in caplog.text
    assert "ZeroDivisionError: for example" in caplog.text


async def test_of_sizes_the_newest_is_kept_and_what_is_none_is_ignored() -> None:
    sizes: list[tuple[int, int]] = []
    came = asyncio.Event()

    async def take_late(_: RemoteCommand, streams: RemoteStreams) -> int:
        await streams.stdin.read(1)
        size = await streams.sizes.get()
        sizes.append((size.width, size.height))
        came.set()
        return int(not streams.sizes.empty())

    async def handle(request: HttpRequest) -> HttpAnswer:
        command = read_remote_command(request)
        return answer_exec(request, command, take_late) or HttpResponse(400)

    def send_sizes(target: Target) -> int:
        from tests.hostile.clients import _frame, _websocket  # noqa: PLC0415

        with _websocket(target) as connection:
            for odd in (b"\xff", b'{"x":' + b"[" * 60_000):
                connection.sendall(_frame(0x82, b"\4" + odd))
            for width in range(1, 100):
                size = b'\4{"Width":%d,"Height":24}' % width
                connection.sendall(_frame(0x82, size))
            connection.sendall(_frame(0x82, b"\0x"))
            target.stopped.wait()
        return 0

    async with serve_http(handle) as address:
        running = Attack(send_sizes, target := Target(address.port, EXEC), 1)
        running.start()
        async with asyncio.timeout(60):
            await came.wait()
        await asyncio.to_thread(running.stop)
    assert target.stopped.is_set()
    assert sizes == [(99, 24)]
