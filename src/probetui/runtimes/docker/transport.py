"""HTTP over a local socket, with connections that last from call to call.

The SDK's own transport keeps connections apart by URL, which has the container's ID
in it, and so hardly ever finds one to use again; it also loses sockets that cannot
connect.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import requests
import requests.adapters
import urllib3
import urllib3.connection


class SocketConnection(urllib3.connection.HTTPConnection):
    """A connection to a path instead of a host.

    Args:
        path: where the socket is.
    """

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connect; who called closes the socket if that fails."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if isinstance(self.timeout, float | int):
            self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class SocketPool(urllib3.HTTPConnectionPool):
    """Connections to one path.

    Args:
        path: where the socket is.
        size: how many connections are kept.
    """

    def __init__(self, path: str, size: int) -> None:
        super().__init__("localhost", maxsize=size)
        self._path = path

    def _new_conn(self) -> SocketConnection:
        return SocketConnection(self._path)


class SocketAdapter(requests.adapters.HTTPAdapter):
    """Sends all requests of a session to one path.

    Args:
        path: where the socket is.
        connections: how many connections are kept.
    """

    def __init__(self, path: str, connections: int) -> None:
        super().__init__()
        self._sockets = SocketPool(path, connections)

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> SocketPool:
        """Return the pool, whatever the URL."""
        return self._sockets

    def request_url(
        self, request: requests.PreparedRequest, _proxies: Mapping[str, str] | None
    ) -> str:
        """Return what stands in the request's first line."""
        return request.path_url

    def close(self) -> None:
        """Close the connections that are not in use."""
        super().close()
        self._sockets.close()
