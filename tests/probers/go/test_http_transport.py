from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from probetui.probers.go.http_transport import OneShotTransport
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.scripted_server import Listeners, listening
from tests.probers.servers import LOOPBACK, refusing, serving

HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"


@asynccontextmanager
async def a_client(
    kind: str = "script", text: str = HEAD + "\r\nhi"
) -> AsyncIterator[tuple[httpx2.AsyncClient, Listeners, str]]:
    """Give a client on our transport, a server, and its address."""
    spec = {"kind": kind, "routes": {"*": [{"send": text}]}}
    if kind == "h2":
        spec["tls"] = {"cert": "selfsigned"}
    async with (
        listening({"A": spec}) as listeners,
        httpx2.AsyncClient(transport=OneShotTransport()) as client,
    ):
        scheme = "https" if kind == "h2" else "http"
        yield client, listeners, f"{scheme}://{LOOPBACK}:{listeners.ports['A']}"


async def test_any_httpx_client_can_use_it() -> None:
    async with a_client() as (client, listeners, address):
        response = await client.get(f"{address}/a?b=c", headers={"X-A": "1"})

    (request,) = listeners.requests
    assert (response.status_code, response.text) == (200, "hi")
    assert request["requestLine"] == "GET /a?b=c HTTP/1.1"
    assert "X-A: 1" in request["headers"]


async def test_every_request_has_a_connection_of_its_own() -> None:
    connections = []

    async def answer(peer: Peer) -> None:
        connections.append(peer)
        await peer.receive()
        await peer.send(f"{HEAD}\r\nhi".encode())
        await peer.drain_until_end()

    async with (
        serving(answer) as port,
        httpx2.AsyncClient(transport=OneShotTransport()) as client,
    ):
        for _ in range(2):
            await client.get(f"http://{LOOPBACK}:{port}/")

    assert len(connections) == 2


async def test_headers_of_a_response_are_all_kept() -> None:
    text = HEAD + "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nhi"
    async with a_client(text=text) as (client, _, address):
        response = await client.get(address)

    assert response.headers.get_list("set-cookie") == ["a=1", "b=2"]


async def test_a_refused_connection_is_httpx_s_error_in_go_s_words() -> None:
    async with httpx2.AsyncClient(transport=OneShotTransport()) as client:
        with refusing() as port, pytest.raises(httpx2.ConnectError) as refused:
            await client.get(f"http://{LOOPBACK}:{port}/")

    assert str(refused.value).endswith(": connect: connection refused")


async def test_a_malformed_response_is_a_protocol_error() -> None:
    async with a_client(text="garbage\r\n\r\n") as (client, _, address):
        with pytest.raises(httpx2.RemoteProtocolError, match="malformed HTTP response"):
            await client.get(address)


async def test_a_body_that_breaks_off_is_a_read_error() -> None:
    async with a_client(text=HEAD + "\r\nx") as (client, _, address):
        with pytest.raises(httpx2.ReadError, match=r"^unexpected EOF$"):
            await client.get(address)


async def test_http_2_is_used_where_the_server_picks_it() -> None:
    async with a_client("h2") as (client, listeners, address):
        response = await client.get(f"{address}/ok", headers={"X-A": "1"})

    (request,) = listeners.requests
    assert (response.http_version, response.text) == ("HTTP/2", "h2 ok")
    assert request["requestLine"] == "GET /ok HTTP/2.0"
    assert "X-A: 1" in request["headers"]
    assert not any(header.startswith("Connection") for header in request["headers"])


async def test_a_body_over_http_2_may_be_larger_than_its_window() -> None:
    async with a_client("h2") as (client, _, address):
        response = await client.get(f"{address}/big")

    assert len(response.content) == 300_000


async def test_a_connection_that_ends_within_http_2_is_an_error() -> None:
    context = server_context(protocols=("h2",))

    async def leave(plain: Peer) -> None:
        peer = TLSPeer(plain, context)
        await peer.handshake()
        await peer.receive()
        await peer.close()

    async with (
        serving(leave) as port,
        httpx2.AsyncClient(transport=OneShotTransport()) as client,
    ):
        with pytest.raises(httpx2.RemoteProtocolError, match=r"^unexpected EOF$"):
            await client.get(f"https://{LOOPBACK}:{port}/")


async def test_what_is_no_http_2_is_an_error() -> None:
    context = server_context(protocols=("h2",))

    async def babble(plain: Peer) -> None:
        peer = TLSPeer(plain, context)
        await peer.handshake()
        await peer.send(b"\0\0\0\0\0\0\0\0\0")  # data, but of no stream
        await peer.drain_until_end()

    async with (
        serving(babble) as port,
        httpx2.AsyncClient(transport=OneShotTransport()) as client,
    ):
        with pytest.raises(httpx2.RemoteProtocolError, match=r"^http2: "):
            await client.get(f"https://{LOOPBACK}:{port}/")


async def test_a_reset_stream_is_an_error_in_go_s_words() -> None:
    async with a_client("h2") as (client, _, address):
        with pytest.raises(httpx2.RemoteProtocolError) as broken:
            await client.get(f"{address}/reset")

    text = "stream error: stream ID 1; INTERNAL_ERROR; received from peer"
    assert str(broken.value) == text
