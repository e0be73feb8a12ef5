"""One request over HTTP/2 to servers that are right, and unusual."""

from __future__ import annotations

import gzip

import hpack
import pytest
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from probetui.probers.go.dial import dial
from probetui.probers.go.grpc_call import GRPCCallError, GRPCCode, call_unary
from probetui.probers.go.http2_stream import HTTP2Stream
from tests.probers.peers import Peer
from tests.probers.servers import LOOPBACK, serving

REQUEST = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/a/b"),
    (b":authority", b"a"),
]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MESSAGE = b"\0\0\0\0\2\x08\1"


def settings(**values: int) -> bytes:
    return SettingsFrame(
        0, settings={getattr(SettingsFrame, name): n for name, n in values.items()}
    ).serialize()


def headers(*fields: tuple[str, str], ends: bool = False) -> bytes:
    flags = ["END_HEADERS", "END_STREAM"] if ends else ["END_HEADERS"]
    return HeadersFrame(1, hpack.Encoder().encode(fields), flags=flags).serialize()


def go_away(last: int) -> bytes:
    return GoAwayFrame(0, last_stream_id=last).serialize()


def window(stream: int, count: int) -> bytes:
    return WindowUpdateFrame(stream, window_increment=count).serialize()


HEAD = headers((":status", "200"), ("content-type", "application/grpc"))
DATA = DataFrame(1, MESSAGE).serialize()
TRAILERS = headers(("grpc-status", "0"), ends=True)
PING = PingFrame(0, opaque_data=b"a" * 8).serialize()
NEW_WINDOW = window(1, 1 << 20) + window(0, 1 << 20)


async def call(*answers: bytes, request: bytes = b"ab") -> bytes:
    """Ask a server that sends the first answer at once.

    It sends the second after the acknowledgement of the first, and all others after
    more of the request.
    """

    async def serve(peer: Peer) -> None:
        await peer.send(answers[0])
        received = FrameBuffer(peer)
        await received.wait_for(SettingsFrame, "ACK")
        await peer.send(answers[1])
        for answer in answers[2:]:
            await received.wait_for(HeadersFrame, "END_HEADERS")
            await peer.send(answer)
        while await peer.receive():
            pass

    async with serving(serve) as port:
        stream = HTTP2Stream(await dial(LOOPBACK, port))
        try:
            await stream.receive_settings()
            return await call_unary(stream, REQUEST, request, 5)
        finally:
            stream.close()


class FrameBuffer:
    """Frames that a client sends."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._data = b""
        self._is_started = False

    async def wait_for(self, kind: type[Frame], flag: str) -> None:
        """Read up to a frame of a kind that has a flag."""
        if not self._is_started:
            await self._read(len(PREFACE))
            self._is_started = True
        while True:
            frame, length = Frame.parse_frame_header(memoryview(await self._read(9)))
            await self._read(length)
            if isinstance(frame, kind) and flag in frame.flags:
                return

    async def _read(self, length: int) -> bytes:
        while len(self._data) < length:
            self._data += await self._peer.receive()
        read, self._data = self._data[:length], self._data[length:]
        return read


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(go_away(2**31 - 1) + HEAD + DATA + TRAILERS, id="before-all"),
        pytest.param(go_away(1) + PING + HEAD + DATA + TRAILERS, id="and-a-ping"),
        pytest.param(HEAD + go_away(1) + DATA + TRAILERS, id="after-the-head"),
        pytest.param(HEAD + DATA + go_away(1) + TRAILERS, id="before-the-trailers"),
        pytest.param(HEAD + DATA + TRAILERS + go_away(0), id="after-all"),
    ],
)
async def test_a_server_that_stops_gracefully_still_answers(answer: bytes) -> None:
    assert await call(settings(), b"", answer) == MESSAGE[5:]


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param(
            [settings(INITIAL_WINDOW_SIZE=0), b"", NEW_WINDOW + HEAD + DATA + TRAILERS],
            id="no-window-and-then-one",
        ),
        pytest.param(
            [settings(INITIAL_WINDOW_SIZE=3), b"", NEW_WINDOW + HEAD + DATA + TRAILERS],
            id="a-small-window",
        ),
        pytest.param(
            [
                settings(INITIAL_WINDOW_SIZE=0),
                b"",
                settings(INITIAL_WINDOW_SIZE=9) + HEAD + DATA + TRAILERS,
            ],
            id="a-window-by-settings",
        ),
        pytest.param(
            [settings(INITIAL_WINDOW_SIZE=0), b"", HEAD + DATA + TRAILERS],
            id="an-answer-before-the-request",
        ),
        pytest.param(
            [
                settings(MAX_CONCURRENT_STREAMS=0),
                settings(MAX_CONCURRENT_STREAMS=1),
                HEAD + DATA + TRAILERS,
            ],
            id="no-stream-and-then-one",
        ),
    ],
)
async def test_a_request_waits_for_the_server_s_leave(answers: list[bytes]) -> None:
    assert await call(*answers) == MESSAGE[5:]


@pytest.mark.parametrize("length", [20_000, 100_000])
async def test_a_long_request_is_sent_in_many_frames(length: int) -> None:
    answers = [settings(), b"", NEW_WINDOW + HEAD + DATA + TRAILERS]
    assert await call(*answers, request=b"a" * length) == MESSAGE[5:]


async def test_a_message_whose_compression_is_cut_off_is_none() -> None:
    packed = gzip.compress(MESSAGE[5:])[:-9]
    message = b"\1" + len(packed).to_bytes(4) + packed
    head = headers(
        (":status", "200"),
        ("content-type", "application/grpc"),
        ("grpc-encoding", "gzip"),
    )
    with pytest.raises(GRPCCallError, match="unexpected EOF") as caught:
        await call(settings(), b"", head + DataFrame(1, message).serialize() + TRAILERS)
    assert caught.value.code == GRPCCode.INTERNAL
