"""The output of an exec, read by the event loop: a slow command takes no thread."""

from __future__ import annotations

import contextlib
import socket
import ssl

import requests

from probetui.cpu_budget import CPUBudget
from probetui.runtimes.docker.faults import FOREIGN_ERRORS, runtime_error

CHUNK_BYTES = 64 * 1024

NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError)


class HijackedStream:
    """What comes after the head of a response that upgraded its connection.

    Owned by the event loop; closing it makes the daemon stop sending. A command that
    writes without end is read within a `CPUBudget`.

    Args:
        response: a response of status 101, of whose connection nothing was read
            behind the head except into the reader's buffer.
    """

    def __init__(self, response: requests.Response) -> None:
        self._response = response
        # No public name leads from a response to its connection.
        self._reader = response.raw._fp.fp  # noqa: SLF001  # urllib3, http.client
        self._socket: socket.socket = self._reader.raw._sock  # noqa: SLF001  # SocketIO
        self._socket.settimeout(0)
        self._budget = CPUBudget()
        self._may_have_more_than_the_head = True

    async def read(self) -> bytes:
        """Return what has come, at least one byte; empty at the end.

        Raises `ContainerRuntimeError` when the connection breaks.
        """
        try:
            if early := self._behind_the_head():
                return early
            await self._budget.give_way()
            while True:
                with contextlib.suppress(*NOTHING_YET):
                    return self._socket.recv(CHUNK_BYTES)
                await self._budget.wait_readable(self._socket)
        except OSError as error:
            raise runtime_error(error) from error

    def _behind_the_head(self) -> bytes:
        """Return what a busy daemon sent in one piece with the response's head."""
        if not self._may_have_more_than_the_head:
            return b""
        self._may_have_more_than_the_head = False
        with contextlib.suppress(*NOTHING_YET):
            early: bytes = self._reader.peek(1)
            return early
        return b""

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*FOREIGN_ERRORS):
            self._response.close()
