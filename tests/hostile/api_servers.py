"""API servers that answer in order to freeze, swell or spin their client.

    python -m tests.hostile.api_servers ATTACK PLACE [PORT [TIMES]]

The first line of output is the server's URL. The server attacks in one place, `list`,
`watch`, `object` (of a single pod), `refusal` (a 401), `log` or `metrics` (of a kubelet
behind the API server), and is a quiet API server with one pod in all others, and there
too after so many attacks; the pod has an HTTP probe at the port. It runs until standard
input is closed.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import socket
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

MEBIBYTE = 1 << 20
NAME = "web"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"
END = b"\r\n"
_FLOOD = 600 * MEBIBYTE
"""More than any client may take, and an end, should one take it all."""

Pieces = Iterator[bytes]
_numbers = itertools.count(1)


def a_pod(number: int = 0, port: int = 80, **metadata: Any) -> dict[str, Any]:
    """Return a pod with a probe, which runs on a node."""
    name = f"{NAME}-{number}" if number else NAME
    probe = {"httpGet": {"path": "/", "port": port}, "periodSeconds": 1}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": str(number + 1),
            **metadata,
        },
        "spec": {
            "nodeName": "node-of-the-test",
            "containers": [
                {
                    "name": "app",
                    "image": "example.test/app:1",
                    "readinessProbe": probe,
                    "livenessProbe": probe,
                }
            ],
        },
        "status": {
            "phase": "Running",
            "podIP": "127.0.0.1",
            "containerStatuses": [
                {
                    "name": "app",
                    "image": "example.test/app:1",
                    "imageID": "sha256:1",
                    "containerID": f"containerd://{name}",
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
            ],
        },
    }


def _answer(body: bytes, *headers: bytes, status: bytes = OK) -> Pieces:
    yield b"".join(
        (status, b"Content-Length: %d\r\n" % len(body), *headers, CLOSE, END, body)
    )


def _flood(unit: bytes, *, before: bytes = b"", head: bytes = OK + CLOSE) -> Pieces:
    """Send a unit again and again, many of them at a time."""
    yield head + END + before
    piece = unit * max(1, (1 << 16) // len(unit))
    for _ in range(_FLOOD // len(piece)):
        yield piece


@functools.cache
def _pack(layers: int) -> bytes:
    """Pack 600 MiB of spaces so many times."""
    packer = zlib.compressobj(9, wbits=31)
    piece = b" " * MEBIBYTE
    body = b"".join(packer.compress(piece) for _ in range(_FLOOD // MEBIBYTE))
    body += packer.flush()
    for _ in range(layers - 1):
        body = gzip.compress(body)
    return body


def _packed(layers: int, status: bytes = OK) -> Pieces:
    encoding = b"Content-Encoding: " + b", ".join([b"gzip"] * layers) + b"\r\n"
    return _answer(_pack(layers), encoding, status=status)


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


_POD = _text(a_pod())
_OPEN_LIST = b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":['
_OPEN_POD = _POD[:-1] + b',"more":['
_OPEN_ANNOTATION = _text(a_pod(annotations={"long": ""})).replace(
    b'"long": ""}', b'"long": "'
)


def _begun(place: str, beginning: bytes) -> bytes:
    """Return the beginning of an object where it stands in an answer."""
    line = b'{"type":"MODIFIED","object":' if place == "watch" else b""
    return (_OPEN_LIST if place == "list" else line) + beginning


def _next_page(size: int) -> Pieces:
    """Answer with a page that is not the last one."""
    first = next(_numbers) * 1_000
    long = {"long": "x" * 20_000}
    items = [a_pod(first + number, annotations=long) for number in range(size)]
    token = {"resourceVersion": "1", "continue": f"page-{first}"}
    return _answer(_text({"metadata": token, "items": items}))


def _pods(kind: str) -> Pieces:
    """Send events of a watch without end, of new pods or of one."""
    yield OK + CLOSE + END
    for number in itertools.count(1):
        pod = a_pod(number) if kind == "ADDED" else a_pod(resourceVersion=str(number))
        yield _text({"type": kind, "object": pod}) + b"\n"


def _one_line(_: str) -> Pieces:
    yield OK + CLOSE + END
    yield _text({"type": "MODIFIED", "object": a_pod()}) + b"\n"


def _drip(_: str) -> Pieces:
    yield OK + CLOSE
    for number in itertools.count():
        threading.Event().wait(0.05)
        yield b"x-%d: y\r\n" % number


def _small_chunks(_: str) -> Pieces:
    yield OK + CLOSE + b"Transfer-Encoding: chunked\r\n" + END
    for _number in range(_FLOOD >> 16):
        yield b"1\r\n \r\n" * 10_000


ATTACKS: dict[str, Callable[[str], Pieces]] = {
    "gzip": lambda _: _packed(1),
    "gzip-thrice": lambda _: _packed(3),
    "gzip-thrice-401": lambda _: _packed(3, b"HTTP/1.1 401 Unauthorized\r\n"),
    "objects": lambda place: _flood(b"{},", before=_begun(place, b"")),
    "values": lambda place: _flood(b"{},", before=_begun(place, _OPEN_POD)),
    "numbers": lambda place: _flood(b"1,", before=_begun(place, _OPEN_POD)),
    "strings": lambda place: _flood(b'"",', before=_begun(place, _OPEN_POD)),
    "depth": lambda place: _flood(b"[", before=_begun(place, _OPEN_POD)),
    "annotation": lambda place: _flood(b"x", before=_begun(place, _OPEN_ANNOTATION)),
    "escapes": lambda place: _flood(rb"\u0001", before=_begun(place, _OPEN_ANNOTATION)),
    "spaces": lambda _: _flood(b" "),
    "small-chunks": _small_chunks,
    "continue": lambda _: _next_page(500),
    "empty-pages": lambda _: _next_page(0),
    "informational": lambda _: _flood(b"HTTP/1.1 103 Early Hints\r\n\r\n", head=b""),
    "drip": _drip,
    "new-pods": lambda _: _pods("ADDED"),
    "updates": lambda _: _pods("MODIFIED"),
    "one-line": _one_line,
    "nothing": lambda _: iter([OK + CLOSE + END]),
}


class _Server:
    def __init__(self, attack: str, place: str, port: int, times: float) -> None:
        self._attack = ATTACKS[attack]
        self._times = times
        self._place = place
        self._pod = a_pod(port=port)
        self.requests: Counter[str] = Counter()

    def answer(self, method: str, target: str, body: bytes) -> Pieces | None:
        """Return the pieces of an answer, None for one that stays open."""
        url = urlsplit(target)
        place = self._place_of(url.path, parse_qs(url.query))
        self.requests[place] += 1
        is_over = self.requests[place] > self._times
        if self._place in {place, "refusal"} and not is_over:
            return self._attack(place)
        if method in {"POST", "PUT", "PATCH"}:
            return _answer(self._stored(body), status=b"HTTP/1.1 201 Created\r\n")
        match place:
            case "list":
                is_of_a_node = "spec.nodeName" in target
                pods = b"" if is_of_a_node else _text(self._pod)
                return _answer(_OPEN_LIST + pods + b"]}")
            case "events":
                return _answer(b'{"metadata":{"resourceVersion":"1"},"items":[]}')
            case "object":
                return _answer(_text(self._pod))
            case "watch" | "other-watch":
                return None
            case "node":
                status = {"nodeInfo": {"kubeletVersion": "v1.36.0"}}
                return _answer(_text({"metadata": {"name": "n"}, "status": status}))
            case _:
                pass
        failure = {"kind": "Status", "code": 404, "reason": "NotFound"}
        return _answer(_text(failure), status=b"HTTP/1.1 404 Not Found\r\n")

    @staticmethod
    def _stored(body: bytes) -> bytes:
        value = json.loads(body or b"{}")
        metadata = {"uid": "u", "resourceVersion": "1", **value.get("metadata", {})}
        user = {"username": "somebody"}
        status = {"allowed": True, "authenticated": True, "user": user}
        return _text({"status": status, **value, "metadata": metadata})

    @staticmethod
    def _place_of(path: str, query: dict[str, list[str]]) -> str:
        if path.endswith("/metrics/probes"):
            return "metrics"
        if path.endswith("/log"):
            return "log"
        if "watch" in query:
            return "watch" if path.endswith("/pods") else "other-watch"
        if path.endswith("/pods"):
            return "list"
        if path.endswith("/events"):
            return "events"
        if f"/pods/{NAME}" in path:
            return "object"
        if path.endswith("/nodes/node-of-the-test"):
            return "node"
        return ""


def _serve(listener: socket.socket, server: _Server) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(
            target=_converse, args=(connection, server), daemon=True
        ).start()


def _converse(connection: socket.socket, server: _Server) -> None:
    with connection, connection.makefile("rb") as reader:
        try:
            method, target, _ = reader.readline().decode().split()
            length = 0
            while (line := reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            pieces = server.answer(method, target, reader.read(length))
            if pieces is None:
                connection.sendall(OK + CLOSE + END)
                reader.read()  # until the client ends
                return
            for piece in pieces:
                connection.sendall(piece)
        except (OSError, ValueError):
            return  # the client has had enough


def main(attack: str, place: str, port: str = "80", times: str = "inf") -> None:
    """Serve until standard input ends."""
    server = _Server(attack, place, int(port), float(times))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        threading.Thread(target=_serve, args=(listener, server), daemon=True).start()
        print(url, flush=True)  # noqa: T201  # for who started it
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
