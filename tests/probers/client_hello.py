"""A parser of the options in a TLS client hello (RFC 8446, 4.1.2)."""

from __future__ import annotations

from typing import NamedTuple

SERVER_NAME, ALPN, SUPPORTED_VERSIONS = 0, 16, 43
VERSIONS = {0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}


class ClientHello(NamedTuple):
    """Server name, protocols and versions, as the vectors name them."""

    serverName: str  # noqa: N815  # a key of the vectors
    alpn: list[str] | None
    versions: list[str]


class Bytes:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, count: int) -> bytes:
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def block(self, size: int) -> Bytes:
        """Return the value after a length of that many bytes."""
        return Bytes(self.take(self.number(size)))


def read_client_hello(record: bytes) -> ClientHello:
    """Read the first record that a client sent."""
    data = Bytes(record)
    data.take(3 + 2 + 4 + 2 + 32)  # record, its length, handshake, version, random
    for size in (1, 2, 1):  # session, cipher suites, compression
        data.block(size)
    extensions = {}
    rest = data.block(2)
    while rest:
        kind = rest.number(2)
        extensions[kind] = rest.block(2)
    return ClientHello(
        _server_name(extensions.get(SERVER_NAME)),
        _protocols(extensions.get(ALPN)),
        _versions(extensions[SUPPORTED_VERSIONS]),
    )


def _server_name(extension: Bytes | None) -> str:
    if extension is None:
        return ""
    names = extension.block(2)
    names.take(1)
    return names.take(names.number(2)).decode()


def _protocols(extension: Bytes | None) -> list[str] | None:
    if extension is None:
        return None
    names, protocols = extension.block(2), []
    while names:
        protocols.append(names.take(names.number(1)).decode())
    return protocols


def _versions(extension: Bytes) -> list[str]:
    numbers, versions = extension.block(1), []
    while numbers:
        versions.append(VERSIONS[numbers.number(2)])
    return versions
