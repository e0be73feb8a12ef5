"""An event loop whose time passes only while nothing else is to be done.

For what waits with `asyncio.timeout` and `asyncio.sleep` inside this process: no
second is waited for, and the speed of the machine changes no order of events. What
comes from a thread, a socket or a process would come late in its time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_virtual_time(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run a coroutine, return its result and the virtual seconds that it took."""
    loop = _VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        began_at = loop.time()
        result = runner.run(work)
        return result, loop.time() - began_at


class _VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that skips waiting time."""

    def __init__(self) -> None:
        self._selector_of_time = _SkippingSelector()
        super().__init__(self._selector_of_time)

    def time(self) -> float:
        """Return the seconds that were skipped."""
        return self._selector_of_time.skipped_seconds


class _SkippingSelector(selectors.DefaultSelector):
    """Counts the time that it was to wait, instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped_seconds = 0.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; skip to the end of the waiting time otherwise."""
        events = super().select(None if timeout is None else 0)
        if not events and timeout:
            self.skipped_seconds += timeout
        return events
