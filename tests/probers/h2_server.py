"""A small HTTP/2 server: `/ok`, `/fail`, `/reset`, and `/big` of 300,000 bytes."""

from __future__ import annotations

from collections.abc import Callable

import h2.config
import h2.connection
import h2.errors
import h2.events

from tests.probers.peers import Peer

BIG = b"b" * 300_000
ANSWERS = {"/ok": (200, b"h2 ok"), "/fail": (503, b"no"), "/big": (200, BIG)}


async def serve_http2(peer: Peer, log: Callable[[list[str]], None]) -> None:
    """Answer requests until the client goes; a head is logged as HTTP/1 writes it."""
    config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
    connection = h2.connection.H2Connection(config)
    connection.initiate_connection()
    bodies: dict[int, bytes] = {}
    await peer.send(connection.data_to_send())
    while data := await peer.receive():
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {str(name): str(value) for name, value in event.headers or []}
                log(_head(headers))
                _answer(connection, event.stream_id or 0, headers[":path"], bodies)
        _send_bodies(connection, bodies)
        await peer.send(connection.data_to_send())


def _head(headers: dict[str, str]) -> list[str]:
    line = f"{headers[':method']} {headers[':path']} HTTP/2.0"
    fields = [f":authority: {headers[':authority']}"]
    fields += [
        f"{name.title()}: {value}"
        for name, value in sorted(headers.items())
        if not name.startswith(":")
    ]
    return [line, *fields]


def _answer(
    connection: h2.connection.H2Connection,
    stream_id: int,
    path: str,
    bodies: dict[int, bytes],
) -> None:
    if path == "/reset":
        connection.reset_stream(stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
        return
    status, body = ANSWERS[path]
    connection.send_headers(stream_id, [(":status", str(status))])
    bodies[stream_id] = body


def _send_bodies(
    connection: h2.connection.H2Connection, bodies: dict[int, bytes]
) -> None:
    """Send as much as the client's windows allow."""
    for stream_id, body in list(bodies.items()):
        rest = body
        while rest and (window := connection.local_flow_control_window(stream_id)):
            size = min(window, connection.max_outbound_frame_size)
            connection.send_data(stream_id, rest[:size])
            rest = rest[size:]
        bodies[stream_id] = rest
        if not rest:
            connection.end_stream(stream_id)
            del bodies[stream_id]
