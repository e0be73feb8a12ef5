from __future__ import annotations

import asyncio
import re

import pytest

from probetui.errors import GoError
from probetui.k8s.runtime import SocketAddress
from probetui.probers.go.dial import dial
from probetui.probers.go.errors import DialRefusedError
from tests.probers.peers import Peer
from tests.probers.servers import LOOPBACK, full, refusing, serving


async def echo(peer: Peer) -> None:
    while data := await peer.receive():
        await peer.send(data)


async def test_what_is_sent_arrives_and_comes_back() -> None:
    async with serving(echo) as port:
        connection = await dial(LOOPBACK, port)

        await connection.send(b"hello")
        received = await connection.receive()

        connection.close()
    assert received == b"hello"


async def test_an_empty_host_is_this_machine() -> None:
    async with serving(echo) as port:
        (await dial("", port)).close()


async def test_a_name_is_resolved() -> None:
    async with serving(echo) as port:
        (await dial("localhost", port)).close()


async def test_a_route_leads_elsewhere() -> None:
    async with serving(echo) as port:
        connection = await dial("10.1.2.3", 8080, lambda *_: (LOOPBACK, port))

        connection.close()


async def test_a_message_has_the_requested_address_not_the_resolved_one() -> None:
    with refusing() as port, pytest.raises(DialRefusedError) as refused:
        await dial("10.1.2.3", 8080, lambda *_: (LOOPBACK, port))

    text = "dial tcp 10.1.2.3:8080: connect: connection refused"
    assert str(refused.value) == text
    assert refused.value.endpoint == SocketAddress("10.1.2.3", 8080)


@pytest.mark.parametrize(
    ("host", "port", "problem"),
    [
        pytest.param(
            "[::1]", 80, "address [[::1]]:80: missing port in address", id="["
        ),
        pytest.param("h", 65536, "address 65536: invalid port", id="large port"),
        pytest.param("h", -1, "address -1: invalid port", id="negative port"),
        pytest.param("bad host", 80, "lookup bad host: no such host", id="space"),
        pytest.param("127.1", 80, "lookup 127.1: no such host", id="only numbers"),
        pytest.param("-a.b", 80, "lookup -a.b: no such host", id="hyphen first"),
        pytest.param("a..b", 80, "lookup a..b: no such host", id="empty label"),
        pytest.param("é", 80, "lookup é: no such host", id="not ASCII"),
        pytest.param("a" * 64, 80, f"lookup {'a' * 64}: no such host", id="long label"),
    ],
)
async def test_a_bad_address_is_refused_before_a_lookup(
    host: str, port: int, problem: str
) -> None:
    with pytest.raises(GoError) as refused:
        await dial(host, port)

    assert str(refused.value) == f"dial tcp {problem}".replace("tcp ", "tcp: ", 1)


async def test_a_reset_connection_names_both_addresses() -> None:
    async def reset(peer: Peer) -> None:
        await peer.receive()
        await peer.reset()

    async with serving(reset) as port:
        connection = await dial(LOOPBACK, port)
        await connection.send(b"x")

        with pytest.raises(GoError) as broken:
            await connection.receive()

        connection.close()
    own_port = r"read tcp 127\.0\.0\.1:[0-9]+->127\.0\.0\.1"
    text = rf"{own_port}:{port}: read: connection reset by peer"
    assert re.fullmatch(text, str(broken.value))


async def test_a_closed_connection_cannot_send() -> None:
    async with serving(echo) as port:
        connection = await dial(LOOPBACK, port)
        connection.close()

        with pytest.raises(GoError, match=r"^write tcp .*: write: "):
            await connection.send(b"x")


async def test_dialling_can_be_given_up() -> None:
    # A socket that stays open would fail the test with a ResourceWarning.
    with full() as port, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await dial(LOOPBACK, port)
