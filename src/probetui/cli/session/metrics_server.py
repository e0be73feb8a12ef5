"""`--metrics`: an HTTP server for Prometheus on the session's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from probetui.cli.printing import Notes
from probetui.cli.session.parts import SessionPart, SessionScope
from probetui.cluster.serving.http_server import (
    HttpLimits,
    HttpRequest,
    HttpResponse,
    serve_http,
)
from probetui.drive.metrics import ProbeMetrics
from probetui.drive.worker_metrics import WorkerMetrics
from probetui.engine.snapshot import Snapshot
from probetui.errors import UsageError
from probetui.headless.follow import Sink

LOOPBACK = "127.0.0.1"
PATHS = frozenset({"/metrics", "/metrics/probes"})
MAX_CONNECTIONS = 32
"""The oldest is closed for a further one."""

TIMEOUT_SECONDS = 5
"""For a request, and for the response to it."""

LONGEST_BODY_BYTES = 1 << 10
"""Of a request: what Prometheus sends has none."""

CACHE_SECONDS = 0.1
"""How long a response is reused: to make one delays the probes."""
_PORTS = range(1 << 16)


def parse_address(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`, `:PORT` or `PORT`; the host is this machine if not named.

    Raises:
        UsageError: it is none of these.
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) not in _PORTS:
        raise UsageError(f'--metrics: "{text}" is not HOST:PORT, :PORT or PORT')
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


class MetricsPart(SessionPart):
    """Serves the kubelet's probe metrics of a session, and those of its workers.

    Args:
        address: as `parse_address` takes it.
        scope: the session.

    Raises on entering:
        UsageError: the address cannot be used.
    """

    def __init__(self, address: str, scope: SessionScope) -> None:
        self._address = address
        self._scope = scope
        self._metrics = ProbeMetrics(scope.plan.rules)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Start to serve."""
        registry = worker_registry(lambda: self._scope.session.snapshot)
        registry.register(self._metrics)
        bound = await self._stack.enter_async_context(
            serve_metrics(self._address, registry)
        )
        self._scope.pod_registry.subscribe(self._metrics.register_pods)
        note_address(self._scope.plan.notes, bound)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop serving."""
        await self._stack.aclose()

    def sinks(self) -> Sequence[Sink]:
        """Return what counts the results."""
        return (self._metrics,)


def worker_registry(snapshot: Callable[[], Snapshot]) -> CollectorRegistry:
    """Return a registry with what the kubelet of a session keeps to itself."""
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(snapshot))
    return registry


def note_address(notes: Notes, bound: tuple[str, int]) -> None:
    """Say where the metrics are."""
    host, port = bound
    notes.note(f"metrics at http://{host}:{port}/metrics")


@asynccontextmanager
async def serve_metrics(
    address: str, registry: CollectorRegistry
) -> AsyncIterator[tuple[str, int]]:
    """Serve metrics while the context lasts, and give the address in use.

    Raises:
        UsageError: the address cannot be used.
    """
    host, port = parse_address(address)
    metrics = _CachedMetrics(registry)

    async def answer(request: HttpRequest) -> HttpResponse:
        if request.method not in {"GET", "HEAD"}:
            return HttpResponse(405, b"only GET\n", "text/plain")
        if request.path not in PATHS:
            return HttpResponse(404, b"not found\n", "text/plain")
        return HttpResponse(200, metrics.text(), CONTENT_TYPE_PLAIN_0_0_4)

    limits = HttpLimits(
        strangers=MAX_CONNECTIONS,
        stranger_seconds=TIMEOUT_SECONDS,
        stranger_body_bytes=LONGEST_BODY_BYTES,
    )
    async with AsyncExitStack() as stack:
        try:
            bound = await stack.enter_async_context(
                serve_http(answer, host, port, limits=limits)
            )
        except OSError as error:
            raise UsageError(f"--metrics {address}: {error.strerror}") from error
        yield bound.host, bound.port


class _CachedMetrics:
    """The text of the metrics, made at most once in `CACHE_SECONDS`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._made_at: float | None = None
        self._body = b""

    def text(self) -> bytes:
        now = asyncio.get_running_loop().time()
        if self._made_at is None or now - self._made_at > CACHE_SECONDS:
            self._body = generate_latest(self._registry)
            self._made_at = now
        return self._body
