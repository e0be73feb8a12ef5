"""Kills the descendants of containers, with one scan of the processes for all.

A scan reads a file of each process in /proc, 25 microseconds each: with 500 containers
that end at once, 500 scans of 600 processes would take minutes of CPU time. Requests
that arrive during a scan wait, and share the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping

from msgspec import Struct

from probetui.runtimes.process.descendants import (
    LOOKS,
    UnkillableProcess,
    kill_numbered,
    numbered,
)
from probetui.runtimes.process_identity import Process


class KilledDescendants(Struct, frozen=True):
    """The processes of a container that survived a kill.

    Attributes:
        refused: those that the system does not let us kill.
        survivors: those that have not ended yet; empty unless requested.
    """

    refused: tuple[UnkillableProcess, ...] = ()
    survivors: tuple[Process, ...] = ()


class _KillRequest(Struct, frozen=True):
    """A container's number, and the future that awaits the kill.

    `spared` are processes with that number that are no descendants; `is_thorough` asks
    also for those that only start the next one and exit.
    """

    number: int
    spared: Collection[Process]
    is_thorough: bool
    done: asyncio.Future[KilledDescendants]


class DescendantKiller:
    """Kills the descendants of containers, in a thread; shared by a runtime's."""

    def __init__(self) -> None:
        self._requests: list[_KillRequest] = []
        self._work: asyncio.Task[None] | None = None

    async def kill(
        self, number: int, spared: Collection[Process], *, is_thorough: bool
    ) -> KilledDescendants:
        """Kill all processes with a container's number.

        Args:
            number: the container's.
            spared: processes that start some of them, and have the number for a moment.
            is_thorough: look also for programs that only start the next one, and
                report those that have not ended.
        """
        loop = asyncio.get_running_loop()
        request = _KillRequest(number, spared, is_thorough, loop.create_future())
        self._requests.append(request)
        if self._work is None or self._work.done():
            self._work = loop.create_task(self._carry_out())
        return await request.done

    async def _carry_out(self) -> None:
        while self._requests:
            requests, self._requests = self._requests, []
            try:
                killed = await asyncio.to_thread(_kill, requests)
            except BaseException as error:
                for request in requests:
                    if not request.done.done():
                        request.done.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for request in requests:
                # The caller may have been cancelled meanwhile.
                if not request.done.done():
                    request.done.set_result(killed[request.number])


def _kill(requests: Collection[_KillRequest]) -> Mapping[int, KilledDescendants]:
    numbers = {request.number for request in requests}
    spared = frozenset(process for request in requests for process in request.spared)
    thorough = {request.number for request in requests if request.is_thorough}
    refused = kill_numbered(numbers, spared, looks=LOOKS if thorough else 0)
    left: dict[int, list[Process]] = {number: [] for number in numbers}
    if thorough:
        for number, process in numbered(thorough, spared):
            left[number].append(process)
    return {
        number: KilledDescendants(refused.get(number, ()), tuple(left[number]))
        for number in numbers
    }
