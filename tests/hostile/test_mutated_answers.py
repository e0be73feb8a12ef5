"""100,000 randomly damaged responses: a probe fails or errors, and does not crash."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from datetime import timedelta

import h2.config
import h2.connection
import httpx2

from probetui.errors import GoError
from probetui.k8s.probe import HTTPGetAction
from probetui.kubelet.outcome import Attempt
from probetui.probers.go.dial import TCPConnection
from probetui.probers.go.grpc_call import GRPCCallError, call_unary
from probetui.probers.go.http2_stream import HTTP2Stream
from probetui.probers.go.http_response import ReceiveBuffer, read_body, read_head
from probetui.probers.go.http_transport import OneShotTransport, send_http2_request
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import build_request, to_httpx
from probetui.probers.truncation import MAX_KEPT_BYTES

PARSED, PROBED, FRAMED, CALLED = 70_000, 10_000, 10_000, 10_000
REQUEST = build_request(HTTPGetAction(80, "/x"), "127.0.0.1", 80)
LIMIT = timedelta(seconds=60)
CALL = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/a"),
    (b":authority", b"a"),
]
ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: a\r\n b\r\n\r\nok",
    b"HTTP/1.1 103 E\r\n\r\nHTTP/1.0 500 \r\nX: \xff\r\n\r\nno",
    b"HTTP/1.1 302 F\r\nLocation: http://127.0.0.1:80/a%2Fb?c#d\r\n\r\n",
    b"HTTP/1.1 301 F\r\nLocation: //[::1%25eth0]:81/\xe9\r\nContent-Length: 1\r\n\r\na",
    (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2;a=b\r\nok\r\n0\r\nT: 1\r\n\r\n"
    ),
    b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nx",
)
PARTS = (
    b"\r\n", b"\n", b"\r", b":", b" ", b"\t", b"\0", b"\x1b]52;", b"\xff", b"\xc3\x28",
    b"0" * 5000, b"99999999999999999999", b"-1", b"chunked", b"content-length:",
    b"transfer-encoding:", b"location:", b"HTTP/1.1 ", b"%", b"//", b"@", b"[",
    b"a" * 9000,
)  # fmt: skip


class GivenConnection(TCPConnection):
    """A connection with the bytes of a server, without a server."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    async def send(self, data: bytes) -> None:
        """Discard the data."""

    async def receive(self) -> bytes:
        return next(self._pieces, b"")

    async def give_way(self) -> None:
        """Do nothing: there are no other tasks."""

    def close(self) -> None:
        """Do nothing."""


class GivenTransport(OneShotTransport):
    """A transport that returns the same response to every request."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    async def _connect(self, request: httpx2.Request) -> TCPConnection:
        return GivenConnection(iter((self._data,)))


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes of a response."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(found))
        until = min(at + chance.randint(0, 9), len(found))
        match chance.randint(0, 4):
            case 0:
                found[at:until] = b""
            case 1:
                found[at:at] = chance.choice(PARTS)
            case 2:
                found[at:at] = found[at:until] * chance.randint(1, 50)
            case 3:
                found[at:until] = chance.randbytes(until - at)
            case _:
                del found[at:]
    return bytes(found)


def damaged_frames(frames: list[bytes], chance: random.Random) -> bytes:
    """Change the order of frames, or some of them: most keep their headers."""
    found = list(frames)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(found))
        match chance.randint(0, 5):
            case 0:
                found.insert(at, chance.choice(found))
            case 1:
                chance.shuffle(found)
            case 2:
                found[at] = damaged(found[at], chance)
            case 3:
                head, payload = found[at][3:9], damaged(found[at][9:], chance)[:16384]
                found[at] = len(payload).to_bytes(3) + head + payload
            case 4:
                kind, flags = chance.randbytes(2)
                found[at] = found[at][:3] + bytes((kind % 12, flags)) + found[at][5:]
            case _:
                del found[at:]
                found.append(chance.randbytes(chance.randint(0, 40)))
    return b"".join(found)


def frames_of(*steps: Callable[[h2.connection.H2Connection], None]) -> list[bytes]:
    """Return the frames that a server sends after a request, one per step."""
    client = h2.connection.H2Connection()
    client.initiate_connection()
    client.send_headers(1, [(":method", "GET"), (":path", "/"), (":scheme", "http"), (":authority", "a")], end_stream=True)  # fmt: skip  # noqa: E501
    server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    server.initiate_connection()
    server.receive_data(client.data_to_send())
    found = [server.data_to_send()]
    for step in steps:
        step(server)
        found.append(server.data_to_send())
    return found


WEB = frames_of(
    lambda server: server.send_headers(1, [(":status", "103")]),
    lambda server: server.send_headers(
        1, [(":status", "200"), ("content-length", "2")]
    ),
    lambda server: server.ping(b"12345678"),
    lambda server: server.send_data(1, b"ok", end_stream=True),
)
GRPC = frames_of(
    lambda server: server.send_headers(
        1, [(":status", "200"), ("content-type", "application/grpc")]
    ),
    lambda server: server.send_data(1, b"\0\0\0\0\2\x08\1"),
    lambda server: server.send_headers(
        1, [("grpc-status", "5"), ("grpc-message", "%1B")], end_stream=True
    ),
)


def is_bounded(attempt: Attempt) -> bool:
    texts = (attempt.output, attempt.error or "")
    return max(map(len, texts)) <= 4 * MAX_KEPT_BYTES


def read_whole(data: bytes) -> None:
    """Read a complete response; raises `GoError` if it is invalid."""
    buffer = ReceiveBuffer()
    buffer.feed(data)
    buffer.feed(b"")
    steps = read_head(buffer)
    try:
        next(steps)
    except StopIteration as done:
        for piece in read_body(buffer, done.value.body):
            assert piece is not None, "there is no more to wait for"
    else:
        raise AssertionError("there is no more to wait for")


def test_a_damaged_response_is_read_or_refused() -> None:
    chance = random.Random(1)
    for _ in range(PARSED):
        with contextlib.suppress(GoError):
            read_whole(damaged(chance.choice(ANSWERS), chance))


async def test_a_probe_with_a_damaged_response_has_a_result() -> None:
    chance = random.Random(2)
    for _ in range(PROBED):
        data = damaged(chance.choice(ANSWERS), chance)
        attempt = await probe_http(REQUEST, LIMIT, GivenTransport(data))

        assert is_bounded(attempt), data


async def test_damaged_frames_of_http2_are_read_or_refused() -> None:
    chance = random.Random(3)
    request = to_httpx(REQUEST)
    for _ in range(FRAMED):
        connection = GivenConnection(iter((damaged_frames(WEB, chance),)))
        with contextlib.suppress(GoError, httpx2.ReadError):
            response = await send_http2_request(connection, request)
            async for _ in response.stream:  # type: ignore[union-attr]
                pass


async def test_damaged_frames_of_grpc_are_read_or_refused() -> None:
    chance = random.Random(4)
    for _ in range(CALLED):
        stream = HTTP2Stream(
            GivenConnection(iter((GRPC[0], damaged_frames(GRPC, chance))))
        )
        await stream.receive_settings()
        with contextlib.suppress(GRPCCallError):
            await call_unary(stream, CALL, b"", 1)
