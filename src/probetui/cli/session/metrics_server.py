"""`--metrics`: an HTTP server for Prometheus on the session's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import h11
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from probetui.drive.metrics import ProbeMetrics
from probetui.errors import UsageError
from probetui.kubelet_rules import KubeletRules

LOOPBACK = "127.0.0.1"
PATHS = frozenset({b"/metrics", b"/metrics/probes"})
CHUNK_BYTES = 1 << 14
LONGEST_HEAD_BYTES = 1 << 14

MAX_CONNECTIONS = 32
"""Further connections are closed without an answer."""

TIMEOUT_SECONDS = 5
"""For a connection: its request and the response."""

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


@asynccontextmanager
async def serve_probe_metrics(
    address: str, rules: KubeletRules
) -> AsyncIterator[tuple[ProbeMetrics, str, int]]:
    """Serve the kubelet's probe metrics; give what counts them, the host, the port.

    Args:
        address: as `parse_address` takes it.
        rules: those of the kubelet's version.

    Raises:
        UsageError: the address cannot be used.
    """
    metrics = ProbeMetrics(rules)
    registry = CollectorRegistry()
    registry.register(metrics)
    async with serve_metrics(address, registry) as (host, port):
        yield metrics, host, port


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
    count = 0

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal count
        if count >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        count += 1
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await _respond(reader, writer, metrics)
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, ConnectionError, h11.RemoteProtocolError):
            return
        finally:
            count -= 1
            # Data that the client does not read is dropped.
            writer.transport.abort()

    try:
        server = await asyncio.start_server(
            answer, host, port, limit=CHUNK_BYTES, backlog=MAX_CONNECTIONS
        )
    except OSError as error:
        raise UsageError(f"--metrics {address}: {error.strerror or error}") from error
    # Without a wait for clients, which a server's own context has from 3.12 on.
    with closing(server):
        bound = server.sockets[0].getsockname()
        yield bound[0], bound[1]


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


async def _respond(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, metrics: _CachedMetrics
) -> None:
    """Answer one request."""
    connection = h11.Connection(
        h11.SERVER, max_incomplete_event_size=LONGEST_HEAD_BYTES
    )
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(CHUNK_BYTES))
    if not isinstance(event, h11.Request):
        return
    status, body = 404, b"not found\n"
    if event.method != b"GET":
        status, body = 405, b"only GET\n"
    elif event.target.partition(b"?")[0] in PATHS:
        status, body = 200, metrics.text()
    headers = [
        ("Content-Type", CONTENT_TYPE_PLAIN_0_0_4),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    response = h11.Response(status_code=status, headers=headers)
    for part in (response, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
