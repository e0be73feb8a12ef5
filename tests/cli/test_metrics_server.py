"""`--metrics`: addresses, and what is answered there."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from prometheus_client import CollectorRegistry, Counter

from probetui.cli.metrics_server import parse_address, serve_metrics
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
def test_an_address_is_read(text: str, expected: tuple[str, int]) -> None:
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
        httpx.AsyncClient(trust_env=False) as client,
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


async def test_what_is_no_http_is_let_go() -> None:
    async with serve_metrics(":0", CollectorRegistry()) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"\x00\x01 nonsense\r\n\r\n")

        rest = await reader.read()

        writer.close()
        await writer.wait_closed()
    assert rest == b""
