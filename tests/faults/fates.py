"""What becomes of a call: answered late, never, with an error, or before it is done."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Any, TypeVar

from probetui.errors import ContainerRuntimeError
from tests.fakes import FakeClock

T = TypeVar("T")


class Fate(StrEnum):
    """What becomes of one call."""

    PROMPT = "prompt"
    LATE = "late"
    """It is done, and answered, after a while."""
    ANSWERED_LATE = "answered late"
    """It is done at once, and answered after a while."""
    REFUSED = "refused"
    """It is not done, and the answer is an error."""
    UNHEARD = "unheard"
    """It is done, and the answer is an error."""
    LOST = "lost"
    """It is not done, and there is no answer before the daemon starts again."""
    SWALLOWED = "swallowed"
    """It is done, and there is no answer before the daemon starts again."""


_WEIGHTS = {
    Fate.PROMPT: 60,
    Fate.LATE: 12,
    Fate.ANSWERED_LATE: 10,
    Fate.REFUSED: 8,
    Fate.UNHEARD: 6,
    Fate.LOST: 2,
    Fate.SWALLOWED: 2,
}
_CUT_CHANCE = 0.0002

_DELAYS = (0.01, 0.3, 1.0, 2.5, 8.0, 35.0)
_ERRORS = ("no space left on device", "context deadline exceeded", "is in use", "EOF")


class Schedule:
    """Which of the faults of a world happen: all, or some by their numbers.

    Attributes:
        met: what would have happened, in this order.
    """

    def __init__(self, kept: Collection[int] | None = None) -> None:
        self._kept = kept
        self.met: list[str] = []

    def allows(self, what: str, now: datetime) -> bool:
        """Return whether the next fault happens."""
        self.met.append(f"{now:%H:%M:%S.%f} {what}")
        return self._kept is None or len(self.met) - 1 in self._kept


class Fates:
    """The fates of the calls of a world.

    Attributes:
        are_kind: every call is prompt.
        weights: how often a call has which fate.
        counts: how many calls had which fate, by the call's name.
        away: the error of every call while the daemon is away, else empty.
        cut_streams: how many streams have ended early.
    """

    def __init__(
        self, random: Random, clock: FakeClock, schedule: Schedule | None = None
    ) -> None:
        self._random = random
        self._clock = clock
        self._schedule = schedule or Schedule()
        self._restarted = asyncio.Event()
        self.are_kind = False
        self.weights = dict(_WEIGHTS)
        self.away = ""
        self.counts: Counter[tuple[str, Fate]] = Counter()
        self.cut_streams = 0

    def restart(self) -> None:
        """Break off every call that is not answered."""
        self._restarted.set()
        self._restarted = asyncio.Event()

    async def decide(self, name: str, call: Callable[[], Awaitable[T]]) -> T:
        """Let a call have its fate.

        Raises:
            ContainerRuntimeError: its fate is an error, or the daemon was started again
                meanwhile.
        """
        if self.away:
            raise ContainerRuntimeError(self.away, unreachable=True)
        fate = Fate.PROMPT if self.are_kind else self._draw(name)
        self.counts[name, fate] += 1
        match fate:
            case Fate.PROMPT:
                return await call()
            case Fate.LATE:
                await self._wait()
                return await call()
            case Fate.ANSWERED_LATE:
                result = await call()
                await self._wait()
                return result
            case Fate.REFUSED:
                raise ContainerRuntimeError(self._random.choice(_ERRORS))
            case Fate.UNHEARD:
                await call()
                raise ContainerRuntimeError(self._random.choice(_ERRORS))
            case Fate.LOST:
                pass
            case Fate.SWALLOWED:
                await call()
        await self._restarted.wait()
        raise ContainerRuntimeError("connection reset by peer", unreachable=True)

    async def or_restarted(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for something, at most until the daemon is started again.

        Raises:
            ContainerRuntimeError: it was.
        """
        restarted = asyncio.ensure_future(self._restarted.wait())
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait([restarted, task], return_when=asyncio.FIRST_COMPLETED)
            if restarted.done():
                raise ContainerRuntimeError("connection reset", unreachable=True)
            return task.result()
        finally:
            restarted.cancel()
            task.cancel()

    def cuts(self, name: str) -> bool:
        """Return whether a stream ends here as if it were over."""
        if self.are_kind or self._random.random() >= _CUT_CHANCE:
            return False
        if not self._schedule.allows(f"{name} ends early", self._clock.now()):
            return False
        self.cut_streams += 1
        return True

    def _draw(self, name: str) -> Fate:
        fate = self._random.choices(list(Fate), [self.weights[fate] for fate in Fate])[
            0
        ]
        is_fault = fate is not Fate.PROMPT
        if is_fault and not self._schedule.allows(f"{name}: {fate}", self._clock.now()):
            return Fate.PROMPT
        return fate

    async def _wait(self) -> None:
        """Wait, at most until the daemon is started again.

        Raises:
            ContainerRuntimeError: it was.
        """
        delay = timedelta(seconds=self._random.choice(_DELAYS))
        await self.or_restarted(self._sleep(delay))

    async def _sleep(self, delay: timedelta) -> None:
        await self._clock.sleep_until(self._clock.now() + delay)
