"""An observation while it is being made: it grows, and others wait for its moments."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tests.conformance.moments import when
from tests.conformance.observation import Observation
from tests.conformance.translation import Record, Translation

unix_time = time.time  # noqa: TID251  # records state wall time; actions go among them


class EndedError(Exception):
    """What is waited for can no longer come: nothing more will be recorded."""


class LiveObservation:
    """What has been recorded of a pod so far.

    Lives on one event loop. `seen` is what `records` say, and both are only read by
    others.
    """

    def __init__(self, case_id: str) -> None:
        self.records: list[Record] = []
        self.seen = Observation()
        self._translation = Translation(case_id)
        self._changed = asyncio.Condition()
        self._is_open = True
        self._is_source_open = True

    @property
    def t(self) -> float:
        """Seconds since the pod was submitted; 0 before that."""
        wall = self._translation.wall
        return 0.0 if wall is None else max(0.0, unix_time() - wall)

    async def take(self, written: Mapping[str, Any]) -> None:
        """Take a record that probetui wrote, until the observation is over."""
        for record in self._translation.records(written):
            await self._add(record)

    async def source_ended(self) -> None:
        """Take note that probetui will write nothing more."""
        self._is_source_open = False
        async with self._changed:
            self._changed.notify_all()

    async def act(self, what: str) -> None:
        """Record that something is about to be done: delete or replace."""
        await self._add({"t": self.t, "kind": "action", "do": what})
        if what == "replace":
            self._translation.replaced()

    async def end(self, missed: list[str]) -> None:
        """Record the end, and which actions were never due."""
        for detail in missed:
            await self._add({"t": self.t, "kind": "missed_action", "detail": detail})
        await self._add({"t": self.t, "kind": "end"})
        self._is_open = False

    async def begun(self) -> None:
        """Return when the pod has been submitted.

        Raises:
            EndedError: it will not be.
        """
        await self._until(lambda: self._translation.wall is not None)

    async def refused(self) -> None:
        """Record that the pod was submitted, and nothing came of it."""
        await self._add({"t": 0.0, "kind": "submitted", "wall": unix_time()})

    async def due(self, timing: Mapping[str, Any]) -> None:
        """Return at a time since the submission (`at`), or `plus` after a moment.

        Raises:
            EndedError: probetui ends before that.
        """
        t = float(timing.get("at", 0))
        if "after" in timing:
            t = await self._reached(timing["after"]) + timing.get("plus", 0)
        with suppress(TimeoutError):
            async with asyncio.timeout(t - self.t):
                await self._until(lambda: False)

    async def _reached(self, moment: str) -> float:
        await self._until(lambda: when(moment, self.seen) is not None)
        reached = when(moment, self.seen)
        assert reached is not None
        return reached.latest

    async def _until(self, is_so: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: is_so() or not self._is_source_open)
        if not is_so():
            raise EndedError

    async def _add(self, record: Record) -> None:
        if not self._is_open:
            return
        self.records.append(record)
        self.seen.add(record)
        async with self._changed:
            self._changed.notify_all()
