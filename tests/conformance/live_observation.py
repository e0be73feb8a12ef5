"""An observation while it is recorded; tasks can wait for its moments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import Observation
from tests.conformance.translation import Record, Translation

unix_time = time.time  # noqa: TID251  # records have wall time, and so must actions


class ObservationEndedError(Exception):
    """The moment that a task waits for cannot come: the program has ended."""


class LiveObservation:
    """The observation of a pod so far.

    It belongs to one event loop. `observation` is built from `records`; other code only
    reads them.
    """

    def __init__(self, case_id: str) -> None:
        self.records: list[Record] = []
        self.observation = Observation()
        self._translation = Translation(case_id)
        self._changed = asyncio.Condition()
        self._is_open = True
        self._is_source_open = True

    @property
    def t(self) -> float:
        """Seconds since the pod was submitted; 0 before that."""
        wall = self._translation.wall
        return 0.0 if wall is None else max(0.0, unix_time() - wall)

    async def add_written(self, written: Mapping[str, Any]) -> None:
        """Add a record that probetui wrote, unless the observation is over."""
        for record in self._translation.records(written):
            await self._add(record)

    async def close_source(self) -> None:
        """Note that probetui will write no more records."""
        self._is_source_open = False
        async with self._changed:
            self._changed.notify_all()

    async def record_action(self, action: str) -> None:
        """Record an action just before it is performed: delete or replace."""
        await self._add({"t": self.t, "kind": "action", "do": action})
        if action == "replace":
            self._translation.note_replacement()

    async def record_end(self, missed: list[str]) -> None:
        """Record the end and the actions that were never due."""
        for detail in missed:
            await self._add({"t": self.t, "kind": "missed_action", "detail": detail})
        await self._add({"t": self.t, "kind": "end"})
        self._is_open = False

    async def wait_for_submission(self) -> None:
        """Return when the pod has been submitted.

        Raises:
            ObservationEndedError: it will not be.
        """
        await self._wait_until(lambda: self._translation.wall is not None)

    async def record_refusal(self) -> None:
        """Record that the pod was submitted and refused."""
        await self._add({"t": 0.0, "kind": "submitted", "wall": unix_time()})

    async def wait_until_due(self, timing: Mapping[str, Any]) -> None:
        """Return at a time since the submission (`at`), or `plus` after a moment.

        Raises:
            ObservationEndedError: probetui ends before that.
        """
        t = float(timing.get("at", 0))
        if "after" in timing:
            t = await self._wait_for_moment(timing["after"]) + timing.get("plus", 0)
        with suppress(TimeoutError):
            async with asyncio.timeout(t - self.t):
                await self._wait_until(lambda: False)

    async def _wait_for_moment(self, moment: str) -> float:
        await self._wait_until(lambda: when(moment, self.observation) is not None)
        reached = when(moment, self.observation)
        assert reached is not None
        return reached.latest

    async def _wait_until(self, is_met: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: is_met() or not self._is_source_open)
        if not is_met():
            raise ObservationEndedError

    async def _add(self, record: Record) -> None:
        if not self._is_open:
            return
        self.records.append(record)
        self.observation.add(record)
        async with self._changed:
            self._changed.notify_all()
