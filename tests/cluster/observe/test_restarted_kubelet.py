"""A kubelet that was away: its counters are read again within one poll."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from random import Random

from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ServerUnreachableError
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.selection import PodSelection
from tests.cluster.node.bench import Cluster
from tests.fakes import FakeClock

AWAY_SECONDS, PERIOD_SECONDS = 20, 5


class RestartingKubelet:
    """A source of counters that does not answer for a time."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._back_at = clock.now() + timedelta(seconds=AWAY_SECONDS)
        self.answered_at: list[datetime] = []
        self.late = timedelta()

    async def fetch(self, node: str) -> bytes:
        now = self._clock.now()
        if now < self._back_at:
            raise ServerUnreachableError(f"node {node}: connection refused")
        if not self.answered_at:
            self.late = now - self._back_at
        self.answered_at.append(now)
        return b""


async def test_counters_are_read_again_within_one_poll_after_a_restart() -> None:
    clock = FakeClock()
    cluster = Cluster(clock)
    probe = {"exec": {"command": ["true"]}, "periodSeconds": PERIOD_SECONDS}
    cluster.create_pod(app={"livenessProbe": probe})
    access = ClusterAccess(
        "tests", "default", ApiServerInfo("http://api.test"), UserCredentials()
    )
    observation = ClusterObservation(clock.now())
    kubelet = RestartingKubelet(clock)
    async with ApiClient(access, clock, transport=cluster.transport) as client:
        selection = PodSelection()
        feed = Feed(client, observation, selection, clock, kubelet, Random(1))
        await feed.begin()
        following = asyncio.ensure_future(feed.run(lambda: None))
        try:
            for _ in range(4 * AWAY_SECONDS):
                await clock.advance(timedelta(seconds=0.5))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    assert kubelet.answered_at
    assert kubelet.late <= timedelta(seconds=PERIOD_SECONDS)
