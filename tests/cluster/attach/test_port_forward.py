"""Forwarded ports of a cluster's pod, with our API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from datetime import timedelta

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.attach.port_forward import PortForward
from probetui.cluster.attach.upgrade import LONGEST_BACKLOG
from probetui.cluster.serving.http_server import HttpRequest
from probetui.errors import ContainerRuntimeError, ForwardRefusedError
from probetui.kubelet.outcome import ProbeResult
from probetui.ports import Destination
from probetui.probers.tcp_probe import probe_tcp
from probetui.runtimes.streaming import spdy_streams
from tests.cluster.api_server.server import ServerFault
from tests.cluster.attach.bench import Bench, a_bench

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(bench: Bench, port: int, serve: Serve) -> AsyncIterator[None]:
    """Start a server at a port of the pod."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    bench.inside.ports[port] = server.sockets[0].getsockname()[1]
    # Some connections outlast the server, and a server's own context waits for them.
    with closing(server):
        yield


@asynccontextmanager
async def forwarding(bench: Bench) -> AsyncIterator[PortForward]:
    async with bench.client() as client:
        forward = PortForward(client, "default", "web")
        try:
            yield forward
        finally:
            await forward.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        writer.write(data.upper())
        await writer.drain()
    writer.close()


async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send nothing, and stay connected even when the other side has finished."""
    try:
        await asyncio.Event().wait()
    finally:
        writer.close()


def refuse(bench: Bench, *methods: str) -> list[str]:
    received: list[str] = []

    def fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
        if info.subresource != "portforward":
            return None
        received.append(request.method)
        failure = ApiFailure(403, "Forbidden", "no", {})
        return ServerFault(failure=failure) if request.method in methods else None

    bench.server.api.fault = fault
    return received


async def test_connections_share_a_tunnel_and_do_not_mix(bench: Bench) -> None:
    methods = refuse(bench)
    async with listening(bench, 80, echo), forwarding(bench) as forward:
        first, second = await forward.connect(80), await forward.connect(80)
        await second.send(b"two")
        await first.send(b"one")

        answers = await first.receive(), await second.receive()

        first.close()
        second.close()
    assert answers == (b"ONE", b"TWO")
    assert methods == ["GET"]


async def test_streams_that_have_ended_leave_room_for_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spdy_streams, "MAX_STREAMS", 20)
    async with listening(bench, 80, echo), forwarding(bench) as forward:
        for _ in range(30):
            connection = await forward.connect(80)
            await connection.send(b"one")
            await connection.finish_sending()
            assert await connection.receive() == b"ONE"
            assert await connection.receive() == b""


async def test_who_may_not_get_but_create_is_forwarded_over_spdy(bench: Bench) -> None:
    methods = refuse(bench, "GET")
    async with listening(bench, 80, echo), forwarding(bench) as forward:
        connection = await forward.connect(80)
        await connection.send(b"one")
        answer = await connection.receive()
        connection.close()
    assert (answer, methods) == (b"ONE", ["GET", "POST"])


async def test_a_missing_right_is_named(bench: Bench) -> None:
    refuse(bench, "GET", "POST")
    async with forwarding(bench) as forward:
        with pytest.raises(ContainerRuntimeError) as refused:
            await forward.connect(80)
    command = "kubectl auth can-i create pods/web --subresource=portforward -n default"
    assert command in str(refused.value)


async def test_a_port_without_a_server_refuses(bench: Bench) -> None:
    async with forwarding(bench) as forward:
        connection = await forward.connect(81)
        with pytest.raises(ForwardRefusedError, match="connection refused"):
            await connection.receive()
        connection.close()


async def test_a_tunnel_that_breaks_is_opened_again(bench: Bench) -> None:
    async with a_bench() as other:
        other.create()
        async with listening(other, 80, echo), forwarding(other) as forward:
            connection = await forward.connect(80)
            for task in asyncio.all_tasks():
                if "_Server._serve" in repr(task.get_coro()):
                    task.cancel()
            with pytest.raises(ContainerRuntimeError, match="broke"):
                await connection.receive()
            connection.close()

            again = await forward.connect(80)
            await again.send(b"x")
            assert await again.receive() == b"X"
            again.close()


async def test_a_pod_that_floods_a_connection_fills_no_memory(bench: Bench) -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x" * 100_000)
            await writer.drain()

    async with listening(bench, 80, flood), forwarding(bench) as forward:
        connection = await forward.connect(80)
        async with asyncio.timeout(20):
            while not connection.has_ended:  # noqa: ASYNC110  # nobody tells of it
                await asyncio.sleep(0.01)
            size = 0
            while data := await connection.receive():
                size += len(data)
        connection.close()
    assert size <= LONGEST_BACKLOG


async def probe(forward: PortForward, port: int) -> tuple[ProbeResult, str]:
    def route(_host: str, port_number: int) -> Destination:
        return lambda: forward.connect(port_number)

    attempt = await probe_tcp("192.0.2.7", port, timedelta(seconds=5), route)
    return attempt.result, attempt.output


@pytest.mark.parametrize(
    "serve", [pytest.param(echo, id="ends"), pytest.param(hold, id="holds on")]
)
async def test_a_tcp_probe_succeeds_where_somebody_listens(
    bench: Bench, serve: Serve
) -> None:
    async with listening(bench, 80, serve), forwarding(bench) as forward:
        assert await probe(forward, 80) == (ProbeResult.SUCCESS, "")


async def test_a_tcp_probe_fails_as_at_the_pods_ip_where_nobody_listens(
    bench: Bench,
) -> None:
    async with forwarding(bench) as forward:
        assert await probe(forward, 81) == (
            ProbeResult.FAILURE,
            "dial tcp 192.0.2.7:81: connect: connection refused",
        )
