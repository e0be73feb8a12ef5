"""A client for coroutines that makes the SDK's blocking calls in threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.errors import (
    NOT_FOUND,
    SDK_ERRORS,
    DockerStatusError,
    to_runtime_error,
)

T = TypeVar("T")

SHORT_CALLS = 32
"""The limit of concurrent calls that the daemon answers soon; others wait."""

LONG_CALLS = 512
"""The limit of concurrent long calls: stopping with a grace period, pulls, streams."""

PIECES_AHEAD = 256
"""How many pieces of a stream are buffered before its thread waits."""


class ClosableStream(Protocol):
    """A blocking stream; `close` unblocks the thread that reads it."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the pieces as they arrive."""

    def close(self) -> None:
        """End the stream, from another thread."""


class DaemonThreads:
    """Daemon threads for blocking calls, started when needed, at most `limit`.

    `ThreadPoolExecutor` is not used: the interpreter joins its threads at exit, and a
    call to a daemon that hangs may last for minutes.

    Args:
        limit: how many calls run at the same time.
        name: a prefix of the threads' names.
        time: returns seconds, for measuring how long calls wait.
    """

    def __init__(self, limit: int, name: str, time: Callable[[], float]) -> None:
        self._limit = limit
        self._name = name
        self._time = time
        self._changed = threading.Condition()
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self._threads = 0
        self._idle = 0
        self._closed = False
        self._last_wait = 0.0

    @property
    def wait(self) -> timedelta:
        """How long calls currently wait for a thread."""
        with self._changed:
            waited = self._last_wait
            if self._waiting:
                waited = max(waited, self._time() - self._waiting[0][0])
        return timedelta(seconds=waited)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Run a function in the next free thread."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # raised in the task
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._changed:
            if self._closed:
                future.set_exception(ContainerRuntimeError("the client is closed"))
                return future
            self._waiting.append((self._time(), job))
            if self._idle >= len(self._waiting):
                self._changed.notify()
            elif self._threads < self._limit:
                self._threads += 1
                name = f"{self._name}-{self._threads}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        return future

    def close(self) -> None:
        """Accept no more work; threads end after their current call."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            job()
            # Otherwise the result stays alive until the next call.
            del job

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._idle += 1
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._idle -= 1
            if not self._waiting:
                self._threads -= 1
                return None
            submitted_at, job = self._waiting.popleft()
            self._last_wait = self._time() - submitted_at
            return job


class DockerClient:
    """Docker's API for coroutines.

    Every method may be cancelled: a call that was sent then goes on without a waiter.
    Raises `ContainerRuntimeError`; where there is an HTTP status, `DockerStatusError`.

    Args:
        api: the SDK's client; it is closed together with this.
        short_calls: how many short calls run at the same time.
    """

    def __init__(self, api: DockerApi, *, short_calls: int = SHORT_CALLS) -> None:
        time = asyncio.get_running_loop().time
        self._api = api
        self._short = DaemonThreads(short_calls, "docker", time)
        self._long = DaemonThreads(LONG_CALLS, "docker-long", time)

    @property
    def pool_wait(self) -> timedelta:
        """How long short calls, including those of probes, wait for a thread."""
        return self._short.wait

    async def call(
        self,
        work: Callable[[DockerApi], T],
        *,
        discard: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Make a call that the daemon answers soon.

        Args:
            work: makes the call with the SDK's client.
            discard: gets the result if the caller was cancelled.
        """
        return await self._in_thread(self._short, work, discard)

    async def call_long(
        self,
        work: Callable[[DockerApi], T],
        *,
        discard: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Make a call that may take long; short calls do not wait for it."""
        return await self._in_thread(self._long, work, discard)

    async def call_or_none(self, work: Callable[[DockerApi], T]) -> T | None:
        """Make a call that the daemon answers soon; None if it answers 404."""
        try:
            return await self.call(work)
        except DockerStatusError as error:
            if error.status != NOT_FOUND:
                raise
            return None

    async def follow(
        self, opened_by: Callable[[DockerApi], ClosableStream]
    ) -> AsyncGenerator[Any, None]:
        """Yield the pieces of a stream as they arrive, until it ends or fails."""
        stream = await self.call_long(opened_by, discard=_close)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[Any, bool]] = asyncio.Queue()
        room = threading.Semaphore(PIECES_AHEAD)
        left = threading.Event()

        def hand_over(piece: Any, *, last: bool = False) -> None:
            # The loop may be closed when a stream ends long after its reader.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(pieces.put_nowait, (piece, last))

        def read() -> None:
            error = None
            try:
                for piece in stream:
                    room.acquire()
                    if left.is_set():
                        break
                    hand_over(piece)
            except SDK_ERRORS as sdk_error:
                error = to_runtime_error(sdk_error)
            finally:
                hand_over(error, last=True)

        self._long.submit(read)
        try:
            while True:
                piece, last = await pieces.get()
                if last:
                    break
                room.release()
                yield piece
            if piece is not None:
                raise piece
        finally:
            left.set()
            room.release()
            _close(stream)

    async def events(
        self, filters: Mapping[str, list[str]]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the daemon's events that match filters; raises when the stream ends."""
        events = self.follow(lambda api: api.events(filters=filters, decode=True))
        async with contextlib.aclosing(events):
            async for event in events:
                yield event
        raise ContainerRuntimeError(
            "the event stream was interrupted", unreachable=True
        )

    async def close(self) -> None:
        """Close idle connections and let the threads end."""
        self._short.close()
        self._long.close()
        self._api.close()

    async def _in_thread(
        self,
        threads: DaemonThreads,
        work: Callable[[DockerApi], T],
        discard: Callable[[T], None],
    ) -> T:
        def guarded() -> T:
            try:
                return work(self._api)
            except SDK_ERRORS as sdk_error:
                raise to_runtime_error(sdk_error) from sdk_error

        future = threads.submit(guarded)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(lambda done: _hand_back(done, discard))
            raise


async def run_in_own_thread(work: Callable[[], T]) -> T:
    """Run a blocking function in a thread of its own, before there is a client.

    Errors of the SDK are not converted. Cancelling does not wait for the thread.
    """
    threads = DaemonThreads(1, "docker-connect", asyncio.get_running_loop().time)
    try:
        return await asyncio.wrap_future(threads.submit(work))
    finally:
        threads.close()


def _hand_back(done: Future[T], discard: Callable[[T], None]) -> None:
    if not done.cancelled() and done.exception() is None:
        discard(done.result())


def _close(stream: ClosableStream) -> None:
    """Close a stream; errors mean that it has ended already."""
    with contextlib.suppress(*SDK_ERRORS):
        stream.close()
