"""A call of gRPC to servers that answer in every wrong way."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import h2.config
import h2.connection
import h2.events
import pytest
from h2.errors import ErrorCodes

from probetui.errors import GoError
from probetui.probers.go.dial import dial
from probetui.probers.go.grpc_call import (
    MAX_MESSAGE_BYTES,
    GRPCCallError,
    GRPCCode,
    call_unary,
    code_name,
    encode_timeout,
)
from probetui.probers.go.http2_stream import HTTP2Stream
from tests.probers.peers import Peer
from tests.probers.servers import LOOPBACK, serving

HEAD = [(":status", "200"), ("content-type", "application/grpc")]
OK = [("grpc-status", "0")]
MESSAGE = b"\0\0\0\0\2\x08\1"
REQUEST = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/a/b"),
    (b":authority", b"a"),
]
Say = Callable[[h2.connection.H2Connection], None]


async def call(respond: Say, *, then_closes: bool = False) -> bytes:
    """Make a call to a server with one response."""

    async def serve(peer: Peer) -> None:
        config = h2.config.H2Configuration(
            client_side=False, validate_outbound_headers=False
        )
        connection = h2.connection.H2Connection(config)
        connection.initiate_connection()
        await peer.send(connection.data_to_send())
        while data := await peer.receive():
            events = connection.receive_data(data)
            if any(isinstance(event, h2.events.StreamEnded) for event in events):
                respond(connection)
                await peer.send(connection.data_to_send())
                if then_closes:
                    return
                continue
            await peer.send(connection.data_to_send())

    async with serving(serve) as port:
        stream = HTTP2Stream(await dial(LOOPBACK, port))
        try:
            await stream.receive_settings()
            return await call_unary(stream, REQUEST, b"", 5)
        finally:
            stream.close()


def answer(
    head: list[tuple[str, str]],
    body: bytes = b"",
    trailers: list[tuple[str, str]] | None = None,
) -> Say:
    """Say a head, a body and trailers; without trailers the body ends the stream."""

    def respond(connection: h2.connection.H2Connection) -> None:
        ends_with_head = not body and trailers is None
        connection.send_headers(1, head, end_stream=ends_with_head)
        if body:
            connection.send_data(1, body, end_stream=trailers is None)
        if trailers is not None:
            connection.send_headers(1, trailers, end_stream=True)

    return respond


def packed(message: bytes) -> bytes:
    return framed(gzip.compress(message))


def framed(data: bytes) -> bytes:
    return b"\1" + len(data).to_bytes(4) + data


async def test_a_message_is_returned_also_compressed() -> None:
    head = [*HEAD, ("grpc-encoding", "gzip")]

    assert await call(answer(HEAD, MESSAGE, OK)) == b"\x08\1"
    assert await call(answer(head, packed(b"\x08\1"), OK)) == b"\x08\1"


@pytest.mark.parametrize(
    ("respond", "code", "message"),
    [
        pytest.param(
            answer([*HEAD, ("grpc-status", "5"), ("grpc-message", "no%20%E2%82%AC%")]),
            GRPCCode.NOT_FOUND,
            "no €%",
            id="a status without a message",
        ),
        pytest.param(
            answer(HEAD, b"", [("grpc-status", "99")]), 99, "", id="an unknown status"
        ),
        pytest.param(
            answer(HEAD, MESSAGE, [("a", "b")]), GRPCCode.UNKNOWN, "", id="no status"
        ),
        pytest.param(
            answer(HEAD, MESSAGE, [("grpc-status", "x" * 2000)]),
            GRPCCode.INTERNAL,
            'transport: malformed grpc-status: "' + "x" * 1024 + '" (cut: 976 bytes)',
            id="a status that is no number",
        ),
        pytest.param(
            answer(HEAD, MESSAGE),
            GRPCCode.INTERNAL,
            "server closed the stream without sending trailers",
            id="no trailers",
        ),
        pytest.param(
            answer([(":status", "404"), ("content-type", "text/html")]),
            GRPCCode.UNIMPLEMENTED,
            "unexpected HTTP status code received from server: 404 (Not Found); "
            'transport: received unexpected content-type "text/html"',
            id="a web server",
        ),
        pytest.param(
            answer([(":status", "503")]),
            GRPCCode.UNAVAILABLE,
            "unexpected HTTP status code received from server: 503 (Service "
            "Unavailable); malformed header: missing HTTP content-type",
            id="a proxy",
        ),
        pytest.param(
            answer([(":status", "200"), ("content-type", "application/grpcx")]),
            GRPCCode.UNKNOWN,
            'transport: received unexpected content-type "application/grpcx"',
            id="another type",
        ),
        pytest.param(
            answer(HEAD, b"\0\0\0\0\5ab", OK),
            GRPCCode.INTERNAL,
            "unexpected EOF",
            id="a part of a message",
        ),
        pytest.param(
            answer(HEAD, MESSAGE + b"\0", OK),
            GRPCCode.UNKNOWN,
            "grpc: client streaming protocol violation. get <nil>, want <EOF>",
            id="more than a message",
        ),
        pytest.param(
            answer(HEAD, b"\0\0\x50\0\0", OK),
            GRPCCode.RESOURCE_EXHAUSTED,
            "grpc: received message larger than max (5242880 vs. 4194304)",
            id="a long message",
        ),
        pytest.param(
            answer(HEAD, b"\7" + MESSAGE[1:], OK),
            GRPCCode.INTERNAL,
            "grpc: received unexpected payload format 7",
            id="an unknown flag",
        ),
        pytest.param(
            answer(HEAD, b"\1" + MESSAGE[1:], OK),
            GRPCCode.INTERNAL,
            "grpc: compressed flag set with identity or empty encoding",
            id="compressed without saying how",
        ),
        pytest.param(
            answer([*HEAD, ("grpc-encoding", "br")], b"\1" + MESSAGE[1:], OK),
            GRPCCode.UNIMPLEMENTED,
            'grpc: Decompressor is not installed for grpc-encoding "br"',
            id="compressed in an unknown way",
        ),
        pytest.param(
            answer(
                [*HEAD, ("grpc-encoding", "gzip")],
                packed(bytes(MAX_MESSAGE_BYTES + 1)),
                OK,
            ),
            GRPCCode.RESOURCE_EXHAUSTED,
            "grpc: received message after decompression larger than max "
            "(4194305 vs. 4194304)",
            id="a bomb",
        ),
        pytest.param(
            answer(
                [*HEAD, ("grpc-encoding", "gzip")],
                framed(gzip.compress(b"\x08\1")[:-8]),
                OK,
            ),
            GRPCCode.INTERNAL,
            "grpc: failed to decompress the received message: unexpected EOF",
            id="compressed, and cut off",
        ),
        pytest.param(
            lambda connection: connection.reset_stream(1, ErrorCodes.CANCEL),
            GRPCCode.CANCELED,
            "stream terminated by RST_STREAM with error code: CANCEL",
            id="a reset",
        ),
        pytest.param(
            lambda connection: connection.reset_stream(1, 0x1234),
            GRPCCode.UNKNOWN,
            "stream terminated by RST_STREAM with error code: unknown error code 4660",
            id="a reset for an unknown reason",
        ),
    ],
)
async def test_what_is_no_answer_is_an_error_in_grpc_go_s_words(
    respond: Say, code: int, message: str
) -> None:
    with pytest.raises(GRPCCallError) as failed:
        await call(respond)

    assert (failed.value.code, str(failed.value)) == (code, message)


async def test_a_connection_that_ends_is_unavailable() -> None:
    with pytest.raises(GRPCCallError) as failed:
        await call(lambda _: None, then_closes=True)

    assert failed.value.code == GRPCCode.UNAVAILABLE
    assert str(failed.value) == "error reading from server: EOF"


class LostConnection:
    """A connection that is lost as soon as the server's settings are there.

    Args:
        error: what the operating system says of a write.
        answer: what had come before.
    """

    def __init__(self, error: str, answer: bytes = b"") -> None:
        server = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False)
        )
        server.initiate_connection()
        self._received = [server.data_to_send(), answer, b""]
        self._error = error
        self._has_begun = False

    async def send(self, data: bytes) -> None:
        if self._has_begun:
            raise GoError(f"write tcp 192.0.2.1:1->192.0.2.2:2: write: {self._error}")
        self._has_begun = True

    async def receive(self) -> bytes:
        return self._received.pop(0) or self._received.pop(0)

    async def give_way(self) -> None:
        """Do nothing: there is no other work."""

    def close(self) -> None:
        """Do nothing: it is lost."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param("broken pipe", "EOF", id="broken pipe"),
        pytest.param(
            "connection reset by peer",
            "read tcp 192.0.2.1:1->192.0.2.2:2: read: connection reset by peer",
            id="reset",
        ),
    ],
)
async def test_a_write_that_fails_is_what_reading_finds(
    error: str, message: str
) -> None:
    stream = HTTP2Stream(LostConnection(error), leaves_write_errors=True)
    await stream.receive_settings()
    with pytest.raises(GRPCCallError) as failed:
        await call_unary(stream, REQUEST, b"", 5)
    assert failed.value.code == GRPCCode.UNAVAILABLE
    assert str(failed.value) == f"error reading from server: {message}"


async def test_an_answer_that_came_before_a_write_failed_counts() -> None:
    config = h2.config.H2Configuration(client_side=False)
    server = h2.connection.H2Connection(config)
    server.initiate_connection()
    server.data_to_send()
    client = h2.connection.H2Connection()
    client.initiate_connection()
    client.send_headers(1, REQUEST, end_stream=True)
    server.receive_data(client.data_to_send())
    status = [("grpc-status", "14"), ("grpc-message", "Cancelling all calls")]
    server.send_headers(1, [*HEAD, *status], end_stream=True)

    connection = LostConnection("broken pipe", server.data_to_send())
    stream = HTTP2Stream(connection, leaves_write_errors=True)
    await stream.receive_settings()
    with pytest.raises(GRPCCallError) as failed:
        await call_unary(stream, REQUEST, b"", 5)
    # The words are those of the server, which grpc-go prints as they are.
    assert str(failed.value) == "Cancelling all calls"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(-1, b"0n", id="over"),
        pytest.param(0.05, b"50000000n", id="nanoseconds"),
        pytest.param(1, b"1000000u", id="microseconds"),
        pytest.param(1000, b"1000000m", id="milliseconds"),
        pytest.param(1_000_000, b"1000000S", id="seconds"),
        pytest.param(1_000_000_000, b"277778H", id="hours"),
    ],
)
def test_the_time_left_is_sent_in_eight_digits(seconds: float, text: bytes) -> None:
    assert encode_timeout(seconds) == text


def test_codes_have_go_s_names() -> None:
    names = [code_name(code) for code in (0, 1, 4, 5, 16, 17, -1)]

    assert names == [
        "OK",
        "Canceled",
        "DeadlineExceeded",
        "NotFound",
        "Unauthenticated",
        "Code(17)",
        "Code(-1)",
    ]
