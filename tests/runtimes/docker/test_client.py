"""Blocking calls in threads, without a daemon."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import requests

from probetui.errors import ContainerRuntimeError
from probetui.runtimes.docker.client import PIECES_AHEAD, DaemonThreads, DockerClient


class Blocks:
    """Work that lasts until it is let go, and counts how much of it goes on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.entered = threading.Semaphore(0)
        self.count = 0

    def __call__(self, *_: Any) -> None:
        self.count += 1
        self.entered.release()
        assert self.go_on.wait(10)

    async def has_begun(self, times: int = 1) -> None:
        """Wait until that many calls are under way."""
        for _ in range(times):
            assert await asyncio.to_thread(self.entered.acquire, timeout=10)


class FakeApi:
    """What `DockerClient` needs of the SDK's client when all work is the test's."""

    closed = False

    def close(self) -> None:
        self.closed = True


class FakeStream:
    """Pieces that come until it is closed; the last of all may be an error."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces
        self.taken = 0
        self.closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        for piece in self._pieces:
            self.taken += 1
            yield piece

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def blocks() -> Iterator[Blocks]:
    work = Blocks()
    yield work
    work.go_on.set()


@pytest.fixture
async def client() -> AsyncIterator[DockerClient]:
    api: Any = FakeApi()
    made = DockerClient(api, short_calls=2)
    yield made
    await made.close()


async def test_results_and_errors_come_back(client: DockerClient) -> None:
    def fail(_api: object) -> None:
        raise LookupError("mine")

    assert await client.call(lambda _: 42) == 42
    with pytest.raises(LookupError, match="mine"):
        await client.call(fail)


async def test_no_more_short_calls_go_on_than_allowed(
    client: DockerClient, blocks: Blocks
) -> None:
    calls = [asyncio.ensure_future(client.call(blocks)) for _ in range(5)]
    await blocks.has_begun(2)

    assert blocks.count == 2
    assert client.pool_wait > timedelta()

    blocks.go_on.set()
    await asyncio.gather(*calls)
    assert blocks.count == 5


async def test_long_calls_take_no_thread_from_short_ones(
    client: DockerClient, blocks: Blocks
) -> None:
    calls = [asyncio.ensure_future(client.call_long(blocks)) for _ in range(20)]
    await blocks.has_begun(20)

    assert await client.call(lambda _: "at once") == "at once"

    blocks.go_on.set()
    await asyncio.gather(*calls)


async def test_a_call_that_is_cancelled_before_its_turn_is_never_made(
    client: DockerClient, blocks: Blocks
) -> None:
    busy = [asyncio.ensure_future(client.call(blocks)) for _ in range(2)]
    await blocks.has_begun(2)
    made: list[str] = []
    waiting = asyncio.ensure_future(client.call(lambda _: made.append("call")))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    blocks.go_on.set()
    await asyncio.gather(*busy)

    assert await client.call(lambda _: made) == []
    assert waiting.cancelled()


async def test_a_result_that_nobody_waits_for_is_handed_back(
    client: DockerClient, blocks: Blocks
) -> None:
    discard: queue.SimpleQueue[str] = queue.SimpleQueue()

    def work(_api: object) -> str:
        blocks()
        return "unheard"

    call = asyncio.ensure_future(client.call(work, discard=discard.put))
    await blocks.has_begun()

    call.cancel()
    await asyncio.wait([call])
    blocks.go_on.set()

    assert await asyncio.to_thread(discard.get, timeout=10) == "unheard"


async def test_a_foreign_error_becomes_ours(client: DockerClient) -> None:
    def lose_connection(_api: object) -> None:
        raise requests.ConnectionError("gone")

    with pytest.raises(ContainerRuntimeError) as caught:
        await client.call(lose_connection)

    assert caught.value.unreachable


async def test_after_closing_no_call_is_made() -> None:
    api: Any = FakeApi()
    client = DockerClient(api)
    await client.call(lambda _: None)

    await client.close()

    with pytest.raises(ContainerRuntimeError):
        await client.call(lambda _: None)
    assert api.closed


class TestFollowing:
    """Streams."""

    async def test_pieces_come_in_order_and_the_end_ends_it(
        self, client: DockerClient
    ) -> None:
        stream = FakeStream(iter("abc"))

        found = [piece async for piece in client.follow(lambda _: stream)]

        assert found == ["a", "b", "c"]
        assert stream.closed.is_set()

    async def test_an_error_comes_after_the_pieces_before_it(
        self, client: DockerClient
    ) -> None:
        def pieces() -> Iterator[str]:
            yield "a"
            raise requests.exceptions.ChunkedEncodingError("cut")

        follow = client.follow(lambda _: FakeStream(pieces()))

        assert await anext(follow) == "a"
        with pytest.raises(ContainerRuntimeError) as caught:
            await anext(follow)
        assert caught.value.unreachable

    async def test_a_stream_runs_only_so_far_ahead_of_its_reader(
        self, client: DockerClient
    ) -> None:
        stream = FakeStream(iter(range(10 * PIECES_AHEAD)))
        follow = client.follow(lambda _: stream)
        await anext(follow)

        last = [await anext(follow) for _ in range(PIECES_AHEAD)][-1]

        assert last == PIECES_AHEAD
        assert stream.taken <= 2 * PIECES_AHEAD + 3
        await follow.aclose()

    async def test_leaving_a_stream_closes_it(self, client: DockerClient) -> None:
        never, reading = threading.Event(), threading.Event()

        def wait() -> bool:
            reading.set()
            return never.wait(10)

        stream = FakeStream(iter(wait, None))

        async def follow() -> None:
            async for _ in client.follow(lambda _: stream):
                pass

        task = asyncio.ensure_future(follow())
        assert await asyncio.to_thread(reading.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await asyncio.to_thread(stream.closed.wait, 10)
        never.set()


class TestThreads:
    """The pool below."""

    @pytest.fixture
    def pool(self) -> Iterator[Callable[[int], DaemonThreads]]:
        made: list[DaemonThreads] = []

        def make(limit: int) -> DaemonThreads:
            made.append(DaemonThreads(limit, "test", time.perf_counter))
            return made[-1]

        yield make
        for threads in made:
            threads.close()

    def test_threads_are_used_again(self, pool: Callable[[int], DaemonThreads]) -> None:
        threads = pool(8)

        names = {
            threads.submit(lambda: threading.current_thread().name).result(10)
            for _ in range(20)
        }

        assert len(names) <= 2

    def test_the_interpreter_does_not_wait_for_them(
        self, pool: Callable[[int], DaemonThreads]
    ) -> None:
        is_daemon = pool(1).submit(lambda: threading.current_thread().daemon)

        assert is_daemon.result(10)
