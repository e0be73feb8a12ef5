"""A gRPC health service on h2: it reads the frames and shares no code with grpcio.

Source: grpc/doc/PROTOCOL-HTTP2.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import quote_from_bytes

import h2.config
import h2.connection
import h2.events

from tests.probers.peers import Peer

OK, UNKNOWN, NOT_FOUND, UNIMPLEMENTED, INTERNAL = 0, 2, 5, 12, 13
SERVING, NOT_SERVING = 1, 2
_PREFIX_BYTES = 5
_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_CONFIG = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")


@dataclass(frozen=True)
class Answer:
    """A message, or none, and a status."""

    data: bytes = b""
    code: int = OK
    message: bytes = b""


@dataclass(frozen=True)
class Call:
    """A call as the server received it."""

    headers: dict[str, str]
    request: bytes

    @property
    def service(self) -> str:
        """The only field of a request, number 1; no longer than 127 bytes."""
        if not self.request:
            return ""
        tag, size, *name = self.request
        assert (tag, size) == (0x0A, len(name))
        return bytes(name).decode()

    @property
    def timeout(self) -> float:
        """In seconds."""
        text = self.headers["grpc-timeout"]
        return int(text[:-1]) * _UNITS[text[-1]]

    @property
    def metadata(self) -> dict[str, str]:
        """The headers without those that every call has."""
        plain = {":method", ":scheme", ":path", "te", "grpc-timeout"}
        return {name: text for name, text in self.headers.items() if name not in plain}


Answers: TypeAlias = Callable[[str], Answer]


def status(number: int) -> Answer:
    """Return a health status: field 1, a number of 64 bits in pieces of 7."""
    data, rest = bytearray([0x08]), number % (1 << 64)
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    return Answer(bytes([*data, rest]))


@dataclass
class HealthServer:
    """Answers every call; to be run by `serving`.

    Args:
        answers: the answers by service.
        delay_seconds: how long each answer takes.
    """

    answers: Answers
    delay_seconds: float = 0
    calls: list[Call] = field(default_factory=list)

    async def serve(self, peer: Peer) -> None:
        """Answer calls until the client goes."""
        connection = h2.connection.H2Connection(_CONFIG)
        connection.initiate_connection()
        await peer.send(connection.data_to_send())
        heads: dict[int | None, dict[str, str]] = {}
        bodies: dict[int | None, bytes] = {}
        while data := await peer.receive():
            for event in connection.receive_data(data):
                match event:
                    case h2.events.RequestReceived(stream_id=stream, headers=headers):
                        heads[stream] = {str(k): str(v) for k, v in headers or []}
                        bodies[stream] = b""
                    case h2.events.DataReceived(stream_id=stream, data=piece):
                        bodies[stream] += piece or b""
                    case h2.events.StreamEnded(stream_id=stream):
                        call = Call(heads[stream], bodies[stream][_PREFIX_BYTES:])
                        self.calls.append(call)
                        await self.wait()
                        _send(connection, stream or 0, self.answers(call.service))
                    case _:
                        pass
            await peer.send(connection.data_to_send())

    async def wait(self) -> None:
        """Take the time that an answer takes."""
        await asyncio.sleep(self.delay_seconds)


def _send(connection: h2.connection.H2Connection, stream: int, answer: Answer) -> None:
    head = [(":status", "200"), ("content-type", "application/grpc")]
    trailers = [
        ("grpc-status", str(answer.code)),
        ("grpc-message", quote_from_bytes(answer.message, safe=" !'()*,/:;=?@&$+")),
    ]
    if answer.code != OK:
        connection.send_headers(stream, head + trailers, end_stream=True)
        return
    connection.send_headers(stream, head)
    prefix = b"\0" + len(answer.data).to_bytes(4)
    connection.send_data(stream, prefix + answer.data)
    connection.send_headers(stream, trailers, end_stream=True)
