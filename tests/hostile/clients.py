"""Clients that attack a server of ours, each in threads of its own, until stopped.

    python -m tests.hostile.clients ATTACK HOST:PORT PATH [TOKEN] --seconds 12

runs one from its own process. With a token it is a client that may do what it asks for.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import itertools
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from probetui.runtimes.streaming.spdy import SpdyConnection

_PIECE_BYTES = 1 << 16
_LONGEST_WAIT_SECONDS = 0.2
_MASK = bytes(4)


@dataclass
class Target:
    """What is attacked; `path` with its query."""

    port: int
    path: str = "/"
    token: str = ""
    host: str = "127.0.0.1"
    uses_tls: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)

    def connect(self) -> socket.socket:
        """Return a connection, after its TLS if there is one."""
        plain = socket.create_connection((self.host, self.port), 10)
        if not self.uses_tls:
            return plain
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context.wrap_socket(plain)

    def request(self, method: str = "GET", *headers: str) -> bytes:
        """Return the head of a request."""
        lines = [f"{method} {self.path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        return ("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode()


def send(target: Target, connection: socket.socket, pieces: Iterator[bytes]) -> int:
    """Send pieces until stopped or refused; return how many bytes were taken.

    What is answered is read and dropped.
    """
    sent = 0
    connection.settimeout(_LONGEST_WAIT_SECONDS)
    reading = threading.Thread(target=_read_all, args=(connection,))
    if not target.uses_tls:
        reading.start()  # TLS of one socket is not for two threads.
    with contextlib.suppress(OSError):
        for piece in pieces:
            left = memoryview(piece)
            while left:
                if target.stopped.is_set():
                    raise OSError
                with contextlib.suppress(TimeoutError, ssl.SSLWantWriteError):
                    count = connection.send(left)
                    left, sent = left[count:], sent + count
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    if reading.is_alive():
        reading.join()
    connection.close()
    return sent


def _read_all(connection: socket.socket) -> None:
    while True:
        try:
            if not connection.recv(_PIECE_BYTES):
                return
        except TimeoutError:
            continue
        except OSError:
            return


def _endless(unit: bytes) -> Iterator[bytes]:
    piece = unit * max(1, _PIECE_BYTES // len(unit))
    while True:
        yield piece


def pipeline(target: Target) -> int:
    """Send requests without waiting for the answers."""
    return send(target, target.connect(), _endless(target.request()))


def short_chunks(target: Target) -> int:
    """Send a body in chunks of a byte."""
    head = target.request("POST", "Transfer-Encoding: chunked")
    connection = target.connect()
    connection.sendall(head)
    return send(target, connection, _endless(b"1\r\nx\r\n"))


def many_headers(target: Target) -> int:
    """Send heads that are as long as they may be, of the same short header."""
    head = target.request()[:-2] + b"a:b\r\n" * 12_000 + b"\r\n"
    count = 0
    while not target.stopped.is_set():
        with contextlib.suppress(OSError), target.connect() as connection:
            connection.sendall(head)
            count += len(connection.recv(_PIECE_BYTES))
    return count


def half_open(target: Target, count: int = 400) -> int:
    """Open connections that say nothing; return how many are open at the end."""
    opened: list[socket.socket] = []
    with contextlib.suppress(OSError):
        for _ in range(count):
            if target.stopped.is_set():
                break
            opened.append(socket.create_connection((target.host, target.port), 10))
    target.stopped.wait()
    still_open = 0
    for one in opened:
        one.settimeout(0)
        try:
            one.recv(1)
        except ConnectionError:
            pass
        except BlockingIOError:
            still_open += 1
        one.close()
    return still_open


def handshakes(target: Target) -> int:
    """Do a handshake of TLS after the other."""
    count = 0
    while not target.stopped.is_set():
        with contextlib.suppress(OSError), target.connect():
            count += 1
    return count


def _upgraded(target: Target, *headers: str) -> socket.socket:
    connection = target.connect()
    connection.sendall(target.request("GET", "Connection: Upgrade", *headers))
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(_PIECE_BYTES)
        assert piece, answer
        answer += piece
    assert answer.startswith(b"HTTP/1.1 101 "), answer
    return connection


def _websocket(target: Target) -> socket.socket:
    key = base64.b64encode(b"hostile key 1234").decode()
    return _upgraded(
        target,
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Protocol: v5.channel.k8s.io",
    )


def _frame(first: int, data: bytes) -> bytes:
    if len(data) > 125:
        length = bytes([0x80 | 126]) + struct.pack("!H", len(data))
    else:
        length = bytes([0x80 | len(data)])
    return bytes([first]) + length + _MASK + data


def _over_websocket(unit: bytes) -> Callable[[Target], int]:
    def attack(target: Target) -> int:
        return send(target, _websocket(target), _endless(unit))

    return attack


def _spdy(target: Target) -> tuple[socket.socket, SpdyConnection, dict[str, int]]:
    connection = _upgraded(
        target, "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"
    )
    spdy = SpdyConnection()
    names = ("error", "stdin", "stdout", "stderr", "resize")
    streams = {name: spdy.open({"streamtype": name}) for name in names}
    connection.sendall(bytes(spdy.output))
    spdy.output.clear()
    return connection, spdy, streams


def _over_spdy(name: str, data: bytes) -> Callable[[Target], int]:
    def attack(target: Target) -> int:
        connection, spdy, streams = _spdy(target)
        spdy.send(streams[name], data)
        return send(target, connection, _endless(bytes(spdy.output)))

    return attack


def spdy_pings(target: Target) -> int:
    """Send pings of SPDY."""
    connection, _, _ = _spdy(target)
    ping = struct.pack("!III", 0x80030006, 4, 1)
    return send(target, connection, _endless(ping))


def spdy_settings(target: Target) -> int:
    """Send settings of SPDY, short and long ones."""
    connection, _, _ = _spdy(target)
    return send(target, connection, _endless(_settings(0) * 50 + _settings(500)))


def spdy_openings(target: Target) -> int:
    """Open and reset streams of SPDY, each of another kind with a long name."""
    connection, spdy, _ = _spdy(target)

    def pieces() -> Iterator[bytes]:
        for number in itertools.count():
            stream = spdy.open({"streamtype": f"{number:x>3000}"})
            spdy.reset(stream)
            yield bytes(spdy.output)
            spdy.output.clear()

    return send(target, connection, pieces())


def spdy_headers(target: Target) -> int:
    """Open a stream with headers that unpack to much, on connection by connection."""
    count = 0
    while not target.stopped.is_set():
        with contextlib.suppress(OSError):
            connection, spdy, _ = _spdy(target)
            spdy.open({"streamtype": "x" * 900_000})
            connection.sendall(bytes(spdy.output))
            while connection.recv(_PIECE_BYTES):
                pass
            count += 1
            connection.close()
    return count


def spdy_half_open(target: Target) -> int:
    """Open as many streams as are taken, and leave them all open."""
    connection, spdy, _ = _spdy(target)
    names = (f"{number:x>3000}" for number in range(2_000))
    opened = (bytes(_opened(spdy, name)) for name in names)
    return send(target, connection, itertools.chain(opened, _until_stopped(target)))


def _opened(spdy: SpdyConnection, name: str) -> bytes:
    spdy.open({"streamtype": name})
    opened = bytes(spdy.output)
    spdy.output.clear()
    return opened


def _until_stopped(target: Target) -> Iterator[bytes]:
    target.stopped.wait()
    yield b""


def _settings(count: int) -> bytes:
    entry = struct.pack("!II", 0x01000004, 100)
    body = struct.pack("!I", count) + entry * count
    return struct.pack("!II", 0x80030004, len(body)) + body


_SIZE = b'{"Width":80,"Height":24}'
EXEC_ATTACKS: dict[str, Callable[[Target], int]] = {
    "websocket-stdin": _over_websocket(_frame(0x82, b"\0" + b"x" * 30_000)),
    "websocket-short-messages": _over_websocket(_frame(0x82, b"\0x")),
    "websocket-empty-messages": _over_websocket(_frame(0x82, b"")),
    "websocket-sizes": _over_websocket(_frame(0x82, b"\4" + _SIZE)),
    "websocket-pings": _over_websocket(_frame(0x89, b"")),
    "websocket-fragments": _over_websocket(_frame(0x02, b"") + _frame(0x80, b"")),
    "spdy-stdin": _over_spdy("stdin", b"x" * 30_000),
    "spdy-short-data": _over_spdy("stdin", b"x"),
    "spdy-empty-data": _over_spdy("stdin", b""),
    "spdy-sizes": _over_spdy("resize", _SIZE + b"\n"),
    "spdy-long-size": _over_spdy("resize", b"1" * 30_000),
    "spdy-unread-stream": _over_spdy("error", b"x" * 30_000),
    "spdy-pings": spdy_pings,
    "spdy-settings": spdy_settings,
    "spdy-openings": spdy_openings,
    "spdy-headers": spdy_headers,
    "spdy-half-open": spdy_half_open,
}
"""What a client that may run a command sends to it."""

HTTP_ATTACKS: dict[str, Callable[[Target], int]] = {
    "pipeline": pipeline,
    "short-chunks": short_chunks,
    "many-headers": many_headers,
}
TLS_ATTACKS: dict[str, Callable[[Target], int]] = {
    "half-open": half_open,
    "handshakes": handshakes,
}


class Attack:
    """An attack by several clients; a context manager.

    `results` has what each of them returned, once it is over.
    """

    def __init__(
        self, attack: Callable[[Target], int], target: Target, clients: int
    ) -> None:
        self.results: list[int] = []
        self._target = target

        def work() -> None:
            result = 0
            with contextlib.suppress(OSError):
                result = attack(target)
            self.results.append(result)

        self._threads = [threading.Thread(target=work) for _ in range(clients)]

    def start(self) -> None:
        """Start all clients."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop them, and wait until they have ended; not on the event loop."""
        self._target.stopped.set()
        for thread in self._threads:
            thread.join()


def main() -> None:
    """Run an attack from the command line."""
    attacks = {**HTTP_ATTACKS, **TLS_ATTACKS, **EXEC_ATTACKS}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=attacks)
    parser.add_argument("address")
    parser.add_argument("path")
    parser.add_argument("token", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    host, _, port = given.address.rpartition(":")
    target = Target(int(port), given.path, given.token, host, not given.plain)
    attack = Attack(attacks[given.attack], target, given.clients)
    attack.start()
    threading.Event().wait(given.seconds)
    attack.stop()
    sys.stdout.write(f"{sum(attack.results)}\n")


if __name__ == "__main__":
    main()
