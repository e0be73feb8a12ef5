"""A proxy for a Docker daemon that simulates another clock or a hang."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from pathlib import Path

_RFC3339 = re.compile(rb"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d)")
_SECONDS = re.compile(rb'("(?:time|Created)":)(1[789]\d{8})\b')
_NANOSECONDS = re.compile(rb'("timeNano":)(1[789]\d{8})(\d{9})\b')
_HTTP_DATE = re.compile(
    rb"(?m)^(Date: )(\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d)( GMT\r)$"
)
_DATE_FORMAT = "%a, %d %b %Y %H:%M:%S"
_ISO_SECONDS = "%Y-%m-%dT%H:%M:%S"
_LONGEST_INSTANT = 64
_PIECE_BYTES = 1 << 16
_SOON_SECONDS = 0.02


def shifted(data: bytes, by: timedelta) -> bytes:
    """Return bytes of the daemon with every instant shifted; the length is the same."""

    def iso(found: re.Match[bytes]) -> bytes:
        at = datetime.strptime(found[1].decode(), _ISO_SECONDS) + by  # noqa: DTZ007  # only shifted
        return at.strftime(_ISO_SECONDS).encode()

    def seconds(found: re.Match[bytes]) -> bytes:
        number = int(found[2]) + round(by.total_seconds())
        return found[1] + str(number).encode() + b"".join(found.groups()[2:])

    def date(found: re.Match[bytes]) -> bytes:
        at = datetime.strptime(found[2].decode(), _DATE_FORMAT) + by  # noqa: DTZ007  # only shifted
        return found[1] + at.strftime(_DATE_FORMAT).encode() + found[3]

    data = _RFC3339.sub(iso, data)
    data = _SECONDS.sub(seconds, data)
    data = _NANOSECONDS.sub(seconds, data)
    return _HTTP_DATE.sub(date, data)


class DockerProxy:
    """A daemon behind a proxy.

    Args:
        daemon: the socket of the real daemon.
        path: the socket of the proxy.
        by: how far the clock is ahead, in whole seconds.
    """

    def __init__(self, daemon: Path, path: Path, by: timedelta) -> None:
        self.url = f"unix://{path}"
        self._daemon = daemon
        self._by = by
        self._answers = threading.Event()
        self._answers.set()
        self._opened: list[socket.socket] = []
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen(128)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def hang(self) -> None:
        """Send no more responses; connections stay open, and new ones are accepted."""
        self._answers.clear()

    def close(self) -> None:
        """Close all connections."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for connection in self._opened:
            connection.close()
        self._answers.set()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._server.accept()
                behind = socket.socket(socket.AF_UNIX)
                behind.connect(str(self._daemon))
                self._opened.extend((client, behind))
                for way in (
                    partial(self._pass_on, client, behind),
                    partial(self._shift, behind, client),
                ):
                    threading.Thread(target=way, daemon=True).start()

    def _pass_on(self, client: socket.socket, daemon: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(_PIECE_BYTES):
                self._answers.wait()
                daemon.sendall(data)
            daemon.shutdown(socket.SHUT_WR)

    def _shift(self, daemon: socket.socket, client: socket.socket) -> None:
        """Pass on data; half an instant is held until its other half arrives."""
        waiting = b""
        with contextlib.suppress(OSError):
            while True:
                daemon.settimeout(_SOON_SECONDS if waiting else None)
                try:
                    data = daemon.recv(_PIECE_BYTES)
                except TimeoutError:
                    client.sendall(shifted(waiting, self._by))
                    waiting = b""
                    continue
                self._answers.wait()
                waiting += data
                if not data:
                    break
                end = _boundary(waiting, max(len(waiting) - _LONGEST_INSTANT, 0))
                client.sendall(shifted(waiting[:end], self._by))
                waiting = waiting[end:]
            client.sendall(shifted(waiting, self._by))
            client.shutdown(socket.SHUT_WR)


@contextmanager
def docker_proxy(
    daemon: Path, folder: Path, by: timedelta = timedelta()
) -> Iterator[DockerProxy]:
    """Run a `DockerProxy` for a daemon in the block."""
    proxy = DockerProxy(daemon, folder / "proxy.sock", by)
    try:
        yield proxy
    finally:
        proxy.close()


def _boundary(data: bytes, end: int) -> int:
    """Return where to cut at or before `end`, not within an instant."""
    patterns = (_RFC3339, _SECONDS, _NANOSECONDS, _HTTP_DATE)
    for found in chain.from_iterable(pattern.finditer(data) for pattern in patterns):
        if found.start() < end < found.end():
            end = found.start()
    return end
