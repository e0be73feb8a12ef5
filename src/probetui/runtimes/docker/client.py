"""The SDK's blocking calls, made in threads; the only module that has threads."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.faults import FOREIGN_ERRORS, runtime_error

T = TypeVar("T")

SHORT_CALLS = 32
"""Calls that the daemon answers soon; what is more waits for its turn."""

LONG_CALLS = 512
"""Calls that may last: stopping with a grace period, pulling, following."""

PIECES_AHEAD = 256
"""How far a stream may run ahead of its reader before its thread waits."""


class Stream(Protocol):
    """What a blocking call may return to be followed; `close` wakes its reader."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the pieces as they come."""

    def close(self) -> None:
        """End it from another thread."""


class Threads:
    """Daemon threads for blocking calls, started when needed, at most `limit`.

    The standard library's pool is not used because the interpreter waits for its
    threads at exit, and a call to a daemon that hangs may last for minutes.

    Args:
        limit: how many calls run at the same time.
        name: a prefix for the names of the threads.
        time: returns seconds; differences tell how long a call waited.
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
        """How long calls wait for a thread at the moment."""
        with self._changed:
            waited = self._last_wait
            if self._waiting:
                waited = max(waited, self._time() - self._waiting[0][0])
        return timedelta(seconds=waited)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Let a thread do some work as soon as one is free."""
        future: Future[T] = Future()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  # the waiting task gets it
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
        """Take no more work; threads end when what they do is done."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            job()
            # Not to keep a result alive until the next call.
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


class Client:
    """Docker's API for coroutines.

    Every method may be cancelled; a call that is already on its way then ends
    unheard. Raises `ContainerRuntimeError`, as `RefusedError` where there is an HTTP
    status.

    Args:
        api: the SDK's client; it is closed together with this.
        short_calls: how many short calls run at the same time.
    """

    def __init__(self, api: Api, *, short_calls: int = SHORT_CALLS) -> None:
        time = asyncio.get_running_loop().time
        self._api = api
        self._short = Threads(short_calls, "docker", time)
        self._long = Threads(LONG_CALLS, "docker-long", time)

    @property
    def pool_wait(self) -> timedelta:
        """How long short calls, those of probes among them, wait for a thread."""
        return self._short.wait

    async def call(
        self,
        work: Callable[[Api], T],
        *,
        unheard: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Make a call that the daemon answers soon.

        Args:
            work: what to do with the SDK's client.
            unheard: gets a result that nobody waits for any more.
        """
        return await self._in_thread(self._short, work, unheard)

    async def call_long(
        self,
        work: Callable[[Api], T],
        *,
        unheard: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Make a call that may last; it takes no thread from short ones."""
        return await self._in_thread(self._long, work, unheard)

    async def follow(
        self, opened_by: Callable[[Api], Stream]
    ) -> AsyncGenerator[Any, None]:
        """Yield the pieces of a stream as they come, until it ends or breaks."""
        stream = await self.call_long(opened_by, unheard=_close)
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[Any, bool]] = asyncio.Queue()
        room = threading.Semaphore(PIECES_AHEAD)
        left = threading.Event()

        def hand_over(piece: Any, *, last: bool = False) -> None:
            # The loop may be gone when a stream ends long after its reader.
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
            except FOREIGN_ERRORS as foreign:
                error = runtime_error(foreign)
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

    async def close(self) -> None:
        """Close the connections that are not in use and let the threads end."""
        self._short.close()
        self._long.close()
        self._api.close()

    async def _in_thread(
        self,
        threads: Threads,
        work: Callable[[Api], T],
        unheard: Callable[[T], None],
    ) -> T:
        def guarded() -> T:
            try:
                return work(self._api)
            except FOREIGN_ERRORS as foreign:
                raise runtime_error(foreign) from foreign

        future = threads.submit(guarded)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.add_done_callback(lambda done: _hand_back(done, unheard))
            raise


async def run_apart(work: Callable[[], T]) -> T:
    """Do something that blocks before there is a client, in a thread of its own.

    Foreign errors are left as they are. One who is cancelled does not wait.
    """
    threads = Threads(1, "docker-connect", asyncio.get_running_loop().time)
    try:
        return await asyncio.wrap_future(threads.submit(work))
    finally:
        threads.close()


def _hand_back(done: Future[T], unheard: Callable[[T], None]) -> None:
    if not done.cancelled() and done.exception() is None:
        unheard(done.result())


def _close(stream: Stream) -> None:
    """End a stream; one that has ended already, or cannot be ended, is left."""
    with contextlib.suppress(*FOREIGN_ERRORS):
        stream.close()
