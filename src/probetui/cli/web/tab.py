"""A tab of a browser: what its emulator and the screen in it say to each other.

The emulator is that of `textual-serve`, and so is what it sends: JSON lists whose first
item says what the second is. It gets bytes for the terminal, and nothing else: it would
open addresses, too, and fetch files.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from probetui.cluster.serving.http_server import HttpRequest

if TYPE_CHECKING:
    from probetui.cluster.serving.websocket import WebSocket
    from probetui.tui.services.browser_terminal import BrowserDriver

LONGEST_MESSAGE = 1 << 16
"""Bytes that a browser may send at once; only what is pasted is long."""

SLOW_BYTES = 1 << 18
"""Sent and not taken, from which on nothing more is drawn."""

MOST_BYTES = 1 << 24
"""Sent and not taken, from which on the tab is closed."""

CLOSE_SECONDS = 2
"""For a browser to take what is left, once the tab is closed."""

COLUMNS, ROWS = range(1, 1001), range(1, 501)
_USUAL_SIZE = 80, 24


class Tab:
    """A tab with a screen in it.

    Args:
        socket: the connection to its emulator.
        request: its handshake, which says how large the emulator is.

    Attributes:
        driver: draws the screen, None before it is there.
        size: columns and rows of the emulator.
        lost: is set once the tab is gone.
    """

    def __init__(self, socket: WebSocket, request: HttpRequest) -> None:
        self._socket = socket
        self._output: list[bytes] = []
        self._waiting_bytes = 0
        self._has_output = asyncio.Event()
        self._closing = asyncio.Event()
        self.driver: BrowserDriver | None = None
        self.lost = asyncio.Event()
        asked = [request.parameter(name) for name in ("width", "height")]
        self.size = _size(asked) or _USUAL_SIZE

    def write(self, text: str) -> None:
        """Send a text to the emulator; dropped once the tab is gone."""
        if self._closing.is_set():
            return
        data = text.encode("utf-8", "replace")
        self._output.append(data)
        self._waiting_bytes += len(data)
        self._has_output.set()
        if self._waiting_bytes > MOST_BYTES:
            self.close()

    def is_writable(self) -> bool:
        """Return whether the browser keeps up with what was sent."""
        return self._waiting_bytes < SLOW_BYTES

    def close(self) -> None:
        """Send what there is to send, if the browser takes it, and close."""
        self._closing.set()
        self._has_output.set()

    async def carry(self) -> None:
        """Carry input and output until the tab is gone or closed."""
        works = (self._send(), self._receive(), self._give_up())
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.close()
            for task in tasks:
                task.cancel()
            # The browser has gone in the middle of a message, mostly.
            await asyncio.gather(*tasks, return_exceptions=True)
            self.lost.set()

    async def _send(self) -> None:
        while not self._closing.is_set() or self._output:
            await self._has_output.wait()
            self._has_output.clear()
            data, self._output = b"".join(self._output), []
            if data:
                await self._socket.send(data)
                self._waiting_bytes -= len(data)
        await self._socket.close()

    async def _give_up(self) -> None:
        await self._closing.wait()
        await asyncio.sleep(CLOSE_SECONDS)

    async def _receive(self) -> None:
        while (message := await self._socket.receive()) is not None:
            try:
                said = json.loads(message)
            except (ValueError, RecursionError):
                return
            self._handle(said)

    def _handle(self, said: Any) -> None:
        driver = self.driver
        match said:
            case ["resize", {"width": columns, "height": rows}]:
                self.size = _size((columns, rows)) or self.size
                if driver is not None:
                    driver.resize(*self.size)
            case ["stdin", str(typed)] if driver is not None:
                driver.feed(typed)
            case [("focus" | "blur") as kind] if driver is not None:
                driver.focus(is_focused=kind == "focus")


def _size(asked: Sequence[object]) -> tuple[int, int] | None:
    """Return columns and rows, None if they are no size of a terminal."""
    try:
        columns, rows = (int(str(number)) for number in asked)
    except ValueError:
        return None
    return (columns, rows) if columns in COLUMNS and rows in ROWS else None
