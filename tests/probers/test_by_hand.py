"""The command that repeats a probe by hand sends the same request as the probe."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from probetui.analysis.reproduce import reproduce_command
from probetui.k8s.pod import Container
from probetui.k8s.probe import HTTPGetAction, HTTPHeader, Probe
from probetui.k8s.runtime import NO_CONTAINER
from probetui.probers.go.http_transport import OneShotTransport
from probetui.probers.http_probe import probe_http
from probetui.probers.http_request import build_request
from tests.probers.scripted_server import listening
from tests.probers.servers import LOOPBACK

pytestmark = pytest.mark.curl
LIMIT = timedelta(seconds=20)
NO_BODY = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
ELSEWHERE = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
ABROAD = "HTTP/1.1 302 F\r\nLocation: http://127.0.0.9:9/\r\nContent-Length: 0\r\n\r\n"


async def by_hand(action: HTTPGetAction, redirects: tuple[str, ...] = ()) -> None:
    """Let a shell run the command, in a place where a proxy is set."""
    probe = Probe(action, timeout_seconds=20)
    command = reproduce_command(
        Container("app"), probe, NO_CONTAINER, LOOPBACK, redirects=redirects
    )
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", command,
        env={"http_proxy": "http://127.0.0.1:9/"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    await process.wait()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/healthz", id="plain"),
        pytest.param("healthz", id="without its slash"),
        pytest.param("/a b/it's;$HOME", id="what a shell would take apart"),
        pytest.param("/?a=1&b={c}[d]|e", id="a query"),
        pytest.param("?a=1", id="a query alone"),
        pytest.param("/a/../b/./c", id="dots"),
        pytest.param("/[1-3]/{a,b}", id="what curl would take for a range"),
        pytest.param("/%2Fa%20b", id="escaped already"),
        pytest.param("/100%?a", id="no escape"),
        pytest.param("/é", id="not ASCII"),
        pytest.param("/a#b", id="a fragment"),
    ],
)
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="no headers"),
        pytest.param(
            (
                HTTPHeader("Host", "app.test"),
                HTTPHeader("X-Two", "it's"),
                HTTPHeader("X-Two", "b"),
                HTTPHeader("X-Empty", ""),
                HTTPHeader("User-Agent", "me"),
                HTTPHeader("Accept", ""),
            ),
            id="headers",
        ),
    ],
)
async def test_curl_asks_what_the_probe_asks(
    path: str, headers: tuple[HTTPHeader, ...]
) -> None:
    async with listening(
        {"server": {"kind": "script", "routes": {"*": [{"send": NO_BODY}]}}}
    ) as listeners:
        action = HTTPGetAction(listeners.ports["server"], path, http_headers=headers)

        request = build_request(action, LOOPBACK, int(action.port))
        await probe_http(request, LIMIT, OneShotTransport())
        await by_hand(action)

    probed, repeated = listeners.requests
    assert repeated["requestLine"] == probed["requestLine"]
    # The kubelet says besides that it will not ask again.
    rest = normalized(probed["headers"]) - {"connection: close"}
    assert normalized(repeated["headers"]) == rest


def normalized(headers: list[str]) -> set[str]:
    return {header.lower().strip() for header in headers}


async def test_curl_follows_the_redirects_that_the_probe_followed() -> None:
    routes = {"/": [{"send": ELSEWHERE}], "/there": [{"send": ABROAD}]}
    async with listening({"server": {"kind": "script", "routes": routes}}) as listeners:
        action = HTTPGetAction(listeners.ports["server"], "/")

        request = build_request(action, LOOPBACK, int(action.port))
        attempt = await probe_http(request, LIMIT, OneShotTransport())
        assert attempt.http is not None
        await by_hand(action, attempt.http.redirects)

    lines = [request["requestLine"] for request in listeners.requests]
    assert lines == ["GET / HTTP/1.1", "GET /there HTTP/1.1"] * 2


async def test_curl_follows_a_redirect_to_https_without_verification() -> None:
    found = (
        "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: https://127.0.0.1:{}/\r\n\r\n"
    )
    secured = {
        "kind": "script",
        "tls": {"cert": "selfsigned"},
        "routes": {"*": [{"send": NO_BODY}]},
    }
    async with listening({"secured": secured}) as there:
        location = found.format(there.ports["secured"])
        routes = {"*": [{"send": location}]}
        async with listening({"s": {"kind": "script", "routes": routes}}) as here:
            action = HTTPGetAction(here.ports["s"], "/")
            request = build_request(action, LOOPBACK, int(action.port))
            attempt = await probe_http(request, LIMIT, OneShotTransport())
            assert attempt.http is not None
            await by_hand(action, attempt.http.redirects)

    lines = [request["requestLine"] for request in there.requests]
    assert lines == ["GET / HTTP/1.1"] * 2
