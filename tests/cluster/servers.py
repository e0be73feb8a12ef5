"""Our API server for tests: started in this process, with injected faults.

`python -m tests.cluster.servers FOLDER` serves a cluster in its own process until it is
interrupted; it prints the kubeconfig.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from probetui.cluster.api_server.api import ADMIN, ApiServer
from probetui.cluster.api_server.object_feed import ObjectFeed
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.http_server import HttpServerAddress, serve_http
from probetui.drive.clocks import SystemClock
from tests.cluster.api_server.server import Authorize, FaultyServer, allow_all
from tests.cluster.api_server.store import WritableStore
from tests.cluster.kubelet_proxy import KubeletProxy

TOKENS = {"admin": "kubernetes-admin", "api-server": "kube-apiserver"}


class RunningServer(Struct):
    """A running server; `api.fault` can be set meanwhile."""

    api: FaultyServer
    address: HttpServerAddress

    @property
    def store(self) -> WritableStore:
        """The server's objects."""
        return self.api.store

    @property
    def url(self) -> str:
        """Its URL."""
        return self.address.url


@asynccontextmanager
async def running_server(
    store: WritableStore | None = None,
    *,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> AsyncIterator[RunningServer]:
    """Serve a store, a new one if none is given, until the context ends.

    To simulate an outage, end the server and start another one with the same store and
    port.
    """
    api = FaultyServer(store or WritableStore(SystemClock().now), **options)
    serving = serve_http(api.handle, port=port, tls=tls, now=api.store.now)
    async with serving as address:
        yield RunningServer(api, address)


@asynccontextmanager
async def read_only_server(
    read_only: str, *, token: str, tls: ssl.SSLContext | None = None
) -> AsyncIterator[HttpServerAddress]:
    """Serve a feed without pods, as `probetui serve` does, until the context ends."""
    clock = SystemClock()
    api = ApiServer(
        ObjectFeed(clock.now),
        version="1.36.2",
        tokens={token: ADMIN},
        connect={},
        read_only=read_only,
    )
    async with serve_http(api.handle, tls=tls, now=clock.now) as address:
        yield address


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


@asynccontextmanager
async def running_cluster(
    folder: Path, authorize: Authorize = allow_all
) -> AsyncIterator[tuple[RunningServer, Path]]:
    """Serve a cluster that forwards to its nodes, and yield it with a kubeconfig.

    The certificate of its authority and the kubeconfig are written to a folder.
    """
    clock = SystemClock()
    store = WritableStore(clock.now)
    certificate = self_signed(["127.0.0.1"], clock.now())
    authority = folder / "ca.pem"
    authority.write_bytes(certificate.certificate)
    proxy = KubeletProxy(store, {"authorization": "Bearer api-server"})
    async with running_server(
        store,
        tls=certificate.tls_context(),
        tokens=TOKENS,
        authorize=authorize,
        connect=proxy.connections(),
    ) as server:
        kubeconfig = write_kubeconfig(
            folder / "config", server.url, token="admin", authority=str(authority)
        )
        yield server, kubeconfig


async def _serve(folder: Path) -> None:
    async with running_cluster(folder) as (_, kubeconfig):
        print(kubeconfig, flush=True)  # noqa: T201  # for who started it
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
