"""The client's side of connections that an API server upgrades: WebSocket and SPDY."""

from __future__ import annotations

import base64
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from probetui.cluster.client import ApiClient
from probetui.cluster.errors import Access, ServerUnreachableError
from probetui.cluster.serving.websocket import WebSocket, accept_token
from probetui.runtimes.streaming.network_bytes import NetworkBytes
from probetui.runtimes.streaming.spdy_streams import UpgradedConnection

LONGEST_BACKLOG = 1 << 20
"""Bytes of one stream that nobody has read yet; more are not waited for."""


@asynccontextmanager
async def open_websocket(
    client: ApiClient, path: str, access: Access, protocols: tuple[str, ...]
) -> AsyncIterator[WebSocket]:
    """Open a WebSocket with one of the given subprotocols.

    Raises:
        ApiError: the server refused.
        ServerUnreachableError: there is no response, or an invalid handshake.
    """
    key = base64.b64encode(os.urandom(16))
    headers = {
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key.decode(),
        "Sec-WebSocket-Protocol": ", ".join(protocols),
    }
    async with client.upgrade("GET", path, access, headers) as response:
        chosen = response.headers.get("Sec-WebSocket-Protocol", "")
        is_ours = response.headers.get("Sec-WebSocket-Accept") == accept_token(key)
        if not is_ours or chosen not in protocols:
            raise ServerUnreachableError(
                f"{client.access.cluster.server}: the response is not a WebSocket "
                "upgrade"
            )
        network = NetworkBytes(response)
        yield WebSocket(b"", network, network, is_client=True)


@asynccontextmanager
async def open_spdy(
    client: ApiClient, path: str, access: Access, protocols: tuple[str, ...]
) -> AsyncIterator[UpgradedConnection]:
    """Open a SPDY/3.1 connection; raises the errors of `open_websocket`."""
    headers = {
        "Upgrade": "SPDY/3.1",
        "X-Stream-Protocol-Version": ", ".join(protocols),
    }
    async with client.upgrade("POST", path, access, headers) as response:
        network = NetworkBytes(response)
        yield UpgradedConnection(b"", network, network)
