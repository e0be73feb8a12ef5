"""A proxy before a Docker daemon, behind which that has another clock."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
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
    """Return bytes of the daemon's with every instant shifted; the length stays."""

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


@contextmanager
def shifted_docker(daemon: Path, folder: Path, by: timedelta) -> Iterator[str]:
    """Serve a daemon whose every instant is shifted, and give its endpoint.

    Args:
        daemon: the socket of the real one.
        folder: where to put the socket.
        by: how far its clock is ahead, in whole seconds.
    """
    path = folder / "shifted.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(128)
    opened: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                behind = socket.socket(socket.AF_UNIX)
                behind.connect(str(daemon))
                opened.extend((client, behind))
                _start(_pass_on, client, behind, by)
                _start(_shift, behind, client, by)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"unix://{path}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for connection in opened:
            connection.close()


def _start(
    way: Callable[[socket.socket, socket.socket, timedelta], None],
    source: socket.socket,
    target: socket.socket,
    by: timedelta,
) -> None:
    threading.Thread(target=way, args=(source, target, by), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, _by: timedelta) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_PIECE_BYTES):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _shift(source: socket.socket, target: socket.socket, by: timedelta) -> None:
    """Pass on what comes; what may be half an instant waits for the other half."""
    waiting = b""
    with contextlib.suppress(OSError):
        while True:
            source.settimeout(_SOON_SECONDS if waiting else None)
            try:
                data = source.recv(_PIECE_BYTES)
            except TimeoutError:
                target.sendall(shifted(waiting, by))
                waiting = b""
                continue
            waiting += data
            if not data:
                break
            # An instant has a byte before it that is none of its own.
            end = max(len(waiting) - _LONGEST_INSTANT, 0)
            ready = shifted(waiting, by)[: _boundary(waiting, end)]
            target.sendall(ready)
            waiting = waiting[len(ready) :]
        target.sendall(shifted(waiting, by))
        target.shutdown(socket.SHUT_WR)


def _boundary(data: bytes, end: int) -> int:
    """Return where to cut at or before `end`, not within an instant."""
    patterns = (_RFC3339, _SECONDS, _NANOSECONDS, _HTTP_DATE)
    for found in chain.from_iterable(each.finditer(data) for each in patterns):
        if found.start() < end < found.end():
            end = found.start()
    return end
