"""A stream that is fed no faster than it is read."""

from __future__ import annotations

import asyncio

BUFFERED_BYTES = 1 << 16
"""Twice as much may wait to be read, and the piece that was fed last."""


class InputPipe(asyncio.StreamReader):
    """A `StreamReader` that somebody feeds who can wait."""

    def __init__(self) -> None:
        super().__init__(BUFFERED_BYTES)
        self._feeder = _Feeder()
        self._is_discarded = False
        self.set_transport(self._feeder)

    async def feed(self, data: bytes) -> None:
        """Add data, and wait until not much is left to be read."""
        if data and not self._is_discarded:
            self.feed_data(data)
            await self._feeder.may_feed.wait()

    def discard(self) -> None:
        """Drop what is fed from now on: nobody reads it."""
        self._is_discarded = True
        self._feeder.resume_reading()


class _Feeder(asyncio.ReadTransport):
    """What a `StreamReader` pauses when it has enough."""

    def __init__(self) -> None:
        super().__init__()
        self.may_feed = asyncio.Event()
        self.may_feed.set()

    def pause_reading(self) -> None:
        self.may_feed.clear()

    def resume_reading(self) -> None:
        self.may_feed.set()
