"""HTTP over a unix socket with reused connections, and the output of execs.

The SDK's own transport pools connections by URL, which contains the container's ID, and
so hardly ever reuses one; it also leaks sockets that cannot connect.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import requests
import requests.adapters
import urllib3
import urllib3.connection

from probetui.cpu_budget import CPUBudget, wait_writable
from probetui.runtimes.docker.errors import SDK_ERRORS, to_runtime_error

CHUNK_BYTES = 64 * 1024

NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError)


class UnixSocketConnection(urllib3.connection.HTTPConnection):
    """A connection to a unix socket.

    Args:
        path: the path of the socket.
    """

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        """Connect; the caller closes the socket if that fails."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if isinstance(self.timeout, float | int):
            self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class UnixSocketPool(urllib3.HTTPConnectionPool):
    """Connections to one unix socket.

    Args:
        path: the path of the socket.
        size: how many connections are kept.
    """

    def __init__(self, path: str, size: int) -> None:
        super().__init__("localhost", maxsize=size)
        self._path = path

    def _new_conn(self) -> UnixSocketConnection:
        return UnixSocketConnection(self._path)


class UnixSocketAdapter(requests.adapters.HTTPAdapter):
    """Sends all requests of a session to one unix socket.

    Args:
        path: the path of the socket.
        connections: how many connections are kept.
    """

    def __init__(self, path: str, connections: int) -> None:
        super().__init__()
        self._sockets = UnixSocketPool(path, connections)

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> UnixSocketPool:
        """Return the pool, whatever the URL."""
        return self._sockets

    def request_url(
        self, request: requests.PreparedRequest, _proxies: Mapping[str, str] | None
    ) -> str:
        """Return the request target."""
        return request.path_url

    def close(self) -> None:
        """Close idle connections."""
        super().close()
        self._sockets.close()


class HijackedStream:
    """The hijacked connection of an exec, read by the event loop without a thread.

    Closing it makes the daemon stop sending. A command with endless output is read
    within a `CPUBudget`.

    Args:
        response: a response of status 101; of what follows its head, only the reader's
            buffer may have been filled.
    """

    def __init__(self, response: requests.Response) -> None:
        self._response = response
        # A response has no public attribute for its connection.
        self._reader = response.raw._fp.fp  # noqa: SLF001  # urllib3, http.client
        self._socket: socket.socket = self._reader.raw._sock  # noqa: SLF001  # SocketIO
        self._socket.settimeout(0)
        self._budget = CPUBudget()
        self._may_have_buffered = True

    async def read(self) -> bytes:
        """Return the next bytes, at least one; empty at the end.

        Raises:
            ContainerRuntimeError: the connection broke.
        """
        try:
            if early := self._read_buffered():
                return early
            await self._budget.give_way()
            while True:
                with contextlib.suppress(*NOTHING_YET):
                    return self._socket.recv(CHUNK_BYTES)
                await self._budget.wait_readable(self._socket)
        except OSError as error:
            raise to_runtime_error(error) from error

    def _read_buffered(self) -> bytes:
        """Return the bytes that arrived together with the response's head."""
        if not self._may_have_buffered:
            return b""
        self._may_have_buffered = False
        with contextlib.suppress(*NOTHING_YET):
            early: bytes = self._reader.peek(1)
            return early
        return b""

    async def write(self, data: bytes) -> None:
        """Send all of it; raises as `read` does."""
        try:
            while data:
                try:
                    data = data[self._socket.send(data) :]
                except (BlockingIOError, ssl.SSLWantWriteError):
                    await wait_writable(self._socket)
        except OSError as error:
            raise to_runtime_error(error) from error

    def finish(self) -> None:
        """Close the sending half of the connection, where there is one."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*SDK_ERRORS):
            self._response.close()
