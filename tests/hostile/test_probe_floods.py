"""Servers that send endlessly: their probes end in time, others are not delayed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
import tracemalloc
from collections import deque
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from types import FrameType

import pytest

from probetui.drive.clocks import SystemClock
from probetui.k8s.pod import Container, Pod
from probetui.k8s.probe import (
    GRPCAction,
    HTTPGetAction,
    Probe,
    ProbeHandler,
    ProbeKey,
    ProbeType,
)
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import RunProbe
from probetui.kubelet.outcome import Attempt, HTTPAnswer, ProbeOutcome, ProbeResult
from probetui.probers.prober import ProbeDispatcher
from tests.fakes import FakeClock, FakeEngine, FakeRuntime
from tests.hostile.floods import FLOODS, LOOPBACK, Speaks
from tests.turns import LONGEST_TURN_SECONDS, measured_turns

LONGEST_TEXT = 17 << 10
KEPT_HEADERS = 16 << 10
# Ten times as long as any flood takes, and the end of those without one.
GIVEN_UP_AFTER_SECONDS = 60
PATIENCE_SECONDS = 30
"""A time limit that every finite flood meets."""

Ports = dict[str, int]
AWAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING = (
    "context deadline exceeded (Client.Timeout or context cancellation while reading "
    "body)"
)
TOO_MANY_LINES = "net/http: server response headers exceeded 10000 lines; aborted"
TOO_MANY_BYTES = "net/http: server response headers exceeded 10485760 bytes; aborted"
NO_REDIRECT = "longer than 16384 bytes"
BODY = "a" * 10240
OK_TEXT = "ok"
HTTP_TEXTS = {
    "healthy": OK_TEXT,
    "headers-of-5-mb": "",
    "100-continue": TOO_MANY_LINES,
    "status-line": TOO_MANY_BYTES,
    "status-line-of-9-mb": "HTTP probe failed with statuscode: 999",
    "status-code-of-9-mb": 'malformed HTTP status code "999',
    "no-http-of-9-mb": r'malformed HTTP response "\x1b',
    "header-lines": TOO_MANY_LINES,
    "header-lines-of-9-mb": TOO_MANY_LINES,
    "content-lengths": 'multiple Content-Length headers; got ["0" "1"',
    "content-length-of-9-mb": "a",
    "transfer-encodings": r'too many transfer encodings: ["\xff" "\xff"',
    "header-line": TOO_MANY_BYTES,
    "header-name": TOO_MANY_BYTES,
    "header-name-of-9-mb": r'malformed MIME header line: "\x1b',
    "header-without-colon-of-9-mb": 'missing colon: "aaa',
    "continuation-lines": TOO_MANY_LINES,
    "empty-continuation-lines": TOO_MANY_LINES,
    "drip": AWAITING,
    "chunks-of-one-byte": BODY,
    "chunk-extension": "header line too long",
    "chunk-extensions": "chunked encoding contains too much non-data",
    "chunk-size": "header line too long",
    "trailers": "http: suspiciously long trailer after chunked body",
    "trailer": "http: suspiciously long trailer after chunked body",
    "body": BODY,
    "body-slowly": READING,
    "failed-body-slowly": READING,
    "redirects": 'Get "/next": stopped after 10 redirects',
    "redirects-of-9-mb": NO_REDIRECT,
    "redirects-of-9-mb-and-host": NO_REDIRECT,
    "redirect-with-a-body": 'Get "/next": stopped after 10 redirects',
    "redirect-with-lengths": 'Get "/next": stopped after 10 redirects',
}
OTHER_TEXTS = {
    "tls-handshake-drip": AWAITING,
    "tls-handshake-of-empty-records": "tls: ",
    "tls-warnings": "EOF",
    "tls-garbage": "tls: ",
    "h2-healthy": OK_TEXT,
    "h2-continuations": "http2: ",
    "h2-empty-continuations": "http2: ",
    "h2-headers": "http2: response header list larger than advertised limit",
    "h2-header-bomb": "http2: response header list larger than advertised limit",
    "h2-empty-data": READING,
    "h2-padded-data": READING,
    "h2-data": BODY,
    "h2-resets": "stream error: stream ID 1; CANCEL; received from peer",
    "h2-pushes": "http2: ",
    "h2-status-of-5000-digits": "malformed non-numeric status pseudo header",
    "h2-garbage": "http2: ",
    "grpc-healthy": "service healthy",
    "grpc-nothing": "code = Unavailable desc = error reading from server: http2: ",
    "grpc-continuations": "code = Unavailable desc = error reading from server: ",
    "grpc-message-of-5-mb": "code = ResourceExhausted desc = grpc: received message "
    "larger than max (5242880 vs. 4194304)",
    "grpc-status-message": "code = Unavailable desc = error reading from server: ",
    "grpc-status-message-of-6-kb": "code = NotFound desc = \x1b\x1b",
    "grpc-headers": "response header list larger than advertised limit",
}
ASKING = "timeout: health rpc did not complete within 1s"


@pytest.fixture(scope="module", name="ports")
def _ports() -> Iterator[Ports]:
    """Serve every flood in another process, so that it does not slow down this one."""
    command = [sys.executable, "-m", "tests.hostile.floods"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())
        finally:
            server.kill()


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    for name in ("http_probe", "go.http_transport", "go.http2_stream", "grpc_probe"):
        import_module(f"probetui.probers.{name}")


def a_probe(port: int, speaks: Speaks, timeout_seconds: int = 1) -> RunProbe:
    container = Container("app")
    pod = Pod("uid", "web", containers=(container,))
    key = ProbeKey(pod.uid, container.name, ProbeType.LIVENESS)
    handler: ProbeHandler = GRPCAction(port)
    if speaks is not Speaks.GRPC:
        scheme = "HTTP" if speaks is Speaks.HTTP else "HTTPS"
        handler = HTTPGetAction(port, "/x", scheme=scheme)
    probe = Probe(handler, timeout_seconds=timeout_seconds)
    identifier = ContainerID("none://0")
    return RunProbe(1, key, pod, container, probe, identifier, LOOPBACK)


def a_dispatch() -> ProbeDispatcher:
    return ProbeDispatcher(FakeRuntime(FakeEngine(FakeClock())), SystemClock())


@contextlib.asynccontextmanager
async def beside_a_healthy_probe(port: int) -> AsyncIterator[list[ProbeOutcome]]:
    """Probe a healthy server repeatedly; nothing may delay that."""
    outcomes: list[ProbeOutcome] = []

    async def probe_again_and_again() -> None:
        dispatch, effect = a_dispatch(), a_probe(port, Speaks.HTTP)
        while True:
            outcomes.append(await dispatch.probe(effect))
            await asyncio.sleep(0.05)

    async with measured_turns() as turns:
        task = asyncio.create_task(probe_again_and_again())
        try:
            yield outcomes
            count = len(outcomes)
            async with asyncio.timeout(30):
                while len(outcomes) == count:  # noqa: ASYNC110  # probes send no notification
                    await asyncio.sleep(0.01)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
    assert turns.longest < LONGEST_TURN_SECONDS
    assert {outcome.last.result for outcome in outcomes} == {ProbeResult.SUCCESS}


@contextlib.contextmanager
def failing_after_a_timeout() -> Iterator[None]:
    """Fail if the event loop, and so pytest, is blocked for ever."""

    def fail(number: int, frame: FrameType | None) -> None:
        raise AssertionError("the event loop was held up")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(GIVEN_UP_AFTER_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def expected_text(name: str) -> str:
    """Return a text in the output or the error of a probe of this flood."""
    kind, _, body = name.partition("-")
    if kind in {"http", "https"}:
        return HTTP_TEXTS[body]
    return OTHER_TEXTS.get(name, ASKING if kind == "grpc" else AWAITING)


def text_of(attempt: Attempt) -> str:
    return attempt.output + (attempt.error or "")


def kept_bytes(answer: HTTPAnswer | None) -> int:
    if answer is None:
        return 0
    kept = sum(len(header.name) + len(header.value) for header in answer.headers)
    return kept + sum(map(len, answer.redirects))


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_ends_in_time_and_delays_no_other_probe(
    name: str, ports: Ports
) -> None:
    port, speaks = ports[name], FLOODS[name].speaks
    expected = expected_text(name)

    with failing_after_a_timeout():
        async with beside_a_healthy_probe(ports["http-healthy"]):
            attempt = (await a_dispatch().probe(a_probe(port, speaks))).last
            if expected not in text_of(attempt) and "deadline" in text_of(attempt):
                # A slow machine reads too little in a second to reach a limit.
                patient = a_probe(port, speaks, timeout_seconds=PATIENCE_SECONDS)
                attempt = (await a_dispatch().probe(patient)).last

    assert expected in text_of(attempt)
    assert max(len(attempt.output), len(attempt.error or "")) <= LONGEST_TEXT
    assert kept_bytes(attempt.http) <= KEPT_HEADERS


async def test_thirty_simultaneous_floods_delay_no_other_probe(ports: Ports) -> None:
    names = ("h2-pings", "h2-empty-data", "grpc-unknown-frames") * 10

    with failing_after_a_timeout():
        async with beside_a_healthy_probe(ports["http-healthy"]) as outcomes:
            effects = [a_probe(ports[name], FLOODS[name].speaks) for name in names]
            await asyncio.gather(*map(a_dispatch().probe, effects))

    # How many depends on the machine; that all succeeded is checked above.
    assert len(outcomes) > 1


async def test_responses_with_5_mb_of_headers_keep_little_memory(ports: Ports) -> None:
    effect = a_probe(ports["http-headers-of-5-mb"], Speaks.HTTP)
    kept: deque[ProbeOutcome] = deque(maxlen=60)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            kept.append(await a_dispatch().probe(effect))
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert all(outcome.last.result is ProbeResult.SUCCESS for outcome in kept)
    assert (after - before) / len(kept) < 100_000
    answer = kept[-1].last.http
    assert answer is not None
    assert answer.cut_bytes > 4_000_000
