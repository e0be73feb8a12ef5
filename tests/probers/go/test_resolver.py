"""Name lookups: a silent name server delays only its own lookups."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from probetui.errors import GoError, LocalResourceError
from probetui.probers.go import resolver as module
from probetui.probers.go.resolver import Address, Resolver, resolve_host

LOOPBACK = (socket.AF_INET, "127.0.0.1")


class FakeServers:
    """A name server: names that begin with `silent` are not answered before `speak`."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self._has_spoken = threading.Event()

    def __call__(self, host: str) -> Sequence[Address]:
        self.requests[host] += 1
        if host.startswith("silent"):
            self._has_spoken.wait()
        if host.startswith("unknown"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host.startswith("broken"):
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")
        if host.startswith("ours"):
            raise OSError(errno.EMFILE, "Too many open files")
        return [LOOPBACK]

    def speak(self) -> None:
        self._has_spoken.set()


@pytest.fixture
def servers() -> Iterator[FakeServers]:
    made = FakeServers()
    yield made
    made.speak()


async def start_lookup(
    resolver: Resolver, host: str
) -> asyncio.Task[Sequence[Address]]:
    """Return a look-up that has begun."""
    task = asyncio.ensure_future(resolver.look_up(host))
    await asyncio.sleep(0)
    return task


async def end(tasks: Sequence[asyncio.Task[Sequence[Address]]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_name_is_answered_while_many_others_are_silent(
    servers: FakeServers,
) -> None:
    resolver = Resolver(servers)
    silent = [await start_lookup(resolver, f"silent-{number}") for number in range(100)]

    async with asyncio.timeout(60):
        found = await resolver.look_up("healthy")

    assert found == [LOOPBACK]
    assert resolver.under_way == 100
    await end(silent)


async def test_one_look_up_serves_all_who_ask_for_a_name(servers: FakeServers) -> None:
    resolver = Resolver(servers)
    waiting = [await start_lookup(resolver, "silent") for _ in range(50)]
    await end(waiting[:25])

    servers.speak()

    async with asyncio.timeout(60):
        assert await asyncio.gather(*waiting[25:]) == [[LOOPBACK]] * 25
    assert servers.requests == {"silent": 1}


async def test_a_look_up_that_takes_long_is_begun_once_more_and_no_oftener(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKUP_SHARED_SECONDS", 0)
    resolver = Resolver(servers)

    waiting = [await start_lookup(resolver, "silent") for _ in range(50)]

    assert resolver.under_way == module.MAX_LOOKUPS_OF_A_NAME
    await end(waiting)


async def test_without_a_thread_to_ask_it_is_our_trouble(servers: FakeServers) -> None:
    resolver = Resolver(servers, limit=2)
    silent = [await start_lookup(resolver, f"silent-{number}") for number in range(2)]

    with pytest.raises(LocalResourceError, match="2 look-ups of other names"):
        await resolver.look_up("healthy")

    await end(silent)


async def test_threads_are_free_again_when_servers_answer(servers: FakeServers) -> None:
    resolver = Resolver(servers, limit=2)
    silent = [await start_lookup(resolver, f"silent-{number}") for number in range(2)]
    servers.speak()

    async with asyncio.timeout(60):
        await asyncio.gather(*silent)
        found = await resolver.look_up("healthy")

    assert found == [LOOPBACK]


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        pytest.param("unknown", "lookup unknown: no such host", id="no such name"),
        pytest.param("broken", "lookup broken: server misbehaving", id="no answer"),
    ],
)
async def test_what_servers_say_is_in_the_words_of_go(
    servers: FakeServers, host: str, problem: str
) -> None:
    with pytest.raises(GoError) as refused:
        await Resolver(servers).look_up(host)

    assert str(refused.value) == problem


async def test_without_a_descriptor_it_is_our_trouble(servers: FakeServers) -> None:
    with pytest.raises(LocalResourceError, match="Too many open files"):
        await Resolver(servers).look_up("ours")


async def test_who_has_no_time_limit_does_not_wait_for_ever(
    servers: FakeServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKUP_SECONDS", 0.01)

    with pytest.raises(GoError, match=r"^lookup silent: i/o timeout$"):
        await Resolver(servers).look_up("silent")


def test_the_systems_own_names_are_known() -> None:
    assert "127.0.0.1" in [address for _, address in resolve_host("localhost")]
