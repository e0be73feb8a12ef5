"""TLS on a probe's connection, without any verification, as the kubelet does it.

Source: pkg/probe/http/http.go, v1.32.10, New; net/http/transport.go, addTLS.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from probetui.errors import GoError
from probetui.probers.go.dial import DialledConnection
from probetui.probers.go.errors import describe_tls_error
from probetui.probers.go.net import address_family

HANDSHAKE_SECONDS = 10
_RECEIVE_BYTES = 1 << 16
_RECORD_HEADER_BYTES = 5
_ALERT, _HANDSHAKE = 21, 22
_FIRST_BAD_MAJOR = 0x10

T = TypeVar("T")


class NotTLSError(GoError):
    """The server does not speak TLS."""


class PlainHTTPResponseError(NotTLSError):
    """The server speaks plain HTTP where TLS was meant."""

    def __init__(
        self, message: str = "http: server gave HTTP response to HTTPS client"
    ) -> None:
        super().__init__(message)


@lru_cache(maxsize=3)  # a context costs a millisecond, and is never changed
def client_context(protocols: tuple[str, ...]) -> ssl.SSLContext:
    """Return a context that accepts any certificate.

    `protocols` are offered by ALPN, the preferred one first; without any, ALPN is off.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without verification Go ignores key sizes and digests; OpenSSL would check them.
    # Go has no finite-field DH, and a large group takes a tenth of a second.
    context.set_ciphers("DEFAULT:!kDHE:@SECLEVEL=0")
    context.options |= ssl.OP_NO_RENEGOTIATION
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class TLSConnection:
    """A connection inside TLS; has the methods of `Connection`."""

    __slots__ = ("_connection", "_incoming", "_outgoing", "_tls")

    def __init__(
        self,
        connection: DialledConnection,
        context: ssl.SSLContext,
        server_name: str,
    ) -> None:
        self._connection = connection
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        # Bytes, because as text it would go through IDNA, which refuses odd names.
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_name.encode() or None
        )

    @property
    def protocol(self) -> str | None:
        """The protocol that the server chose by ALPN."""
        return self._tls.selected_alpn_protocol()

    async def handshake(self) -> None:
        """Complete the handshake in at most ten seconds."""
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await self.check_first_record()
                await self._step(self._tls.do_handshake)
        except TimeoutError as error:
            raise GoError("net/http: TLS handshake timeout") from error
        except EOFError as error:
            raise GoError("EOF") from error

    async def check_first_record(self) -> None:
        """Send the ClientHello and refuse a response that is not TLS."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            await self._flush()
        header = b""
        while len(header) < _RECORD_HEADER_BYTES:
            received = await self._connection.receive()
            if not received:
                raise GoError("unexpected EOF" if header else "EOF")
            self._incoming.write(received)
            header = (header + received)[:_RECORD_HEADER_BYTES]
        if header == b"HTTP/":
            raise PlainHTTPResponseError
        if header[0] not in {_ALERT, _HANDSHAKE} or header[1] >= _FIRST_BAD_MAJOR:
            raise NotTLSError("tls: first record does not look like a TLS handshake")

    async def send(self, data: bytes) -> None:
        """Encrypt and send all of it."""
        try:
            await self._step(lambda: self._tls.write(data))
        except EOFError as error:
            raise GoError("EOF") from error

    async def receive(self) -> bytes:
        """Return decrypted bytes; empty at the end, with or without close_notify."""
        # Data that was received before needs no `receive` of the connection.
        await self.give_way()
        try:
            return await self._step(lambda: self._tls.read(_RECEIVE_BYTES))
        except EOFError:
            return b""

    async def give_way(self) -> None:
        """Suspend if the received data has used up the CPU budget."""
        await self._connection.give_way()

    def close(self) -> None:
        """Send close_notify, if that does not block, and close."""
        # It would wait for the peer's close_notify, or there was no handshake.
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        self._connection.send_at_once(self._outgoing.read())
        self._connection.close()

    async def _step(self, act: Callable[[], T]) -> T:
        """Run an operation of OpenSSL, receiving and sending until it completes.

        Raises `EOFError` if the peer ends the connection first.
        """
        while True:
            try:
                result = act()
            except ssl.SSLWantReadError:
                await self._flush()
                received = await self._connection.receive()
                if received:
                    self._incoming.write(received)
                else:
                    self._incoming.write_eof()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError) as error:
                raise EOFError from error
            except ssl.SSLError as error:
                self._connection.send_at_once(self._outgoing.read())
                raise GoError(describe_tls_error(error)) from error
            else:
                await self._flush()
                return result

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._connection.send(self._outgoing.read())


def to_server_name(host: str) -> str:
    """Return the server name to send (SNI), empty for an address.

    Source: crypto/tls/handshake_client.go, hostnameInSNI.
    """
    name = host.partition("%")[0]
    return "" if address_family(name) is not None else host.rstrip(".")
