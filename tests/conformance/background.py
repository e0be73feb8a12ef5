"""Cases that run in the background, on all runtimes at once; tests wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from tests.conformance.cases import Case
from tests.conformance.observe import Options, Outcome, observe


class BackgroundRun:
    """Runs cases while it is entered as a context manager.

    Args:
        wanted: the cases, by runtime.
        options: how they are run and judged.
        out: a folder for results, with one for each runtime in it.
    """

    def __init__(
        self, wanted: Mapping[str, Sequence[Case]], options: Options, out: Path
    ) -> None:
        self._wanted = wanted
        self._options = options
        self._out = out
        self._outcomes: dict[tuple[str, str], Future[Outcome]] = {
            (runtime, case["id"]): Future()
            for runtime, cases in wanted.items()
            for case in cases
        }
        self._thread = Thread(target=self._work, name="conformance")
        self._began = Event()

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        self._began.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Break off what still runs, and wait until nothing is left of it."""
        with suppress(RuntimeError):  # it is over already
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def outcome(self, runtime: str, case_id: str) -> Outcome:
        """Wait for what comes of a case."""
        return self._outcomes[runtime, case_id].result()

    def outcomes(self) -> list[Outcome]:
        """Return what has come of cases so far."""
        return [
            outcome.result()
            for outcome in self._outcomes.values()
            if outcome.done() and not outcome.cancelled()
        ]

    def _work(self) -> None:
        try:
            with suppress(asyncio.CancelledError), self._options.lateness:
                asyncio.run(self._run())
        finally:
            for outcome in self._outcomes.values():
                outcome.cancel()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(self._run_on_all())
        self._began.set()
        await self._task

    async def _run_on_all(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for runtime in self._wanted:
                tasks.create_task(self._run_on(runtime))

    async def _run_on(self, runtime: str) -> None:
        out = self._out / runtime
        out.mkdir()
        async for outcome in observe(
            self._wanted[runtime], runtime, self._options, out
        ):
            self._outcomes[runtime, outcome.case["id"]].set_result(outcome)
