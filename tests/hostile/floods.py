"""Servers that send endlessly, as fast as their client reads, in one process.

    python -m tests.hostile.floods

The first line of output is a JSON object with the port of every flood in `FLOODS`. The
servers run until standard input is closed.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import chain, count, repeat
from pathlib import Path

LOOPBACK = "127.0.0.1"
CERTIFICATE = Path(__file__).parents[1] / "probers" / "certificates" / "selfsigned.pem"
MEBIBYTE = 1 << 20
_ANSWERS = count()
_PIECE_BYTES = 1 << 16

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Pieces = Callable[[], Iterator[bytes]]


class Speaks(Enum):
    """The protocol of a server."""

    HTTP = "http"
    HTTPS = "https"
    HTTP2 = "h2"
    TCP = "tcp"
    GRPC = "grpc"


@dataclass(frozen=True)
class Flood:
    """The data that a server sends after a request, or at once over TCP."""

    speaks: Speaks
    pieces: Pieces


def _endless(unit: bytes, before: bytes = b"") -> Pieces:
    """Send a unit repeatedly, many of them at a time."""
    piece = unit * max(1, _PIECE_BYTES // len(unit))
    return lambda: chain([before + piece], repeat(piece))


def _once(*pieces: bytes) -> Pieces:
    return lambda: iter(pieces)


def _slowly(unit: bytes, before: bytes = b"") -> Pieces:
    def pieces() -> Iterator[bytes]:
        pause = threading.Event()
        yield before
        while True:
            pause.wait(0.01)
            yield unit

    return pieces


def _headers_of_5_mb() -> Iterator[bytes]:
    """Send different headers, a hundred of 48 KiB."""
    number = next(_ANSWERS)
    lines = (b"h%d: %s\r\n" % (at, b"%09d" % number * 5461) for at in range(100))
    yield OK + b"Content-Length: 0\r\n" + b"".join(lines) + b"\r\n"


def _redirect(location: bytes) -> bytes:
    return (
        b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n"
        b"Content-Length: 0\r\nConnection: close\r\n\r\n"
    )


def _frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return an HTTP/2 frame (RFC 9113, 4.1)."""
    head = len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4)
    return head + payload


_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PUSH, _PING = 0, 1, 3, 4, 5, 6
_WINDOW_UPDATE, _CONTINUATION, _UNKNOWN = 8, 9, 0xEE
_END_STREAM, _END_HEADERS = 1, 4
_FRAME_HEAD_BYTES = 9
_STATUS_200 = b"\x88"  # of HPACK's static table
_STATUS_103 = b"\x08\x03103"
_LITERAL = b"\x00\x01a\x01b"  # a header "a: b", not indexed
_HEAD = _frame(_HEADERS, _END_HEADERS, 1, _STATUS_200)
_PING_FRAME = _frame(_PING, 0, 0, b"12345678")


def _http2(unit: bytes, before: bytes = b"") -> Flood:
    return Flood(Speaks.HTTP2, _endless(unit, _frame(_SETTINGS, 0, 0) + before))


def _grpc(unit: bytes, before: bytes = b"") -> Flood:
    flood = _http2(unit, before)
    return Flood(Speaks.GRPC, flood.pieces)


def _header(name: bytes, value: bytes) -> bytes:
    """Return a header in HPACK without the table (RFC 7541, 6.2.2)."""
    return b"\x00" + _string(name) + _string(value)


def _string(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes((len(text),)) + text
    length, digits = len(text) - 127, b"\x7f"
    while length >= 128:
        digits += bytes((length % 128 + 128,))
        length //= 128
    return digits + bytes((length,)) + text


def _in_frames(headers: bytes, flags: int = 0) -> bytes:
    """Return headers of any size: a HEADERS frame, and CONTINUATIONs."""
    pieces = [headers[at : at + 16384] for at in range(0, len(headers), 16384)]
    kinds = [_HEADERS] + [_CONTINUATION] * (len(pieces) - 1)
    ends = [0] * (len(pieces) - 1) + [_END_HEADERS]
    frames = [
        _frame(kind, end | (flags if kind == _HEADERS else 0), 1, piece)
        for kind, end, piece in zip(kinds, ends, pieces, strict=True)
    ]
    return b"".join(frames)


_GRPC_HEAD = _in_frames(_STATUS_200 + _header(b"content-type", b"application/grpc"))

HTTP_BODIES: Mapping[str, Pieces] = {
    "healthy": _once(OK + b"Content-Length: 2\r\n\r\nok"),
    "headers-of-5-mb": _headers_of_5_mb,
    "100-continue": _endless(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "status-line": _endless(b"a"),
    "status-line-of-9-mb": _once(b"HTTP/1.1 999 " + b"a" * 9 * MEBIBYTE + b"\r\n\r\n"),
    "status-code-of-9-mb": _once(b"HTTP/1.1 " + b"9" * 9 * MEBIBYTE + b"\r\n\r\n"),
    "no-http-of-9-mb": _once(b"\x1b" * 9 * MEBIBYTE + b"\r\n\r\n"),
    "header-lines": _endless(b"a:\n", OK),
    "header-lines-of-9-mb": _once(OK + b"a:\n" * (3 * MEBIBYTE) + b"\n"),
    "content-lengths": _once(
        OK,
        b"".join(b"content-length:%d\n" % number for number in range(9_000)) + b"\n",
    ),
    "content-length-of-9-mb": _once(
        OK + b"Content-Length: " + b"0" * 9 * MEBIBYTE + b"1\r\n\r\na"
    ),
    "transfer-encodings": _once(OK + b"transfer-encoding:\xff\n" * 9_000 + b"\n"),
    "header-line": _endless(b"a", OK + b"a: "),
    "header-name": _endless(b"a", OK),
    "header-name-of-9-mb": _once(OK + b"\x1b" * 9 * MEBIBYTE + b":b\r\n\r\n"),
    "header-without-colon-of-9-mb": _once(OK + b"a" * 9 * MEBIBYTE + b"\r\n\r\n"),
    "continuation-lines": _endless(b" a\n", OK + b"a: b\n"),
    "empty-continuation-lines": _endless(b" \n", OK + b"a: b\n"),
    "drip": _slowly(b"a", OK + b"a: "),
    "chunks-of-one-byte": _endless(b"1\r\na\r\n", CHUNKED),
    "chunk-extension": _endless(b"a", CHUNKED + b"1;"),
    "chunk-extensions": _endless(
        b"1;" + b"a" * 4000 + b"\r\na\r\n",
        CHUNKED,
    ),
    "chunk-size": _endless(b"0", CHUNKED),
    "trailers": _endless(b"a:\n", CHUNKED + b"0\r\n"),
    "trailer": _endless(b"a", CHUNKED + b"0\r\na:"),
    "body": _endless(b"a", OK + b"\r\n"),
    "body-slowly": _slowly(b"a", OK + b"\r\n"),
    "failed-body-slowly": _slowly(b"a", b"HTTP/1.1 500 No\r\n\r\n"),
    "redirects": _once(_redirect(b"/next")),
    "redirects-of-9-mb": _once(_redirect(b"/" + b"a%2f\xe9" * (MEBIBYTE * 9 // 5))),
    "redirects-of-9-mb-and-host": _once(_redirect(b"//" + b"a." * (MEBIBYTE * 9 // 2))),
    "redirect-with-a-body": _endless(
        b"a", b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 2000\r\n\r\n"
    ),
    "redirect-with-lengths": _endless(
        b"a",
        b"HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: "
        + b"0" * 5000
        + b"1\r\n\r\n",
    ),
}
FLOODS: Mapping[str, Flood] = {
    **{f"http-{name}": Flood(Speaks.HTTP, body) for name, body in HTTP_BODIES.items()},
    **{
        f"https-{name}": Flood(Speaks.HTTPS, body) for name, body in HTTP_BODIES.items()
    },
    "tls-handshake-drip": Flood(
        Speaks.TCP, _slowly(b"\x02", b"\x16\x03\x03\x40\x00\x02")
    ),
    "tls-handshake-of-empty-records": Flood(
        Speaks.TCP, _endless(b"\x16\x03\x03\x00\x00")
    ),
    "tls-warnings": Flood(Speaks.TCP, _endless(b"\x15\x03\x03\x00\x02\x01\x00")),
    "tls-garbage": Flood(Speaks.TCP, _endless(b"\x16\x03\x03\x40\x00" + b"a" * 16384)),
    "h2-healthy": Flood(
        Speaks.HTTP2,
        _once(_frame(_SETTINGS, 0, 0) + _HEAD + _frame(_DATA, _END_STREAM, 1, b"ok")),
    ),
    "h2-unknown-frames": _http2(_frame(_UNKNOWN, 0, 0)),
    "h2-pings": _http2(_PING_FRAME),
    "h2-ping-answers": _http2(_frame(_PING, 1, 0, b"12345678")),
    "h2-settings": _http2(_frame(_SETTINGS, 0, 0)),
    "h2-settings-that-change": _http2(
        _frame(_SETTINGS, 0, 0, b"\x00\x04\x00\x01\x00\x00" * 100)
    ),
    "h2-settings-answers": _http2(_frame(_SETTINGS, 1, 0)),
    "h2-window-updates": _http2(_frame(_WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01")),
    "h2-stream-window-updates": _http2(
        _frame(_WINDOW_UPDATE, 0, 1, b"\x00\x00\x00\x01")
    ),
    "h2-continuations": _http2(
        _frame(_CONTINUATION, 0, 1, _LITERAL), _frame(_HEADERS, 0, 1, _STATUS_200)
    ),
    "h2-empty-continuations": _http2(
        _frame(_CONTINUATION, 0, 1), _frame(_HEADERS, 0, 1, _STATUS_200)
    ),
    "h2-headers": _http2(
        _frame(_CONTINUATION, _END_HEADERS, 1),
        _frame(_HEADERS, 0, 1, _STATUS_200 + _LITERAL * 3000),
    ),
    "h2-header-bomb": _http2(
        _PING_FRAME,
        # One header of 4,000 bytes, put into the table, then named 10,000 times.
        _frame(
            _HEADERS,
            _END_HEADERS,
            1,
            _STATUS_200 + b"\x40\x01a\x7f\xa1\x1e" + b"b" * 4000 + b"\xbe" * 10_000,
        ),
    ),
    "h2-interim-heads": _http2(_frame(_HEADERS, _END_HEADERS, 1, _STATUS_103)),
    "h2-empty-data": _http2(_frame(_DATA, 0, 1), _HEAD),
    "h2-padded-data": _http2(_frame(_DATA, 8, 1, b"\x00"), _HEAD),
    "h2-data": _http2(_frame(_DATA, 0, 1, b"a"), _HEAD),
    "h2-resets": _http2(_frame(_RST_STREAM, 0, 1, b"\x00\x00\x00\x08")),
    "h2-resets-of-others": _http2(_frame(_RST_STREAM, 0, 3, b"\x00\x00\x00\x08")),
    "h2-pushes": _http2(_frame(_PUSH, _END_HEADERS, 1, b"\x00\x00\x00\x02\x88")),
    "h2-status-of-5000-digits": _http2(
        _PING_FRAME,
        _frame(_HEADERS, _END_HEADERS, 1, b"\x08\x7f\x89\x26" + b"2" * 5000),
    ),
    "grpc-healthy": _grpc(
        _PING_FRAME,
        _GRPC_HEAD
        + _frame(_DATA, 0, 1, b"\x00\x00\x00\x00\x02\x08\x01")
        + _in_frames(_header(b"grpc-status", b"0"), _END_STREAM),
    ),
    "grpc-nothing": Flood(Speaks.GRPC, _endless(b"\x00")),
    "grpc-unknown-frames": _grpc(_frame(_UNKNOWN, 0, 0)),
    "grpc-pings": _grpc(_PING_FRAME),
    "grpc-settings": _grpc(_frame(_SETTINGS, 0, 0)),
    "grpc-window-updates": _grpc(_frame(_WINDOW_UPDATE, 0, 0, b"\x00\x00\x00\x01")),
    "grpc-continuations": _grpc(
        _frame(_CONTINUATION, 0, 1, _LITERAL), _frame(_HEADERS, 0, 1, _STATUS_200)
    ),
    "grpc-empty-data": _grpc(_frame(_DATA, 0, 1), _GRPC_HEAD),
    "grpc-message-of-5-mb": _grpc(
        _PING_FRAME,
        _GRPC_HEAD + _frame(_DATA, 0, 1, b"\x00\x00\x50\x00\x00" + b"a" * 16000),
    ),
    "grpc-status-message": _grpc(
        _PING_FRAME,
        _GRPC_HEAD
        + _in_frames(
            _header(b"grpc-status", b"5")
            + _header(b"grpc-message", b"%1b" * (MEBIBYTE // 3)),
            _END_STREAM,
        ),
    ),
    "grpc-status-message-of-6-kb": _grpc(
        _PING_FRAME,
        _GRPC_HEAD
        + _in_frames(
            _header(b"grpc-status", b"5") + _header(b"grpc-message", b"%1b" * 2000),
            _END_STREAM,
        ),
    ),
    "grpc-headers": _grpc(
        _PING_FRAME,
        _in_frames(
            _STATUS_200
            + b"".join(_header(b"a%d" % at, b"b" * 50) for at in range(9000))
        ),
    ),
    "grpc-drip": Flood(Speaks.GRPC, _slowly(_PING_FRAME, _frame(_SETTINGS, 0, 0))),
    "h2-garbage": _http2(b"\xff"),
    "h2-drip": Flood(
        Speaks.HTTP2,
        _slowly(_PING_FRAME, _frame(_SETTINGS, 0, 0)),
    ),
}


def _context(speaks: Speaks) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    if speaks is Speaks.HTTP2:
        context.set_alpn_protocols(["h2"])
    return context


def _serve(listener: socket.socket, flood: Flood) -> None:
    is_secured = flood.speaks in {Speaks.HTTPS, Speaks.HTTP2}
    context = _context(flood.speaks) if is_secured else None
    while True:
        connection, _ = listener.accept()
        thread = threading.Thread(
            target=_answer, args=(connection, context, flood), daemon=True
        )
        thread.start()


def _answer(
    connection: socket.socket, context: ssl.SSLContext | None, flood: Flood
) -> None:
    # The client may close the connection at any time.
    with contextlib.suppress(OSError), connection:
        if context is None:
            _send(connection, flood)
            return
        with context.wrap_socket(connection, server_side=True) as secured:
            _send(secured, flood)


def _send(connection: socket.socket, flood: Flood) -> None:
    if flood.speaks is Speaks.GRPC:
        # A client sends its request after it has the settings.
        connection.sendall(_frame(_SETTINGS, 0, 0))
        _receive_frame(connection, _HEADERS)
    else:
        connection.recv(_PIECE_BYTES)
    for piece in flood.pieces():
        connection.sendall(piece)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    while connection.recv(_PIECE_BYTES):
        pass


def _receive_frame(connection: socket.socket, kind: int) -> None:
    """Wait for a frame of a kind."""
    with connection.makefile("rb") as reader:
        reader.read(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        while head := reader.read(_FRAME_HEAD_BYTES):
            reader.read(int.from_bytes(head[:3]))
            if head[3] == kind:
                return


def main() -> None:
    """Serve every flood on its own port."""
    ports: dict[str, int] = {}
    for name, flood in FLOODS.items():
        listener = socket.create_server((LOOPBACK, 0), backlog=128)
        ports[name] = listener.getsockname()[1]
        threading.Thread(target=_serve, args=(listener, flood), daemon=True).start()
    sys.stdout.write(f"{json.dumps(ports)}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
