"""Servers on loopback for probes to meet: accepting, silent, refusing, full."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from tests.probers.peers import Peer

LOOPBACK = "127.0.0.1"

Serve = Callable[[Peer], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(
    serve: Serve, host: str = LOOPBACK, *, refuse_seconds: float = 0
) -> AsyncIterator[int]:
    """Serve each connection in a task of its own; gives the port.

    Until the server listens, connections are refused.
    What a server raises fails the test. At the end all connections are cut.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket(family))
        listener.bind((host, 0))
        if not refuse_seconds:
            listener.listen()
        listener.settimeout(0)
        accepting = asyncio.create_task(
            _accept(listener, serve, sockets, refuse_seconds)
        )
        try:
            yield listener.getsockname()[1]
        finally:
            accepting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await accepting


async def _accept(
    listener: socket.socket,
    serve: Serve,
    sockets: contextlib.ExitStack,
    refuse_seconds: float,
) -> None:
    loop = asyncio.get_running_loop()
    if refuse_seconds:
        await asyncio.sleep(refuse_seconds)
        listener.listen()
    async with asyncio.TaskGroup() as group:
        while True:
            sock, _ = await loop.sock_accept(listener)
            sockets.enter_context(sock)
            group.create_task(_serve_one(sock, serve))


async def _serve_one(sock: socket.socket, serve: Serve) -> None:
    peer = Peer(*await asyncio.open_connection(sock=sock))
    try:
        await serve(peer)
    finally:
        await peer.close()


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """Give a port that nobody listens on, and that nobody else gets meanwhile."""
    with socket.socket() as sock:
        sock.bind((LOOPBACK, 0))
        yield sock.getsockname()[1]


@contextlib.contextmanager
def not_accepting() -> Iterator[int]:
    """Give a port that is listened on, where no connection is ever accepted."""
    with socket.socket() as sock:
        sock.bind((LOOPBACK, 0))
        sock.listen()
        yield sock.getsockname()[1]


@contextlib.contextmanager
def full() -> Iterator[int]:
    """Yield a port whose backlog is full: connecting never ends."""
    with contextlib.ExitStack() as stack:
        sock = stack.enter_context(socket.socket())
        sock.bind((LOOPBACK, 0))
        sock.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.settimeout(0)
            filler.connect_ex(sock.getsockname())
        yield sock.getsockname()[1]


async def answer(peer: Peer, response: bytes) -> None:
    """Read a request's head, answer, and close."""
    await read_head(peer)
    await peer.send(response)


async def read_head(peer: Peer) -> list[str]:
    """Return the lines of a request up to the empty one."""
    data = b""
    while b"\r\n\r\n" not in data:
        received = await peer.receive()
        if not received:
            return []
        data += received
    return (
        data.partition(b"\r\n\r\n")[0].decode("utf-8", "surrogateescape").split("\r\n")
    )
