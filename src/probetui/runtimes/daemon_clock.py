"""The clock of a container runtime's machine, compared with ours.

Runtimes write instants by the wall clock of their machine, which may be another one,
or be set while a session runs. The kubelet compares them with its own wall clock; here
every instant of a runtime is brought to the session's clock first.

Difference: the kubelet takes instants of its runtime as they are. On one machine, whose
clock nobody sets, that is the same.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from probetui.k8s.runtime import RuntimeContainerStatus, SandboxStatus
from probetui.ports import Clock, LogLine

TOLD_FROM = timedelta(seconds=1)
"""From which offset on people are told of it."""

GOOD_FOR = timedelta(minutes=1)
"""When to measure again, once there is a new instant to convert."""

PRECISION = timedelta(milliseconds=1)
"""How far a measurement may be off besides the time that it took."""

KEPT = 10_000
"""Of how many containers the converted instants are remembered."""

FARTHEST = timedelta(days=3650)
"""No clock is further off; what says so tells no time."""

_YEARS = range(1971, 9000)
"""What a runtime dates otherwise has not happened."""

_NO_TIME = timedelta()


class DaemonClock:
    """Converts instants of a runtime to the session's clock.

    A measurement does not give an offset but its bounds, which are as far apart as the
    answer took. The offset stays what it is while it is within them: on one machine it
    is exactly zero, and it does not tremble elsewhere. An instant of a container that
    was converted once is not converted anew when the offset changes, as the start of a
    container does not move when a clock is set.

    Args:
        clock: the session's.
        ask: returns what time it is at the runtime, None if it does not say; None
            where it cannot be asked. May raise what a call to the runtime raises.
    """

    def __init__(
        self, clock: Clock, ask: Callable[[], Awaitable[datetime | None]] | None = None
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._offset = _NO_TIME
        self._told = _NO_TIME
        self._tell: Callable[[timedelta], None] = _nobody
        self._measured_at: datetime | None = None
        self._measuring = asyncio.Lock()
        self._starts: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        self._known: OrderedDict[str, dict[datetime, datetime]] = OrderedDict()

    @property
    def offset(self) -> timedelta:
        """How far the runtime's clock is ahead of ours; negative if it is behind."""
        return self._offset

    def on_offset(self, tell: Callable[[timedelta], None]) -> None:
        """Have somebody told of an offset of more than a second, and of its changes."""
        self._tell = tell
        self._tell_if_new()

    def now(self) -> datetime:
        """Return the instant by the session's clock."""
        return self._clock.now()

    def sample(self, theirs: datetime, earliest: datetime, latest: datetime) -> None:
        """Learn that `theirs` was between two instants of ours."""
        low, high = theirs - latest, theirs - earliest
        if theirs.year not in _YEARS or max(-low, high) > FARTHEST:
            return
        if not low - PRECISION <= self._offset <= high + PRECISION:
            self._offset = low + (high - low) / 2
            self._tell_if_new()

    def started(self, container_id: str, asked_at: datetime) -> None:
        """Note that a container was started by a call that has just returned."""
        self._starts[container_id] = asked_at, self._clock.now()
        while len(self._starts) > KEPT:
            self._starts.popitem(last=False)

    async def container(self, found: RuntimeContainerStatus) -> RuntimeContainerStatus:
        """Return the status of a container with its instants by the session's clock."""
        container_id = found.container_id
        is_new = found.started_at not in self._known.get(container_id, {})
        if found.started_at is not None and is_new and container_id in self._starts:
            self.sample(found.started_at, *self._starts.pop(container_id))
        instants = (found.created_at, found.started_at, found.finished_at)
        await self._measure_for(container_id, instants)
        created_at, started_at, finished_at = (
            self._convert(container_id, instant) for instant in instants
        )
        if started_at and finished_at:
            finished_at = max(started_at, finished_at)
        return replace(
            found,
            created_at=created_at,
            started_at=started_at,
            finished_at=finished_at,
        )

    async def sandbox(self, found: SandboxStatus) -> SandboxStatus:
        """Return the status of a sandbox with its instant by the session's clock."""
        await self._measure_for(found.sandbox_id, (found.created_at,))
        created_at = self._convert(found.sandbox_id, found.created_at)
        return replace(found, created_at=created_at)

    def ours(self, theirs: datetime) -> datetime:
        """Return an instant by the session's clock, as far as the offset is known."""
        return theirs - self._offset if theirs.year in _YEARS else theirs

    def log_line(self, line: LogLine) -> LogLine:
        """Return a line with its instant by the session's clock."""
        return line if line.at is None else replace(line, at=self.ours(line.at))

    async def measure(self) -> None:
        """Ask the runtime what time it is, if it can be asked and that is due."""
        async with self._measuring:
            before = self._measured_at
            if before is None or self._clock.now() - before > GOOD_FOR:
                await self._measure_now()

    async def _measure_now(self) -> None:
        if self._ask is None:
            return
        asked_at = self._measured_at = self._clock.now()
        theirs = await self._ask()
        if theirs is not None:
            self.sample(theirs, asked_at, self._clock.now())

    async def _measure_for(
        self, key: str, instants: tuple[datetime | None, ...]
    ) -> None:
        """Measure before something new is converted, if that is due or must be."""
        known = self._known.get(key, {})
        fresh = [
            instant
            for instant in instants
            if instant is not None and instant not in known
        ]
        if not fresh:
            return
        await self.measure()
        async with self._measuring:
            # What has happened is not in the future: a clock was set since.
            if self._is_future(max(fresh)):
                await self._measure_now()

    def _is_future(self, theirs: datetime) -> bool:
        return self.ours(theirs) > self._clock.now() + PRECISION

    def _convert(self, key: str, theirs: datetime | None) -> datetime | None:
        """Return an instant that is in the past; the same one for the same one."""
        if theirs is None:
            return None
        known = self._known.setdefault(key, {})
        self._known.move_to_end(key)
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        if theirs not in known:
            known[theirs] = min(self.ours(theirs), self._clock.now())
        return known[theirs]

    def _tell_if_new(self) -> None:
        if abs(self._offset - self._told) > TOLD_FROM and self._tell is not _nobody:
            self._told = self._offset
            self._tell(self._offset)


def _nobody(_offset: timedelta) -> None:
    """Stand in for who wants to be told."""
