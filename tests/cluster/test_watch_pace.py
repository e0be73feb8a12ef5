"""Watches that a server ends, refuses, breaks or floods."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random

import httpx2
import pytest

from probetui.cluster import object_budget
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.node.pod_watch import PodWatch
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.selection import PodSelection
from tests.cluster.transports import AnsweringTransport, Pieces
from tests.fakes import FakeClock
from tests.hostile.api_servers import a_pod

SECONDS = 20
_LINE = json.dumps({"type": "MODIFIED", "object": a_pod()}).encode() + b"\n"
_ENDS: dict[str, Callable[[], httpx2.Response]] = {
    "at once": lambda: httpx2.Response(200, stream=Pieces()),
    "after one line": lambda: httpx2.Response(200, stream=Pieces(_LINE)),
    "in a line that is none": lambda: httpx2.Response(
        200, stream=Pieces(_LINE, b"x\n")
    ),
    "expired": lambda: httpx2.Response(410, json={}),
    "busy for 0 s": lambda: httpx2.Response(429, headers={"Retry-After": "0"}),
    "with a fault": lambda: httpx2.Response(500),
}


async def _watch_as_a_node(client: ApiClient, clock: FakeClock) -> None:
    contact = ServerContact(clock, lambda _: None)
    await PodWatch(client, "spec.nodeName=n", contact, lambda: None).run()


async def _watch_as_an_observer(client: ApiClient, clock: FakeClock) -> None:
    observation = ClusterObservation(clock.now())
    feed = Feed(client, observation, PodSelection(), clock, None, Random(1))
    await feed.begin()
    await feed.run(lambda: None)


@pytest.mark.parametrize("watch", [_watch_as_a_node, _watch_as_an_observer])
@pytest.mark.parametrize("end", _ENDS.values(), ids=_ENDS.keys())
async def test_a_watch_is_asked_for_at_most_once_a_second(
    watch: Callable[[ApiClient, FakeClock], Awaitable[None]],
    end: Callable[[], httpx2.Response],
) -> None:
    clock, watches = FakeClock(), 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal watches
        if "watch" not in request.url.params or not request.url.path.endswith("/pods"):
            return httpx2.Response(200, json={"items": []})
        watches += 1
        return end()

    access = ClusterAccess(
        "test", "default", ApiServerInfo("https://api.test"), UserCredentials()
    )
    transport = AnsweringTransport(answer)
    async with ApiClient(access, clock, transport=transport) as client:
        watching = asyncio.ensure_future(watch(client, clock))
        for _ in range(SECONDS * 10):
            await clock.advance(timedelta(seconds=0.1))
            await clock.settle()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    assert 1 < watches <= SECONDS + 1


async def test_a_node_keeps_the_pods_that_it_has_room_for_and_names_the_first_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_budget, "LARGEST_SUM", 2**16)
    lines = [
        json.dumps({"type": "ADDED", "object": a_pod(number)}).encode() + b"\n"
        for number in range(1, 1_001)
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        if "watch" in request.url.params:
            return httpx2.Response(200, stream=Pieces(*lines))
        return httpx2.Response(200, json={"items": []})

    clock, notes = FakeClock(), list[str]()
    access = ClusterAccess(
        "test", "default", ApiServerInfo("https://api.test"), UserCredentials()
    )
    async with ApiClient(access, clock, transport=AnsweringTransport(answer)) as client:
        watch = PodWatch(
            client,
            "spec.nodeName=n",
            ServerContact(clock, notes.append),
            lambda: None,
        )
        watching = asyncio.ensure_future(watch.run())
        await clock.advance(timedelta(seconds=0.5))
        for _ in lines:
            await clock.settle()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    kept = len(watch.pods)
    assert 5 < kept < 100
    first = f"default/web-{kept + 1} is the first that is left out"
    assert notes == [f"there are too many pods to be kept: {first}"]
