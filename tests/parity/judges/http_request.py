"""An HTTP probe's request, and the part of it that reaches a server.

All connections go to one server here, as in the program that generated the vectors.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from probetui.errors import GoError
from probetui.kubelet.prober.container_port import resolve_port
from probetui.kubelet.runtime.go_format import join_host_port
from probetui.probers.go.http_transport import OneShotTransport
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import ProbeRequest, build_request
from tests.parity.prober_cases import a_container, http_get
from tests.probers.client_hello import ClientHello, read_client_hello
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.servers import LOOPBACK, read_head, serving

EMPTY_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
LIMIT = timedelta(seconds=5)


class Observer:
    """A server that records what it received, and the route to it."""

    def __init__(self) -> None:
        self.port = 0
        self.dialled: str | None = None
        self.hello: ClientHello | None = None
        self.head: list[str] = []
        self.uses_tls = False

    def route(self, host: str, port: int) -> tuple[str, int]:
        self.dialled = join_host_port(host, port)
        return LOOPBACK, self.port

    async def serve(self, peer: Peer) -> None:
        if self.uses_tls:
            peer = TLSPeer(peer, server_context())
            await peer.handshake()
            self.hello = read_client_hello(peer.client_hello)
        self.head = await read_head(peer)
        await peer.send(EMPTY_OK)
        await peer.close()


async def judge(case: dict[str, Any]) -> None:
    out = case["out"]
    if out["error"] is not None:
        with pytest.raises(GoError) as refused:
            _request(case)
        assert str(refused.value) == out["error"]
        return
    request = _request(case)
    assert _described(request) == out["request"]
    observer = Observer()
    observer.uses_tls = request.url.scheme == "https"
    async with contextlib.AsyncExitStack() as stack:
        observer.port = await stack.enter_async_context(serving(observer.serve))

        attempt = await probe_http(request, LIMIT, OneShotTransport(observer.route))

    assert {
        "result": attempt.result,
        "output": attempt.output,
        "error": attempt.error,
    } == out["probe"]
    assert _sent(observer) == {name: out[name] for name in ("dial", "tls", "wire")}


def _request(case: dict[str, Any]) -> ProbeRequest:
    action = http_get(case["httpGet"])
    container = a_container({"ports": case.get("containerPorts")})
    port = resolve_port(action.port, container)
    return build_request(action, action.host or case["podIP"], port)


def _described(request: ProbeRequest) -> dict[str, Any]:
    return {
        "method": "GET",
        "url": str(request.url),
        "host": request.host,
        "headers": {name: list(values) for name, values in request.headers.items()},
    }


def _sent(observer: Observer) -> dict[str, Any]:
    dialled, hello, head = observer.dialled, observer.hello, observer.head
    return {
        "dial": {"network": "tcp", "address": dialled} if dialled else None,
        "tls": hello and hello._asdict(),
        "wire": {"requestLine": head[0], "headers": head[1:]} if head else None,
    }
