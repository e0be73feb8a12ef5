"""A stream with back-pressure: it is fed no faster than it is read."""

from __future__ import annotations

import asyncio

BUFFERED_BYTES = 1 << 16
"""Twice as much may wait to be read, and the piece that was fed last."""


class InputPipe(asyncio.StreamReader):
    """A `StreamReader` whose feeder waits for the reader."""

    def __init__(self) -> None:
        super().__init__(BUFFERED_BYTES)
        self._feeder = _Feeder()
        self._is_discarded = False
        self.set_transport(self._feeder)

    async def feed(self, data: bytes) -> None:
        """Add data, and wait until most of it is read."""
        if data and not self._is_discarded:
            self.feed_data(data)
            await self._feeder.may_feed.wait()

    def discard(self) -> None:
        """Discard all data from now on."""
        self._is_discarded = True
        self._feeder.resume_reading()


class _Feeder(asyncio.ReadTransport):
    """The transport that a `StreamReader` pauses when its buffer is full."""

    def __init__(self) -> None:
        super().__init__()
        self.may_feed = asyncio.Event()
        self.may_feed.set()

    def pause_reading(self) -> None:
        self.may_feed.clear()

    def resume_reading(self) -> None:
        self.may_feed.set()
