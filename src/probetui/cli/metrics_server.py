"""`--metrics`: what Prometheus asks for, answered on the session's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from probetui.errors import UsageError

LOOPBACK = "127.0.0.1"
PATHS = frozenset({b"/metrics", b"/metrics/probes"})
CHUNK_BYTES = 1 << 16
PATIENCE_SECONDS = 10
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
async def serve_metrics(
    address: str, registry: CollectorRegistry
) -> AsyncIterator[tuple[str, int]]:
    """Serve metrics while the context lasts, and give the address in use.

    Raises:
        UsageError: the address cannot be used.
    """
    host, port = parse_address(address)

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await _answer(reader, writer, registry)
        except (TimeoutError, ConnectionError, h11.RemoteProtocolError):
            return
        finally:
            writer.close()

    try:
        server = await asyncio.start_server(answer, host, port)
    except OSError as error:
        raise UsageError(f"--metrics {address}: {error.strerror or error}") from error
    async with server:
        bound = server.sockets[0].getsockname()
        yield bound[0], bound[1]


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    registry: CollectorRegistry,
) -> None:
    """Answer one request and be done."""
    connection = h11.Connection(h11.SERVER)
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(CHUNK_BYTES))
    if not isinstance(event, h11.Request):
        return
    status, body = 404, b"not found\n"
    if event.method != b"GET":
        status, body = 405, b"only GET\n"
    elif event.target.partition(b"?")[0] in PATHS:
        status, body = 200, generate_latest(registry)
    headers = [
        ("Content-Type", CONTENT_TYPE_PLAIN_0_0_4),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    response = h11.Response(status_code=status, headers=headers)
    for each in (response, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(each) or b"")
    await writer.drain()
