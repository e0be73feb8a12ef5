"""An API server of ours, for tests: started in this process, with faults."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from probetui.cluster.api_server.api import ApiServer
from probetui.cluster.api_server.store import Store
from probetui.cluster.serving.http_server import HttpServerAddress, serve_http
from probetui.drive.clocks import SystemClock


class RunningServer(Struct):
    """A server that listens; `api.fault` can be set while it does."""

    api: ApiServer
    address: HttpServerAddress

    @property
    def store(self) -> Store:
        """The server's objects."""
        return self.api.store

    @property
    def url(self) -> str:
        """Its URL."""
        return self.address.url


@asynccontextmanager
async def running_server(
    store: Store | None = None,
    *,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> AsyncIterator[RunningServer]:
    """Serve a store, a new one if none is given, until the context ends.

    A server that is gone for a while is one that ends, and another with the same store
    and port.
    """
    api = ApiServer(store or Store(SystemClock().now), **options)
    async with serve_http(api.handle, port=port, tls=tls) as address:
        yield RunningServer(api, address)


def write_kubeconfig(
    path: Path, server: str, *, token: str = "", authority: str = ""
) -> Path:
    """Write a kubeconfig for a server, and return its path."""
    cluster = {"server": server}
    if authority:
        cluster["certificate-authority"] = authority
    user = {"token": token} if token else {}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "tests", "user": user}],
        "contexts": [
            {"name": "tests", "context": {"cluster": "tests", "user": "tests"}}
        ],
        "current-context": "tests",
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return path
