"""`--metrics`: addresses and responses."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from prometheus_client import CollectorRegistry, Counter, Metric

from probetui.cli.session import metrics_server
from probetui.cli.session.metrics_server import (
    MAX_CONNECTIONS,
    parse_address,
    serve_metrics,
)
from probetui.cluster.serving.http_server import LONGEST_HEAD_BYTES
from probetui.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("9100", ("127.0.0.1", 9100), id="a-port-is-of-this-machine"),
        pytest.param(":9100", ("127.0.0.1", 9100), id="an-empty-host-too"),
        pytest.param("0.0.0.0:9100", ("0.0.0.0", 9100), id="a-host-that-is-named"),
        pytest.param("[::1]:9100", ("::1", 9100), id="an-address-in-brackets"),
    ],
)
def test_an_address_is_parsed(text: str, expected: tuple[str, int]) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("host:", id="no-port"),
        pytest.param(":70000", id="no-such-port"),
        pytest.param(":http", id="a-name"),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        pytest.param("GET", "/metrics", 200, id="the-metrics"),
        pytest.param("GET", "/metrics/probes?x=1", 200, id="where-a-kubelet-has-them"),
        pytest.param("GET", "/", 404, id="anywhere-else"),
        pytest.param("POST", "/metrics", 405, id="another-method"),
    ],
)
async def test_requests_are_answered(method: str, path: str, status: int) -> None:
    registry = CollectorRegistry()
    Counter("tries", "Tries.", registry=registry).inc()

    async with (
        serve_metrics(":0", registry) as (host, port),
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.request(method, f"http://{host}:{port}{path}")

    assert answer.status_code == status
    assert ("tries_total 1.0" in answer.text) == (status == 200)


async def test_an_address_in_use_is_an_error_of_usage() -> None:
    registry = CollectorRegistry()
    async with serve_metrics(":0", registry) as (_, port):
        with pytest.raises(UsageError, match="in use"):
            async with serve_metrics(f":{port}", registry):
                pass


async def test_a_connection_without_http_is_refused_and_closed() -> None:
    async with serve_metrics(":0", CollectorRegistry()) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"\x00\x01 nonsense\r\n\r\n")

        rest = await reader.read()

        writer.close()
        await writer.wait_closed()
    assert rest.startswith(b"HTTP/1.1 400 ")


def descriptors() -> int:
    """Return how many descriptors this process has."""
    return len(list(Path("/dev/fd").iterdir()))


async def is_closed_without_response(reader: asyncio.StreamReader) -> bool:
    """Wait until the server closes a connection; return whether it sent nothing."""
    with contextlib.suppress(ConnectionError):
        return await reader.read() == b""
    return True


async def test_silent_connections_are_limited_and_closed_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT_SECONDS", 2)
    before = descriptors()
    async with serve_metrics(":0", CollectorRegistry()) as (host, port):
        opened = [await asyncio.open_connection(host, port) for _ in range(200)]
        readers = [reader for reader, _ in opened]
        early = readers[:-MAX_CONNECTIONS]

        async with asyncio.timeout(60):
            gone = await asyncio.gather(*map(is_closed_without_response, early))
            # All that is open: both ends of the few, one end of the others.
            in_use = descriptors() - before - len(opened)
            rest = await asyncio.gather(
                *map(is_closed_without_response, readers[-MAX_CONNECTIONS:])
            )

        for _, writer in opened:
            writer.transport.abort()
    assert all(gone)
    assert all(rest)
    assert in_use <= MAX_CONNECTIONS + 5


async def test_a_silent_client_does_not_delay_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT_SECONDS", 3600)
    async with serve_metrics(":0", CollectorRegistry()) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /metrics HTTP/1.1\r\n")
        # The server has the connection when it answers another one.
        async with httpx2.AsyncClient(trust_env=False) as client:
            await client.get(f"http://{host}:{port}/metrics")

    assert not reader.at_eof()
    writer.transport.abort()


async def test_it_answers_again_after_silent_connections_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT_SECONDS", 0.5)
    async with (
        serve_metrics(":0", CollectorRegistry()) as (host, port),
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        opened = [
            await asyncio.open_connection(host, port) for _ in range(MAX_CONNECTIONS)
        ]
        async with asyncio.timeout(60):
            await asyncio.gather(
                *(is_closed_without_response(reader) for reader, _ in opened)
            )

        answer = await client.get(f"http://{host}:{port}/metrics")

        for _, writer in opened:
            writer.transport.abort()
    assert answer.status_code == 200


async def test_a_connection_with_an_endless_head_is_refused_and_closed() -> None:
    async with serve_metrics(":0", CollectorRegistry()) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /metrics HTTP/1.1\r\n" + b"a: b\r\n" * LONGEST_HEAD_BYTES)

        async with asyncio.timeout(60):
            answer = await reader.readline()

        writer.transport.abort()
    assert answer.startswith(b"HTTP/1.1 431 ")


async def test_a_connection_that_does_not_read_its_response_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics_server, "TIMEOUT_SECONDS", 0.5)
    registry = CollectorRegistry()
    Counter("tries", "Tries. " + "x" * 50_000_000, registry=registry).inc()
    async with serve_metrics(":0", registry) as (host, port):
        with socket.create_connection((host, port)) as slow:
            slow.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")

            async with asyncio.timeout(60):
                received = await asyncio.to_thread(read_slowly, slow)

    assert received < 50_000_000


def read_slowly(slow: socket.socket) -> int:
    """Read after the server's timeout, and return how much there was."""
    count = 0
    with contextlib.suppress(ConnectionError):
        count += len(slow.recv(1))  # The response is there.
        time.sleep(2)  # noqa: TID251  # the other side is to wait in vain
        while data := slow.recv(1 << 20):
            count += len(data)
    return count


async def test_simultaneous_requests_share_one_response() -> None:
    class Counting(CollectorRegistry):
        collected = 0

        def collect(self) -> Iterator[Metric]:
            Counting.collected += 1
            yield from super().collect()

    registry = Counting()
    async with (
        serve_metrics(":0", registry) as (host, port),
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        url = f"http://{host}:{port}/metrics"
        answers = await asyncio.gather(*(client.get(url) for _ in range(20)))

    assert {answer.status_code for answer in answers} == {200}
    assert Counting.collected < 20
