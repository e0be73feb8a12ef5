"""Retries of requests to an unreachable API server: one message, a back-off.

A node keeps running without its API server: writes wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

from probetui.cluster.api_objects import UnreadableObjectError
from probetui.cluster.bounded_responses import TooLargeError
from probetui.cluster.errors import ApiError, ClusterError
from probetui.ports import Clock

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS = 0.8
LONGEST_WAIT_SECONDS = 30.0
"""Source: client-go tools/cache/reflector.go, v0.32.10, NewReflectorWithOptions."""

_UNAUTHORIZED = 401
_CONFLICT = 409
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500


class ServerContact:
    """Tracks whether the API server answers, and reports changes.

    Args:
        clock: the time.
        notify: prints a sentence.
    """

    def __init__(self, clock: Clock, notify: Callable[[str], None]) -> None:
        self.clock = clock
        self._notify = notify
        self._problem = ""
        self._refusal = ""
        self._back = asyncio.Event()

    def on_answer(self) -> None:
        """Record that the server answered a request."""
        if self._problem:
            self._notify("the API server answers again")
            self._problem = ""
            self._back.set()
            self._back = asyncio.Event()

    def on_failure(self, error: ClusterError) -> None:
        """Record that a request failed; report each problem once."""
        log.info("API server: %s", error)
        if isinstance(error, ApiError) and error.code == _CONFLICT:
            return
        if not is_passing(error):
            if str(error) != self._refusal:
                self._notify(str(error))
            self._refusal = str(error)
        elif not self._problem:
            self._notify(f"{error}; the pods keep running, requests are retried")
            self._problem = str(error)

    async def wait(self, error: ClusterError, attempt: int) -> None:
        """Wait before the next attempt: for Retry-After, else with a back-off.

        A wait for an unreachable server ends as soon as another request is answered.

        Args:
            error: the error of the last attempt.
            attempt: the number of failed attempts, 1 for the first.
        """
        self.on_failure(error)
        seconds = min(
            FIRST_WAIT_SECONDS * 2 ** min(attempt - 1, 10), LONGEST_WAIT_SECONDS
        )
        if isinstance(error, ApiError) and error.retry_after is not None:
            seconds = error.retry_after
        sleep = asyncio.ensure_future(self.sleep(timedelta(seconds=seconds)))
        waits = {sleep}
        if not isinstance(error, ApiError):
            waits.add(asyncio.ensure_future(self._wait_for_answer()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    async def _wait_for_answer(self) -> None:
        await self._back.wait()

    async def sleep(self, period: timedelta) -> None:
        """Wait for a time."""
        await self.clock.sleep_until(self.clock.now() + period)


def is_passing(error: ClusterError) -> bool:
    """Return whether the same request may succeed later."""
    if not isinstance(error, ApiError):
        return not isinstance(error, UnreadableObjectError | TooLargeError)
    return error.code >= _SERVER_ERROR or error.code in {
        _UNAUTHORIZED,
        _CONFLICT,
        _TOO_MANY_REQUESTS,
    }
