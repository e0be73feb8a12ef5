"""The test server, run from its source as on runtimes without images."""

from __future__ import annotations

import asyncio
import importlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.images.agnhost import agnhost

grpc: Any = importlib.import_module("grpc")  # it has no types

HERE = Path(__file__).parent
HOST = "127.0.0.1"
READY_WITHIN_SECONDS = 20

Process = subprocess.Popen[bytes]
Start = Callable[..., Process]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return a function that starts the server; it is killed at the end."""
    monkeypatch.setenv("POD_IP", HOST)
    started: list[Process] = []

    def run(*arguments: str) -> Process:
        command = [sys.executable, str(HERE / "agnhost.py"), *arguments]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        return started[-1]

    yield run
    for popen in started:
        popen.kill()
        popen.wait()


@pytest.fixture
def port(unused_tcp_port_factory: Callable[[], int]) -> str:
    """Return an unused port."""
    return str(unused_tcp_port_factory())


@pytest.fixture
def http(unused_tcp_port_factory: Callable[[], int]) -> str:
    """Return another unused port."""
    return str(unused_tcp_port_factory())


async def listening(port: str) -> None:
    """Wait until a server listens on a port."""
    async with asyncio.timeout(READY_WITHIN_SECONDS):
        while True:
            try:
                _, writer = await asyncio.open_connection(HOST, int(port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return


async def get(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
        return await client.get(url)


def check_health(port: str, request: bytes) -> bytes:
    """Send a raw health check to a gRPC server."""
    with grpc.insecure_channel(f"{HOST}:{port}") as channel:
        answer: Any = channel.unary_unary("/grpc.health.v1.Health/Check")(request)
        return bytes(answer)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        pytest.param("/healthz", 200, "", id="healthy"),
        pytest.param("/echo?msg=a%26b", 200, "a&b", id="echo"),
        pytest.param("/echo?msg=no&code=503", 503, "no", id="echo-with-a-code"),
        pytest.param(
            "/shell?shellCommand=echo%20hi%3B%20exit%203",
            200,
            '{"output": "hi\\n", "error": "exit status 3"}',
            id="shell",
        ),
        pytest.param("/redirect?location=/hostname", 302, "", id="redirect"),
    ],
)
async def test_netexec_responds(
    path: str, status: int, body: str, start: Start, port: str
) -> None:
    start("netexec", "--udp-port=-1", "--http-port", port)
    await listening(port)

    response = await get(f"http://{HOST}:{port}{path}")

    assert (response.status_code, response.text) == (status, body)


async def test_netexec_speaks_tls_with_a_certificate(start: Start, port: str) -> None:
    pair = (HERE / "localhost.crt", HERE / "localhost.key")
    files = ("--tls-cert-file", str(pair[0]), "--tls-private-key-file", str(pair[1]))
    start("netexec", "--http-port", port, *files)
    await listening(port)

    response = await get(f"https://{HOST}:{port}/echo?msg=up")

    assert response.text == "up"


async def test_netexec_exits_with_the_requested_code(start: Start, port: str) -> None:
    process = start("netexec", "--http-port", port)
    await listening(port)

    with pytest.raises(httpx2.HTTPError):
        await get(f"http://{HOST}:{port}/exit?code=7")

    assert process.wait() == 7


async def test_test_webserver_serves_the_folder_it_runs_in(
    start: Start, port: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(HERE)
    start("test-webserver", "--port", port)
    await listening(port)

    response = await get(f"http://{HOST}:{port}/localhost.crt")

    assert response.text == (HERE / "localhost.crt").read_text()


@pytest.mark.parametrize(
    ("age", "status"),
    [
        pytest.param(10.0, HTTPStatus.OK, id="for-ten-seconds"),
        pytest.param(10.1, HTTPStatus.INTERNAL_SERVER_ERROR, id="and-no-longer"),
    ],
)
def test_liveness_is_healthy(
    age: float, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agnhost, "now", lambda: 100.0)
    routes = agnhost.liveness_routes()
    monkeypatch.setattr(agnhost, "now", lambda: 100.0 + age)

    answer = routes["/healthz"](agnhost.Request({}, HOST))

    assert answer.status == status


def test_liveness_redirects_to_the_requested_location() -> None:
    redirect = agnhost.liveness_routes()["/redirect"]

    answer = redirect(agnhost.Request({"loc": "/healthz"}, HOST))

    assert answer.status == HTTPStatus.FOUND
    assert answer.headers == {"Location": "/healthz"}


async def test_the_health_of_a_service_can_be_switched(
    start: Start, port: str, http: str
) -> None:
    start("grpc-health-checking", "--port", port, "--http-port", http)
    await listening(http)

    before = check_health(port, b"")
    await get(f"http://{HOST}:{http}/make-not-serving")
    after = check_health(port, b"")

    assert (before, after) == (agnhost.SERVING, agnhost.NOT_SERVING)


async def test_another_service_is_unknown(start: Start, port: str, http: str) -> None:
    arguments = ("--port", port, "--http-port", http, "--service", "a")
    start("grpc-health-checking", *arguments)
    await listening(http)

    healthy = check_health(port, b"\x0a\x01a")
    with pytest.raises(grpc.RpcError) as refused:
        check_health(port, b"\x0a\x01b")

    assert healthy == agnhost.SERVING
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_service_becomes_unhealthy_after_a_while(
    start: Start, port: str, http: str
) -> None:
    late = ("--delay-unhealthy-sec", "0")
    start("grpc-health-checking", "--port", port, "--http-port", http, *late)
    await listening(http)

    assert check_health(port, b"") == agnhost.NOT_SERVING


async def test_a_server_exits_on_a_signal(start: Start, port: str) -> None:
    process = start("netexec", "--http-port", port)
    await listening(port)

    process.send_signal(signal.SIGTERM)

    assert process.wait() == agnhost.TERMINATED


def test_pause_exits_with_0() -> None:
    command = [sys.executable, str(HERE / "agnhost.py"), "pause"]
    blocked = {signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    try:
        process = subprocess.Popen(command)  # it inherits the blocked signal
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)

    process.send_signal(signal.SIGTERM)

    assert process.wait() == 0
