"""A minimal image registry on this machine, for pulls."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest(data: bytes) -> str:
    """Return the name that a registry gives to content."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    """Images by name; everything is served below one address.

    Attributes:
        authorization: the header without which nothing is served, if not empty.
        may_send_layers: while it is not set, requests for layers wait.
        has_been_asked: set when a request waits for content.
    """

    def __init__(self) -> None:
        self.address = ""
        self.authorization = ""
        self.may_send_layers = threading.Event()
        self.may_send_layers.set()
        self.has_been_asked = threading.Event()
        self._manifests: dict[str, bytes] = {}
        self._blobs: dict[str, bytes] = {}

    def add(self, name: str, *, size: int = 4096, lost_layer: bool = False) -> str:
        """Add an image with one layer of noise; return what to pull it by.

        A lost layer is one that the registry names but does not have.
        """
        tar = _tar_with_noise(size)
        layer = gzip.compress(tar)
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {},
                "rootfs": {"type": "layers", "diff_ids": [digest(tar)]},
            }
        ).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self._blob(CONFIG, config),
            "layers": [self._blob(LAYER, layer)],
        }
        if lost_layer:
            del self._blobs[digest(layer)]
        document = json.dumps(manifest).encode()
        self._manifests |= dict.fromkeys((f"{name}:1", digest(document)), document)
        return f"{self.address}/{name}:1"

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for a path."""
        if path == "/v2/":
            return 200, {}, b"{}"
        name, _, reference = path.removeprefix("/v2/").rpartition("/")
        repository, _, kind = name.rpartition("/")
        if kind == "blobs" and reference in self._blobs:
            self.has_been_asked.set()
            self.may_send_layers.wait(60)
            return 200, {}, self._blobs[reference]
        key = reference if ":" in reference else f"{repository}:{reference}"
        manifest = self._manifests.get(key)
        if kind == "manifests" and manifest is not None:
            headers = {
                "Content-Type": MANIFEST,
                "Docker-Content-Digest": digest(manifest),
            }
            return 200, headers, manifest
        unknown = {
            "code": "MANIFEST_UNKNOWN",
            "message": "manifest unknown",
            # Docker treats an error without details as its own.
            "detail": {"name": path},
        }
        body = json.dumps({"errors": [unknown]}).encode()
        return 404, {"Content-Type": "application/json"}, body

    def _blob(self, media_type: str, data: bytes) -> dict[str, Any]:
        self._blobs[digest(data)] = data
        return {"mediaType": media_type, "size": len(data), "digest": digest(data)}


def _tar_with_noise(size: int) -> bytes:
    """Return a tar archive that cannot be made smaller."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("noise")
        entry.size = size
        tar.addfile(entry, io.BytesIO(random.randbytes(size)))
    return packed.getvalue()


@contextmanager
def running_registry() -> Iterator[Registry]:
    """Have a registry; engines take one on a loopback address without TLS."""
    registry = Registry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            wanted = registry.authorization
            if wanted and self.headers.get("Authorization") != wanted:
                challenge = {"WWW-Authenticate": 'Basic realm="test"'}
                self._send(401, challenge, b"{}")
                return
            self._send(*registry.answer(self.path))

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.address = f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield registry
    finally:
        registry.may_send_layers.set()
        server.shutdown()
        thread.join()
        server.server_close()
