"""gRPC health probes against servers, with and without TLS."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from msgspec.structs import replace

from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.outcome import Attempt, PeerBehavior, ProbeResult
from probetui.probers.grpc_probe import probe_grpc
from tests.probers.grpc_server import (
    INTERNAL,
    NOT_FOUND,
    NOT_SERVING,
    SERVING,
    UNIMPLEMENTED,
    Answer,
    HealthServer,
    status,
)
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.servers import LOOPBACK, Serve, answer, refusing, serving

LIMIT = timedelta(seconds=10)
SHORT = timedelta(milliseconds=50)
POD_IP = "10.1.2.3"
HEALTHY = Attempt(ProbeResult.SUCCESS, "service healthy", detail="SERVING")
CANCELLED, DEADLINE_EXCEEDED = 1, 4


@contextlib.asynccontextmanager
async def a_server(
    given: Answer | None = None, *, delay_seconds: float = 0
) -> AsyncIterator[tuple[HealthServer, int]]:
    """Serve one answer to all; by default SERVING."""
    answer = given or status(SERVING)
    server = HealthServer(lambda _: answer, delay_seconds)
    async with serving(server.serve) as port:
        yield server, port


def not_connected(port: int, limit: str, host: str = LOOPBACK) -> Attempt:
    output = (
        f'timeout: failed to connect service "{host}:{port}" within {limit}: '
        "context deadline exceeded"
    )
    return Attempt(ProbeResult.FAILURE, output)


async def test_a_server_that_serves_is_healthy() -> None:
    async with a_server() as (server, port):
        attempt = await probe_grpc(LOOPBACK, port, "", LIMIT)

    assert attempt == HEALTHY
    assert [call.service for call in server.calls] == [""]


async def test_a_server_made_of_grpcio_is_healthy_too() -> None:
    servicer = health.HealthServicer()
    servicer.set("web", health_pb2.HealthCheckResponse.SERVING)
    with ThreadPoolExecutor(1) as threads:
        server = grpc.server(threads)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        port = server.add_insecure_port(f"{LOOPBACK}:0")
        server.start()
        attempt = await probe_grpc(LOOPBACK, port, "web", LIMIT)
        server.stop(None).wait()

    assert attempt == HEALTHY


async def test_the_request_has_the_name_of_the_service() -> None:
    async with a_server() as (server, port):
        await probe_grpc(LOOPBACK, port, "é svc/日本", LIMIT)

    assert [call.service for call in server.calls] == ["é svc/日本"]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        pytest.param(0, "UNKNOWN", id="unknown"),
        pytest.param(NOT_SERVING, "NOT_SERVING", id="not serving"),
        pytest.param(3, "SERVICE_UNKNOWN", id="service unknown"),
        pytest.param(42, "42", id="a number without a name"),
        pytest.param(-1, "-1", id="a negative number"),
    ],
)
async def test_any_other_status_is_a_failure(number: int, name: str) -> None:
    async with a_server(status(number)) as (_, port):
        attempt = await probe_grpc(LOOPBACK, port, "", LIMIT)

    output = f'service unhealthy (responded with "{name}")'
    assert attempt == Attempt(ProbeResult.FAILURE, output, detail=name)


RPC_FAILED = "error: health rpc probe failed: rpc error: code = "
BAD_ANSWER = (
    "Internal desc = grpc: failed to unmarshal the received message: "
    "proto: cannot parse invalid wire-format data"
)


@pytest.mark.parametrize(
    ("given", "output"),
    [
        pytest.param(
            Answer(code=NOT_FOUND, message=b"unknown service"),
            f"{RPC_FAILED}NotFound desc = unknown service",
            id="unknown service",
        ),
        pytest.param(
            Answer(code=CANCELLED), f"{RPC_FAILED}Canceled desc = ", id="Go's spelling"
        ),
        pytest.param(
            Answer(code=INTERNAL, message='a\nb 100% é "q" [red]\x1b'.encode()),
            f'{RPC_FAILED}Internal desc = a\nb 100% é "q" [red]\x1b',
            id="a message is data",
        ),
        pytest.param(
            Answer(code=UNIMPLEMENTED, message=b"m"),
            "error: this server does not implement the grpc health protocol "
            "(grpc.health.v1.Health): m",
            id="no health service",
        ),
        pytest.param(
            Answer(code=DEADLINE_EXCEEDED, message=b"m"),
            "timeout: health rpc did not complete within 10s",
            id="a deadline of the server's own",
        ),
        pytest.param(
            Answer(b"\xff\xff"), f"{RPC_FAILED}{BAD_ANSWER}", id="no message at all"
        ),
    ],
)
async def test_a_call_that_fails_is_a_failure(given: Answer, output: str) -> None:
    async with a_server(given) as (_, port):
        attempt = await probe_grpc(LOOPBACK, port, "", LIMIT)

    assert (attempt.result, attempt.error) == (ProbeResult.FAILURE, None)
    assert attempt.output == output


async def test_a_service_name_that_is_not_utf8_is_an_error() -> None:
    async with a_server() as (server, port):
        attempt = await probe_grpc(LOOPBACK, port, "\udcff", LIMIT)

    why = "error while marshaling: string field contains invalid UTF-8"
    assert attempt.output == f"{RPC_FAILED}Internal desc = grpc: {why}"
    assert not server.calls


async def test_connecting_and_asking_share_one_deadline() -> None:
    limit = timedelta(milliseconds=200)
    async with a_server(delay_seconds=5) as (server, port):
        attempt = await probe_grpc(LOOPBACK, port, "", limit)

    assert attempt.output == "timeout: health rpc did not complete within 200ms"
    assert [0 < call.timeout <= 0.2 for call in server.calls] == [True]


async def test_a_server_that_comes_late_is_found_after_the_first_pause() -> None:
    server = HealthServer(lambda _: status(SERVING))
    async with serving(server.serve, refuse_seconds=0.5) as port:
        attempt = await probe_grpc(LOOPBACK, port, "", LIMIT)

    assert attempt == HEALTHY
    assert server.calls[0].timeout <= LIMIT.total_seconds() - 1


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        pytest.param(timedelta(), "0s", id="Quirk: zero is no time at all"),
        pytest.param(timedelta(seconds=-1), "-1s", id="negative"),
    ],
)
async def test_without_time_no_request_is_sent(limit: timedelta, text: str) -> None:
    async with a_server() as (server, port):
        attempt = await probe_grpc(LOOPBACK, port, "", limit)

    assert attempt == not_connected(port, text)
    assert not server.calls


async def test_a_refused_connection_costs_all_the_time() -> None:
    clock = asyncio.get_running_loop().time
    started_at = clock()
    with refusing() as port:
        attempt = await probe_grpc(LOOPBACK, port, "svc", SHORT)

    assert replace(attempt, refused_at=None) == not_connected(port, "50ms")
    assert clock() - started_at >= SHORT.total_seconds()


@pytest.mark.slow
async def test_a_connection_that_fails_at_once_has_its_address() -> None:
    with refusing() as port:
        attempt = await probe_grpc(LOOPBACK, port, "svc", timedelta(seconds=1))

    assert attempt.refused_at == SocketAddress(LOOPBACK, port)


@pytest.mark.parametrize(
    ("protocols", "is_tls", "is_healthy"),
    [
        pytest.param(("h2",), True, True, id="TLS"),
        pytest.param(("http/1.1",), True, False, id="TLS without HTTP/2"),
        pytest.param(("h2",), False, False, id="plaintext"),
    ],
)
async def test_a_server_with_tls_is_probed_without_verification(
    protocols: tuple[str, ...], *, is_tls: bool, is_healthy: bool
) -> None:
    server = HealthServer(lambda _: status(SERVING))

    async def serve(peer: Peer) -> None:
        secured = TLSPeer(peer, server_context(protocols=protocols))
        with contextlib.suppress(OSError):
            await secured.handshake()
            await server.serve(secured)

    limit = LIMIT if is_healthy else SHORT
    async with serving(serve) as port:
        attempt = await probe_grpc(LOOPBACK, port, "web", limit, is_tls=is_tls)

    assert (attempt == HEALTHY) is is_healthy
    assert [call.service for call in server.calls] == ["web"] * is_healthy


async def stay_silent(peer: Peer) -> None:
    await peer.drain_until_end()


async def hang_up(peer: Peer) -> None:
    await peer.close()


async def speak_http1(peer: Peer) -> None:
    await answer(peer, b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


async def speak_tls(peer: Peer) -> None:
    with contextlib.suppress(OSError):  # the client has not come for TLS
        await TLSPeer(peer, server_context(protocols=("h2",))).handshake()


async def speak_nonsense(peer: Peer) -> None:
    await peer.send(b"\xff" * 100)


@pytest.mark.parametrize(
    "serve", [stay_silent, hang_up, speak_http1, speak_tls, speak_nonsense]
)
async def test_what_is_no_grpc_server_is_not_connected(
    serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    async with serving(serve) as port:
        attempt = await probe_grpc(LOOPBACK, port, "", SHORT)

    # Something listens there, so that nothing was refused.
    assert replace(attempt, peer=None) == not_connected(port, "50ms")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("serve", [stay_silent, hang_up, speak_http1, speak_nonsense])
async def test_a_server_without_tls_is_not_connected_to_by_tls(serve: Serve) -> None:
    async with serving(serve) as port:
        attempt = await probe_grpc(LOOPBACK, port, "", SHORT, is_tls=True)

    assert replace(attempt, peer=None) == not_connected(port, "50ms")


@pytest.mark.parametrize(
    ("serve", "is_tls", "peer"),
    [
        pytest.param(stay_silent, False, None, id="silent"),
        pytest.param(hang_up, False, PeerBehavior.CLOSES, id="hangs up"),
        pytest.param(speak_http1, False, PeerBehavior.OTHER, id="HTTP/1.1"),
        pytest.param(speak_nonsense, True, PeerBehavior.PLAIN, id="no TLS"),
    ],
)
async def test_what_the_server_did_is_kept_where_the_message_hides_it(
    serve: Serve, peer: PeerBehavior | None, *, is_tls: bool
) -> None:
    async with serving(serve) as port:
        attempt = await probe_grpc(LOOPBACK, port, "", SHORT, is_tls=is_tls)

    assert attempt.peer is peer


@pytest.mark.parametrize(
    ("host", "port"),
    [
        pytest.param(LOOPBACK, 70_000, id="port"),
        pytest.param(LOOPBACK, -1, id="negative port"),
        pytest.param("bad host", 80, id="name"),
        pytest.param("a,b/c?d", 80, id="another name"),
        pytest.param("%zz", 80, id="no escape"),
    ],
)
async def test_an_address_nobody_has_is_not_connected_and_nothing_hangs(
    host: str, port: int
) -> None:
    first = await probe_grpc(host, port, "", SHORT)
    async with a_server() as (_, other_port):
        second = await probe_grpc(LOOPBACK, other_port, "", LIMIT)

    assert first == not_connected(port, "50ms", host)
    assert second == HEALTHY


async def test_a_pod_without_an_address_is_this_machine() -> None:
    """Quirk: Go dials the local host for an empty one, and so the node itself."""
    async with a_server() as (server, port):
        attempt = await probe_grpc("", port, "", LIMIT)

    assert attempt == HEALTHY
    assert server.calls[0].headers[":authority"] == f"localhost:{port}"


async def test_a_route_changes_where_it_connects_and_nothing_else() -> None:
    async with a_server() as (server, port):
        attempt = await probe_grpc(POD_IP, 80, "", LIMIT, lambda *_: (LOOPBACK, port))
    with refusing() as port:
        refused = await probe_grpc(POD_IP, 80, "", SHORT, lambda *_: (LOOPBACK, port))

    assert attempt == HEALTHY
    assert server.calls[0].headers[":authority"] == f"{POD_IP}:80"
    assert replace(refused, refused_at=None) == not_connected(80, "50ms", POD_IP)


async def test_the_user_agent_is_the_kubelet_s() -> None:
    async with a_server() as (server, port):
        await probe_grpc(LOOPBACK, port, "", LIMIT)

    agents = [call.headers["user-agent"] for call in server.calls]
    assert agents == ["kube-probe/1.32 grpc-go/1.65.0"]


async def test_a_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_grpc_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with refusing() as nowhere:
        for name in ("grpc_proxy", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://{LOOPBACK}:{nowhere}")
        async with a_server() as (_, port):
            attempt = await probe_grpc(LOOPBACK, port, "", LIMIT)

    assert attempt == HEALTHY


async def test_each_probe_has_a_connection_of_its_own_and_closes_it() -> None:
    server = HealthServer(lambda _: status(SERVING))
    ended: asyncio.Queue[int] = asyncio.Queue()

    async def serve(peer: Peer) -> None:
        await server.serve(peer)
        await ended.put(len(server.calls))

    async with serving(serve) as port:
        for number in (1, 2):
            await probe_grpc(LOOPBACK, port, "", LIMIT)

            assert await ended.get() == number


async def test_many_probes_at_once_do_not_disturb_each_other() -> None:
    async with a_server(delay_seconds=0.05) as (_, port):
        probes = [probe_grpc(LOOPBACK, port, "", LIMIT) for _ in range(30)]

        attempts = await asyncio.gather(*probes)

    assert set(attempts) == {HEALTHY}


async def test_a_probe_can_be_cancelled_while_it_connects() -> None:
    limit = timedelta(seconds=1)
    ended = asyncio.Event()
    came = asyncio.Event()

    async def serve(peer: Peer) -> None:
        came.set()
        await peer.drain_until_end()
        ended.set()

    async with serving(serve) as port:
        probing = asyncio.create_task(probe_grpc(LOOPBACK, port, "", limit))
        await came.wait()

        probing.cancel()

        await asyncio.wait([probing])
        async with asyncio.timeout(10):
            await ended.wait()
    assert probing.cancelled()


async def test_a_probe_can_be_cancelled_while_it_waits_for_the_answer() -> None:
    asked = asyncio.Event()

    class Thinking(HealthServer):
        async def wait(self) -> None:
            asked.set()
            await asyncio.Future()

    async with serving(Thinking(lambda _: status(SERVING)).serve) as port:
        probing = asyncio.create_task(probe_grpc(LOOPBACK, port, "", LIMIT))
        await asked.wait()

        probing.cancel()

        await asyncio.wait([probing])
    assert probing.cancelled()


async def test_nothing_is_left_behind() -> None:
    async with a_server() as (_, port):
        for _ in range(3):
            await probe_grpc(LOOPBACK, port, "", LIMIT)
        files = open_files()
        for _ in range(20):
            await probe_grpc(LOOPBACK, port, "", LIMIT)
    with refusing() as port:
        await probe_grpc(LOOPBACK, port, "", SHORT)

    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert open_files() <= files


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))
