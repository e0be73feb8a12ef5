"""Conversion of a runtime's times to the session's clock.

The times of a runtime are by the wall clock of its machine, which may be another one,
or be set while a session runs. The kubelet compares them with its own wall clock; here
every time of a runtime is converted to the session's clock first.

Difference: the kubelet takes the times of its runtime as they are. On one machine whose
clock is not set, that is the same.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from probetui.k8s.runtime import LogLine, RuntimeContainerStatus, SandboxStatus
from probetui.ports import Clock

REPORTED_FROM = timedelta(seconds=1)
"""The offset from which on the user is informed."""

GOOD_FOR = timedelta(minutes=1)
"""How long a measurement is valid for new times."""

PRECISION = timedelta(milliseconds=1)
"""The error of a measurement besides the duration of its call."""

MAX_CONTAINERS = 10_000
"""How many containers' converted times are cached."""

MAX_OFFSET = timedelta(days=3650)
"""A larger offset is not one of a clock, and is ignored."""

_YEARS = range(1971, 9000)
"""Runtimes have times outside these years for what has not happened."""

_NO_TIME = timedelta()


class DaemonClock:
    """Converts times of a runtime to the session's clock.

    A measurement gives bounds of the offset, which differ by the duration of the call.
    The offset is kept while it is within them: on one machine it is exactly zero, and
    elsewhere it does not jitter. A container's time that was converted once is not
    converted again when the offset changes: its start does not move.

    Args:
        clock: the session's.
        ask: returns the runtime's current time, None if it does not have one; None for
            a runtime that cannot be asked. Raises what a call to the runtime raises.
    """

    def __init__(
        self, clock: Clock, ask: Callable[[], Awaitable[datetime | None]] | None = None
    ) -> None:
        self._clock = clock
        self._ask = ask
        self._offset = _NO_TIME
        self._reported = _NO_TIME
        self._report: Callable[[timedelta], None] = _ignore
        self._measured_at: datetime | None = None
        self._measuring = asyncio.Lock()
        self._starts: OrderedDict[str, tuple[datetime, datetime]] = OrderedDict()
        self._known: OrderedDict[str, dict[datetime, datetime]] = OrderedDict()

    @property
    def offset(self) -> timedelta:
        """How far the runtime's clock is ahead of ours; negative if it is behind."""
        return self._offset

    def on_offset(self, report: Callable[[timedelta], None]) -> None:
        """Call back with an offset of more than a second, and when it changes."""
        self._report = report
        self._report_if_new()

    def now(self) -> datetime:
        """Return the session's time."""
        return self._clock.now()

    def sample(self, theirs: datetime, earliest: datetime, latest: datetime) -> None:
        """Record that the runtime's time `theirs` was between two of the session's."""
        low, high = theirs - latest, theirs - earliest
        if theirs.year not in _YEARS or max(-low, high) > MAX_OFFSET:
            return
        if not low - PRECISION <= self._offset <= high + PRECISION:
            self._offset = low + (high - low) / 2
            self._report_if_new()

    def started(self, container_id: str, asked_at: datetime) -> None:
        """Record that a container was started by a call that has just returned."""
        self._starts[container_id] = asked_at, self._clock.now()
        while len(self._starts) > MAX_CONTAINERS:
            self._starts.popitem(last=False)

    async def container(self, status: RuntimeContainerStatus) -> RuntimeContainerStatus:
        """Return a container's status with times by the session's clock."""
        container_id = status.container_id
        is_new = status.started_at not in self._known.get(container_id, {})
        if status.started_at is not None and is_new and container_id in self._starts:
            self.sample(status.started_at, *self._starts.pop(container_id))
        instants = (status.created_at, status.started_at, status.finished_at)
        await self._measure_for(container_id, instants)
        created_at, started_at, finished_at = (
            self._convert(container_id, instant) for instant in instants
        )
        # No clock that was set meanwhile makes a container end before it began.
        if created_at and started_at:
            started_at = max(created_at, started_at)
        if started_at and finished_at:
            finished_at = max(started_at, finished_at)
        return replace(
            status,
            created_at=created_at,
            started_at=started_at,
            finished_at=finished_at,
        )

    async def sandbox(self, status: SandboxStatus) -> SandboxStatus:
        """Return a sandbox's status with its time by the session's clock."""
        await self._measure_for(status.sandbox_id, (status.created_at,))
        created_at = self._convert(status.sandbox_id, status.created_at)
        return replace(status, created_at=created_at)

    def ours(self, theirs: datetime) -> datetime:
        """Convert a time by the current offset."""
        return theirs - self._offset if theirs.year in _YEARS else theirs

    def log_line(self, line: LogLine) -> LogLine:
        """Return a log line with its time by the session's clock."""
        return line if line.at is None else replace(line, at=self.ours(line.at))

    async def measure(self) -> None:
        """Measure the offset, unless the last measurement is still valid."""
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
        """Measure before new times are converted, if that is due or must be."""
        converted = self._known.get(key, {})
        fresh = [
            instant
            for instant in instants
            if instant is not None and instant not in converted
        ]
        if not fresh:
            return
        await self.measure()
        async with self._measuring:
            # A time in the future, or before an earlier one of the same container,
            # means that a clock was set.
            is_past = any(self.ours(min(fresh)) < known for known in converted.values())
            if is_past or self._is_future(max(fresh)):
                await self._measure_now()

    def _is_future(self, theirs: datetime) -> bool:
        return self.ours(theirs) > self._clock.now() + PRECISION

    def _convert(self, key: str, theirs: datetime | None) -> datetime | None:
        """Convert a time, never to the future; the result is cached."""
        if theirs is None:
            return None
        converted = self._known.setdefault(key, {})
        self._known.move_to_end(key)
        while len(self._known) > MAX_CONTAINERS:
            self._known.popitem(last=False)
        if theirs not in converted:
            converted[theirs] = min(self.ours(theirs), self._clock.now())
        return converted[theirs]

    def _report_if_new(self) -> None:
        if (
            abs(self._offset - self._reported) > REPORTED_FROM
            and self._report is not _ignore
        ):
            self._reported = self._offset
            self._report(self._offset)


def _ignore(_offset: timedelta) -> None:
    """Do nothing; the default callback."""
