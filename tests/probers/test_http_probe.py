from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from probetui.k8s.probe import HTTPGetAction, HTTPHeader
from probetui.k8s.runtime import SocketAddress
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeResult, Redirect
from probetui.probers.go import tls
from probetui.probers.go.http_transport import OneShotTransport
from probetui.probers.http_probe import MAX_BODY_BYTES, probe_http
from probetui.probers.http_request import ProbeRequest, build_request
from tests.probers.client_hello import read_client_hello
from tests.probers.h2_server import serve_http2
from tests.probers.peers import Peer, TLSPeer, server_context
from tests.probers.scripted_server import listening
from tests.probers.servers import (
    LOOPBACK,
    answer,
    full,
    read_head,
    refusing,
    serving,
)

SECOND = timedelta(seconds=1)
SHORT = timedelta(milliseconds=50)
ENOUGH_FOR_A_HEAD = timedelta(seconds=1)
"""On a busy machine too: only the body may come too late."""
AWAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING = (
    "context deadline exceeded "
    "(Client.Timeout or context cancellation while reading body)"
)
HANG = {"hang": True}
Actions = list[dict[str, Any]]


def a_request(port: int, path: str = "/x", scheme: str = "HTTP") -> ProbeRequest:
    return build_request(HTTPGetAction(port, path, scheme=scheme), LOOPBACK, port)


def an_answer(status: int, body: str = "", *headers: str) -> dict[str, str]:
    lines = [f"HTTP/1.1 {status} S", f"Content-Length: {len(body)}", *headers, "", body]
    return {"send": "\r\n".join(lines)}


async def probe(
    *actions: dict[str, Any],
    limit: timedelta = SECOND,
    secured: dict[str, Any] | None = None,
    **routes: Actions,
) -> Attempt:
    """Probe `/x` of a server that does these actions; `routes` are for `/name`."""
    paths = {f"/{name}": route for name, route in routes.items()}
    listener = {"kind": "script", "routes": {"*": list(actions), **paths}}
    if secured is not None:
        listener["tls"] = secured
    async with listening({"A": listener}) as listeners:
        scheme = "HTTP" if secured is None else "HTTPS"
        request = a_request(listeners.ports["A"], scheme=scheme)
        attempt = await probe_http(request, limit, OneShotTransport())
        text = listeners.unfill(attempt.output)
    return Attempt(attempt.result, text, attempt.error, detail=attempt.detail)


async def answer_of(*actions: dict[str, Any], **routes: Actions) -> HTTPAnswer | None:
    """Probe as `probe` does; return what is kept of the answer."""
    paths = {f"/{name}": route for name, route in routes.items()}
    listener = {"kind": "script", "routes": {"*": list(actions), **paths}}
    async with listening({"A": listener}) as listeners:
        request = a_request(listeners.ports["A"])
        attempt = await probe_http(request, SECOND, OneShotTransport())
    return attempt.http


async def test_of_a_failure_headers_and_body_are_kept() -> None:
    answer = await answer_of(an_answer(503, "not ready: database", "X-Why: database"))

    assert answer is not None
    assert (answer.status, answer.body) == (503, "not ready: database")
    headers = {header.name.lower(): header.value for header in answer.headers}
    assert headers["x-why"] == "database"


async def test_a_body_that_is_the_output_is_not_kept_twice() -> None:
    answer = await answer_of(an_answer(200, "fine"))

    assert answer is not None
    assert answer.body == ""


async def test_redirects_that_are_followed_are_kept_in_order() -> None:
    answer = await answer_of(
        an_answer(302, "", "Location: /a"),
        a=[an_answer(301, "", "Location: /b")],
        b=[an_answer(200, "there")],
    )

    assert answer is not None
    assert answer.redirects == ("/a", "/b")


async def test_the_redirects_before_a_refused_connection_are_kept() -> None:
    with refusing() as closed:
        there = f"http://{LOOPBACK}:{closed}/healthz"
        redirect = an_answer(302, "", f"Location: {there}")
        listener = {"kind": "script", "routes": {"*": [redirect]}}
        async with listening({"A": listener}) as listeners:
            request = a_request(listeners.ports["A"])
            attempt = await probe_http(request, SECOND, OneShotTransport())

    asked = f"http://{LOOPBACK}:{listeners.ports['A']}/x"
    assert attempt.followed == (Redirect(302, asked, there),)
    assert attempt.refused_at == SocketAddress(LOOPBACK, closed)
    assert attempt.http is None


async def test_without_an_answer_nothing_is_kept() -> None:
    assert await answer_of({"close": "fin"}) is None


@pytest.mark.parametrize(
    ("status", "result", "output"),
    [
        pytest.param(200, ProbeResult.SUCCESS, "hi", id="200"),
        pytest.param(299, ProbeResult.SUCCESS, "hi", id="299"),
        pytest.param(
            302,
            ProbeResult.WARNING,
            "Probe terminated redirects, Response body: hi",
            id="302 without a location",
        ),
        pytest.param(
            400,
            ProbeResult.FAILURE,
            "HTTP probe failed with statuscode: 400",
            id="400",
        ),
        pytest.param(
            999,
            ProbeResult.FAILURE,
            "HTTP probe failed with statuscode: 999",
            id="999",
        ),
    ],
)
async def test_the_status_decides(
    status: int, result: ProbeResult, output: str
) -> None:
    attempt = await probe(an_answer(status, "hi"))

    assert attempt == Attempt(result, output, detail=f"HTTP {status}")


async def test_a_body_is_read_up_to_ten_kibibytes_and_what_follows_is_ignored() -> None:
    head = {"send": "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"}
    body = {"sendRepeat": {"text": "a", "count": MAX_BODY_BYTES}}

    attempt = await probe(head, body, HANG)

    assert attempt.output == "a" * MAX_BODY_BYTES
    assert attempt.result is ProbeResult.SUCCESS


@pytest.mark.parametrize("status", [200, 302, 500])
async def test_a_body_that_comes_too_late_is_an_error_and_no_failure(
    status: int,
) -> None:
    """Quirk: such a server never fails a liveness probe, whatever its status."""
    head = {"send": f"HTTP/1.1 {status} S\r\nContent-Length: 9\r\n\r\npart"}

    attempt = await probe(head, HANG, limit=ENOUGH_FOR_A_HEAD)

    detail = f"HTTP {status}"
    assert attempt == Attempt(ProbeResult.FAILURE, error=READING, detail=detail)


async def test_a_body_that_breaks_off_is_an_error() -> None:
    attempt = await probe({"send": "HTTP/1.1 500 S\r\nContent-Length: 9\r\n\r\npart"})

    assert attempt.error == "unexpected EOF"


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param([HANG], id="nothing"),
        pytest.param([{"send": "HTTP/1.1 200 OK\r\n"}, HANG], id="half a head"),
    ],
)
async def test_a_head_that_comes_too_late_is_a_failure(actions: Actions) -> None:
    attempt = await probe(*actions, limit=SHORT)

    output = f'Get "http://127.0.0.1:{{PORT:A}}/x": {AWAITING}'
    assert attempt == Attempt(ProbeResult.FAILURE, output)


async def test_no_limit_is_no_limit() -> None:
    attempt = await probe({"sleepMs": 10}, an_answer(200, "late"), limit=timedelta())

    assert attempt.output == "late"


async def test_a_port_that_refuses_is_a_failure() -> None:
    with refusing() as port:
        attempt = await probe_http(a_request(port), SECOND, OneShotTransport())

    url = f"http://127.0.0.1:{port}/x"
    why = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert attempt == Attempt(
        ProbeResult.FAILURE,
        f'Get "{url}": {why}',
        refused_at=SocketAddress(LOOPBACK, port),
    )


async def test_a_port_that_does_not_answer_is_a_failure() -> None:
    with full() as port:
        attempt = await probe_http(a_request(port), SHORT, OneShotTransport())

    assert attempt.output == f'Get "http://127.0.0.1:{port}/x": {AWAITING}'


async def test_a_password_is_not_in_a_message() -> None:
    with refusing() as port:
        request = a_request(port, "//u:secret@h/x")
        attempt = await probe_http(request, SECOND, OneShotTransport())

    assert attempt.output.startswith(f'Get "http://u:***@127.0.0.1:{port}/x": ')


async def test_a_redirect_on_the_same_host_is_followed() -> None:
    attempt = await probe(
        an_answer(404), x=[an_answer(302, "gone", "Location: y")], y=[an_answer(200)]
    )

    assert attempt == Attempt(ProbeResult.SUCCESS, detail="HTTP 200")


@pytest.mark.parametrize(
    ("status", "result"),
    [
        *(
            pytest.param(status, "success", id=f"{status}")
            for status in (301, 302, 303)
        ),
        *(pytest.param(status, "success", id=f"{status}") for status in (307, 308)),
        *(
            pytest.param(status, "warning", id=f"{status}")
            for status in (300, 304, 305)
        ),
    ],
)
async def test_only_some_statuses_are_redirects(status: int, result: str) -> None:
    attempt = await probe(
        an_answer(status, "", "Location: /y"), y=[an_answer(200, "there")]
    )

    assert attempt.result == result


async def test_a_redirect_to_another_host_is_a_warning() -> None:
    attempt = await probe(
        an_answer(301, "go away", "Location: http://localhost:{PORT:A}/y")
    )

    output = "Probe terminated redirects, Response body: go away"
    assert attempt == Attempt(ProbeResult.WARNING, output, detail="HTTP 301")


async def test_the_tenth_redirect_is_one_too_many() -> None:
    """Quirk: the message names the location as it was sent, not where it leads."""
    attempt = await probe(an_answer(302, "", "Location: /x"))

    output = 'Get "/x": stopped after 10 redirects'
    assert attempt == Attempt(ProbeResult.FAILURE, output)


async def test_a_location_that_is_no_url_is_a_failure() -> None:
    attempt = await probe(an_answer(302, "", "Location: /%zz"))

    why = 'failed to parse Location header "/%zz": parse "/%zz": '
    why += 'invalid URL escape "%zz"'
    assert attempt.output == f'Get "http://127.0.0.1:{{PORT:A}}/x": {why}'


async def test_a_time_limit_covers_the_bodies_of_redirects() -> None:
    head = "HTTP/1.1 302 S\r\nLocation: /y\r\nContent-Length: 9\r\n\r\npart"

    attempt = await probe({"send": head}, HANG, limit=ENOUGH_FOR_A_HEAD)

    assert attempt.result is ProbeResult.FAILURE
    assert attempt.error is None


async def test_a_long_body_of_a_redirect_is_not_waited_for() -> None:
    head = "HTTP/1.1 302 S\r\nLocation: /y\r\nContent-Length: 9999\r\n\r\n"

    attempt = await probe({"send": head}, HANG, y=[an_answer(200)])

    assert attempt.result is ProbeResult.SUCCESS


async def test_a_certificate_is_not_verified() -> None:
    attempt = await probe(an_answer(200, "hi"), secured={"cert": "expired"})

    assert attempt.output == "hi"


@pytest.mark.parametrize(
    ("secured", "why"),
    [
        pytest.param(
            {"minVersion": "1.0", "maxVersion": "1.1"},
            "remote error: tls: protocol version not supported",
            id="TLS 1.1",
        ),
        pytest.param(
            {"requireClientCert": True},
            "remote error: tls: certificate required",
            id="client certificate",
        ),
        pytest.param(
            {"requireClientCert": True, "maxVersion": "1.2"},
            "remote error: tls: handshake failure",
            id="client certificate in TLS 1.2",
        ),
    ],
)
async def test_a_refused_handshake_is_a_failure_in_go_s_words(
    secured: dict[str, Any], why: str
) -> None:
    attempt = await probe(an_answer(200), secured={"cert": "selfsigned", **secured})

    assert attempt.output == f'Get "https://127.0.0.1:{{PORT:A}}/x": {why}'


@pytest.mark.parametrize(
    ("first", "why"),
    [
        pytest.param(
            "HTTP/1.1 400 B\r\n\r\n",
            "http: server gave HTTP response to HTTPS client",
            id="HTTP",
        ),
        pytest.param(
            "garbage garbage",
            "tls: first record does not look like a TLS handshake",
            id="garbage",
        ),
        pytest.param("", "EOF", id="nothing"),
        pytest.param("\x16", "unexpected EOF", id="one byte"),
    ],
)
async def test_a_server_without_tls_is_a_failure(first: str, why: str) -> None:
    async def answer(peer: Peer) -> None:
        await peer.receive()
        await peer.send(first.encode())
        await peer.close()

    async with serving(answer) as port:
        request = a_request(port, scheme="HTTPS")
        attempt = await probe_http(request, SECOND, OneShotTransport())

    assert attempt.output == f'Get "https://127.0.0.1:{port}/x": {why}'


async def test_a_handshake_has_a_limit_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hang(peer: Peer) -> None:
        await peer.drain_until_end()

    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 0.05)
    async with serving(hang) as port:
        request = a_request(port, scheme="HTTPS")
        attempt = await probe_http(request, timedelta(), OneShotTransport())

    why = "net/http: TLS handshake timeout"
    assert attempt.output == f'Get "https://127.0.0.1:{port}/x": {why}'


async def test_another_protocol_is_not_offered_where_the_user_asks_for_an_upgrade() -> (
    None
):
    hellos = []

    async def answer(plain: Peer) -> None:
        peer = TLSPeer(plain, server_context(protocols=("h2",)))
        await peer.handshake()
        hellos.append(read_client_hello(peer.client_hello))
        await peer.close()

    headers = (HTTPHeader("Connection", "Upgrade"), HTTPHeader("Upgrade", "x"))
    action = HTTPGetAction(0, scheme="HTTPS", http_headers=headers)
    async with serving(answer) as port:
        request = build_request(action, LOOPBACK, port)
        await probe_http(request, SECOND, OneShotTransport())

    assert [hello.alpn for hello in hellos] == [None]


@pytest.mark.parametrize(
    ("path", "result"),
    [("/ok", ProbeResult.SUCCESS), ("/fail", ProbeResult.FAILURE)],
)
async def test_http_2_without_tls_is_used_at_once_if_the_manifest_sets_it(
    path: str, result: ProbeResult
) -> None:
    heads: list[list[str]] = []
    action = HTTPGetAction(0, path, protocol="HTTP2")

    async def serve(peer: Peer) -> None:
        await serve_http2(peer, heads.append)

    async with serving(serve) as port:
        request = build_request(action, LOOPBACK, port)
        attempt = await probe_http(request, SECOND, OneShotTransport())

    assert attempt.result is result
    assert len(heads) == 1


async def test_a_server_of_http_1_is_no_server_of_http_2() -> None:
    action = HTTPGetAction(0, "/", protocol="HTTP2")

    async def serve(peer: Peer) -> None:
        await answer(peer, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with serving(serve) as port:
        request = build_request(action, LOOPBACK, port)
        attempt = await probe_http(request, SECOND, OneShotTransport())

    assert attempt.result is ProbeResult.FAILURE


@asynccontextmanager
async def a_server_that_sees_the_end(
    first: bytes,
) -> AsyncIterator[tuple[int, asyncio.Event, asyncio.Event]]:
    """Give the port, when a request came, and when the client went away."""
    came, went = asyncio.Event(), asyncio.Event()

    async def hang(peer: Peer) -> None:
        await read_head(peer)
        await peer.send(first)
        came.set()
        await peer.drain_until_end()
        went.set()

    async with serving(hang) as port:
        yield port, came, went


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(b"", id="while awaiting the head"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", id="while reading the body"
        ),
    ],
)
async def test_a_probe_that_is_cancelled_closes_its_connection(first: bytes) -> None:
    async with a_server_that_sees_the_end(first) as (port, came, went):
        probing = asyncio.create_task(
            probe_http(a_request(port), timedelta(), OneShotTransport())
        )
        await came.wait()

        probing.cancel()

        await asyncio.wait_for(went.wait(), 1)
        await asyncio.wait([probing])
    assert probing.cancelled()
