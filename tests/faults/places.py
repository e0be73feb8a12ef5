"""Our end at each call that changes what is outside of us, one call after another.

What the next start meets are the runtime, the record and the API server. An end between
two calls that change them leaves what an end just before the second one leaves: with an
end before, during and after each of them there is one for every await.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

_DURING_SECONDS = 0.2
"""A call that takes so long may meet our end while it is under way."""


class Places:
    """The places at which a world may end us; at one of them it does.

    Args:
        ends_at: its number, from 0 on; None if no place is counted.

    Attributes:
        passed: the names of the places up to there.
        on_end: called at that place, before anything else happens.
        has_ended: set with our end.
    """

    def __init__(self, ends_at: int | None = None) -> None:
        self._ends_at = ends_at
        self.passed: list[str] = []
        self.on_end: Callable[[], object] = _do_nothing
        self.has_ended = asyncio.Event()

    @property
    def are_counted(self) -> bool:
        """Whether the first life of ours has not ended yet, and is to end at one."""
        return self._ends_at is not None and not self.has_ended.is_set()

    def close(self) -> None:
        """Count no more of them."""
        self._ends_at = None

    def end_here(self, what: str) -> bool:
        """Return whether we end at this place."""
        if not self.are_counted:
            return False
        self.passed.append(what)
        if len(self.passed) - 1 != self._ends_at:
            return False
        self.has_ended.set()
        self.on_end()
        return True


class OurProcess:
    """One life of ours, which makes no call after its end.

    Attributes:
        has_ended: it was killed.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.has_ended = False

    def end(self) -> None:
        """End it."""
        self.has_ended = True

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call that changes nothing."""
        await self._go_on()
        return await call()

    async def change(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call that changes something."""
        await self._go_on()
        if not self._places.are_counted:
            return await call()
        await self._pass(f"before {name}")
        calling = asyncio.ensure_future(call())
        try:
            await asyncio.wait({calling}, timeout=_DURING_SECONDS)
            if not calling.done():
                await self._pass(f"during {name}")
            return await calling
        finally:
            calling.cancel()
            await self._pass(f"after {name}")

    async def _pass(self, place: str) -> None:
        self._places.end_here(place)
        await self._go_on()

    async def _go_on(self) -> None:
        """Return if we live; others of our tasks are not cancelled yet otherwise."""
        if not self.has_ended:
            return
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            await asyncio.get_running_loop().create_future()
        raise asyncio.CancelledError


def _do_nothing() -> None:
    pass
