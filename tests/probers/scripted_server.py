"""A server that follows a script, for the HTTP vectors and tests.

A listener is a value as the vectors have it: `routes` from the second word of the
request line to actions, or `onAccept` actions, with or without `tls`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.probers.h2_server import serve_http2
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.servers import full, read_head, refusing, serving

Listener = dict[str, Any]
Request = dict[str, Any]

NO_ROUTE = [{"send": "HTTP/1.1 404 N\r\nContent-Length: 8\r\n\r\nno route"}]
VERSIONS = {
    "1.0": ssl.TLSVersion.TLSv1,
    "1.1": ssl.TLSVersion.TLSv1_1,
    "1.2": ssl.TLSVersion.TLSv1_2,
    "1.3": ssl.TLSVersion.TLSv1_3,
}


class Listeners:
    """Named listeners; fills their ports into texts and back."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        self.requests: list[Request] = []

    def fill(self, text: str) -> str:
        """Put the ports in for `{PORT:NAME}`."""
        for name, port in self.ports.items():
            text = text.replace(f"{{PORT:{name}}}", str(port))
        return text

    def unfill(self, text: str) -> str:
        """Put `{PORT:NAME}` in for the ports."""
        for name, port in self.ports.items():
            text = text.replace(f":{port}", f":{{PORT:{name}}}")
        return text


@contextlib.asynccontextmanager
async def listening(specs: dict[str, Listener]) -> AsyncIterator[Listeners]:
    """Run listeners of all kinds."""
    listeners = Listeners()
    async with contextlib.AsyncExitStack() as stack:
        for name, spec in specs.items():
            match spec["kind"]:
                case "refused":
                    port = stack.enter_context(refusing())
                case "blackhole":
                    port = stack.enter_context(full())
                case "script" | "h2":
                    serve = _server(name, spec, listeners)
                    port = await stack.enter_async_context(serving(serve))
                case other:
                    raise AssertionError(other)
            listeners.ports[name] = port
        yield listeners


def _server(name: str, spec: Listener, listeners: Listeners) -> Callable[[Peer], Any]:
    async def serve(peer: Peer) -> None:
        if "tls" in spec:
            peer = TLSPeer(peer, _context(spec))
            try:
                await peer.handshake()
            except ssl.SSLError:
                return
        if spec["kind"] == "h2":
            await serve_http2(peer, lambda request: _log(listeners, name, request))
        elif "onAccept" in spec:
            await _act(peer, spec["onAccept"], listeners)
        elif head := await read_head(peer):
            _log(listeners, name, head)
            routes, path = spec.get("routes", {}), head[0].split()[1]
            actions = routes.get(path, routes.get("*", NO_ROUTE))
            await _act(peer, actions, listeners)
        await peer.close()

    return serve


def _context(spec: Listener) -> ssl.SSLContext:
    tls = spec["tls"]
    return server_context(
        tls["cert"],
        oldest=VERSIONS.get(tls.get("minVersion", "")),
        newest=VERSIONS.get(tls.get("maxVersion", "")),
        requires_client_certificate=tls.get("requireClientCert", False),
        protocols=("h2",) if spec["kind"] == "h2" else (),
    )


def _log(listeners: Listeners, name: str, head: list[str]) -> None:
    request = {"listener": name, "requestLine": head[0], "headers": head[1:]}
    listeners.requests.append(request)


async def _act(peer: Peer, actions: list[dict[str, Any]], listeners: Listeners) -> None:
    for action in actions:
        match action:
            case {"send": text}:
                await peer.send(listeners.fill(text).encode())
            case {"sendB64": data}:
                await peer.send(base64.b64decode(data))
            case {"sendRepeat": {"text": text, "count": count}}:
                await peer.send(listeners.fill(text).encode() * count)
            case {"sleepMs": milliseconds}:
                await asyncio.sleep(milliseconds / 1000)
            case {"hang": True}:
                await peer.drain_until_end()
            case {"close": "fin"}:
                await peer.close()
            case {"close": "rst"}:
                await peer.reset()
            case other:
                raise AssertionError(other)
