"""The server's side of one connection, plain or in TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

CERTIFICATES = Path(__file__).parent / "certificates"
READ_BYTES = 1 << 16

T = TypeVar("T")


class Peer:
    """A client's connection, as a server sees it."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    async def receive(self) -> bytes:
        """Return the received bytes; none at the end or after a reset."""
        try:
            return await self._reader.read(READ_BYTES)
        except ConnectionError:
            return b""

    async def send(self, data: bytes) -> None:
        """Send, unless the client has gone."""
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def drain_until_end(self) -> int:
        """Read and forget until the client goes away; return how much it was."""
        total = 0
        while data := await self.receive():
            total += len(data)
        return total

    async def close(self) -> None:
        """Close in the normal way."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def reset(self) -> None:
        """Close with a reset."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        linger = struct.pack("ii", 1, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.transport.abort()
        await self.close()


class TLSPeer(Peer):
    """The same inside TLS; keeps the bytes of the client's hello."""

    def __init__(self, peer: Peer, context: ssl.SSLContext) -> None:
        super().__init__(peer._reader, peer._writer)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.client_hello = b""

    async def handshake(self) -> None:
        """Do the server's part; raises `ssl.SSLError`, having sent the alert."""
        await self._step(self._tls.do_handshake)

    async def receive(self) -> bytes:
        try:
            return await self._step(lambda: self._tls.read(READ_BYTES))
        except ssl.SSLError:
            return b""

    async def send(self, data: bytes) -> None:
        await self._step(lambda: self._tls.write(data))

    async def close(self) -> None:
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        await super().send(self._outgoing.read())
        await super().close()

    async def _step(self, act: Callable[[], T]) -> T:
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                await super().send(self._outgoing.read())
                data = await super().receive()
                self.client_hello = self.client_hello or data
                self._incoming.write(data)
                if not data:
                    self._incoming.write_eof()
            finally:
                await super().send(self._outgoing.read())


def server_context(
    certificate: str = "selfsigned",
    *,
    oldest: ssl.TLSVersion | None = None,
    newest: ssl.TLSVersion | None = None,
    requires_client_certificate: bool = False,
    protocols: tuple[str, ...] = (),
) -> ssl.SSLContext:
    """Return a server's context with one of the two certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{certificate}.pem")
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        # Python warns of the versions that these tests are there to be refused in.
        warnings.simplefilter("ignore", DeprecationWarning)
        if oldest is not None:
            context.minimum_version = oldest
        if newest is not None:
            context.maximum_version = newest
    if requires_client_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
