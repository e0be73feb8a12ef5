from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.outcome import Attempt, ProbeResult
from probetui.probers.tcp_probe import probe_tcp
from tests.probers.peers import Peer
from tests.probers.servers import LOOPBACK, full, not_accepting, refusing, serving

SECOND = timedelta(seconds=1)
SHORT = timedelta(milliseconds=20)


async def test_a_handshake_is_a_success_and_nothing_is_sent() -> None:
    received: asyncio.Queue[int] = asyncio.Queue()

    async def count(peer: Peer) -> None:
        await received.put(await peer.drain_until_end())

    async with serving(count) as port:
        attempt = await probe_tcp(LOOPBACK, port, SECOND)
        sent = await received.get()

    assert attempt == Attempt(ProbeResult.SUCCESS, detail="connected")
    assert sent == 0


async def test_it_does_not_matter_whether_the_server_accepts() -> None:
    with not_accepting() as port:
        attempt = await probe_tcp(LOOPBACK, port, SECOND)

    assert attempt.result is ProbeResult.SUCCESS


async def test_a_handshake_within_this_machine_takes_no_turn_of_the_event_loop() -> (
    None
):
    turns: list[str] = []
    with not_accepting() as port:
        asyncio.get_running_loop().call_soon(turns.append, "a turn")

        attempt = await probe_tcp(LOOPBACK, port, SECOND)

    assert attempt.result is ProbeResult.SUCCESS
    assert not turns


async def test_a_refused_connection_is_a_failure_and_no_error() -> None:
    with refusing() as port:
        attempt = await probe_tcp(LOOPBACK, port, SECOND)

    output = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    there = SocketAddress(LOOPBACK, port)
    assert attempt == Attempt(ProbeResult.FAILURE, output, refused_at=there)


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(SHORT, id="in time"),
        pytest.param(-SECOND, id="a negative limit is over at once"),
    ],
)
async def test_a_handshake_that_does_not_end_in_time_is_a_failure(
    limit: timedelta,
) -> None:
    with full() as port:
        attempt = await probe_tcp(LOOPBACK, port, limit)

    output = f"dial tcp 127.0.0.1:{port}: i/o timeout"
    assert attempt == Attempt(ProbeResult.FAILURE, output)


async def test_no_limit_is_no_limit() -> None:
    with full() as port:
        probing = asyncio.create_task(probe_tcp(LOOPBACK, port, timedelta()))

        done, _ = await asyncio.wait([probing], timeout=0.05)

        probing.cancel()
        await asyncio.wait([probing])
    assert not done
    assert probing.cancelled()
