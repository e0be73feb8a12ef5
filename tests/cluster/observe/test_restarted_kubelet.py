"""A kubelet that was away: its counters are read again within one poll."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from random import Random

import pytest

from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError, ServerUnreachableError
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.observe.feed import Feed
from probetui.cluster.observe.kubelet_counters import CountersUnavailableError
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.selection import PodSelection
from tests.cluster.node.bench import Cluster
from tests.fakes import FakeClock

AWAY_SECONDS, PERIOD_SECONDS = 20, 5
THERE_SECONDS = 10
"""It answers for a time before it goes: a refusal is of its restart only then."""


class RestartingKubelet:
    """A source of counters that fails for a time, in one way."""

    def __init__(self, clock: FakeClock, failure: type[ClusterError]) -> None:
        self._clock = clock
        self._failure = failure
        self._away_at = clock.now() + timedelta(seconds=THERE_SECONDS)
        self._back_at = self._away_at + timedelta(seconds=AWAY_SECONDS)
        self.late: timedelta | None = None

    async def fetch(self, node: str) -> bytes:
        now = self._clock.now()
        if self._away_at <= now < self._back_at:
            raise self._failure(f"node {node}: is restarting")
        if now >= self._back_at and self.late is None:
            self.late = now - self._back_at
        return b""


@pytest.mark.parametrize("failure", [ServerUnreachableError, CountersUnavailableError])
async def test_counters_are_read_again_within_one_poll_after_a_restart(
    failure: type[ClusterError],
) -> None:
    clock = FakeClock()
    cluster = Cluster(clock)
    probe = {"exec": {"command": ["true"]}, "periodSeconds": PERIOD_SECONDS}
    cluster.create_pod(app={"livenessProbe": probe})
    access = ClusterAccess(
        "tests", "default", ApiServerInfo("http://api.test"), UserCredentials()
    )
    observation = ClusterObservation(clock.now())
    kubelet = RestartingKubelet(clock, failure)
    async with ApiClient(access, clock, transport=cluster.transport) as client:
        selection = PodSelection()
        feed = Feed(client, observation, selection, clock, kubelet, Random(1))
        await feed.begin()
        following = asyncio.ensure_future(feed.run(lambda: None))
        try:
            for _ in range(2 * (THERE_SECONDS + AWAY_SECONDS + 3 * PERIOD_SECONDS)):
                await clock.advance(timedelta(seconds=0.5))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    assert kubelet.late is not None
    assert kubelet.late <= timedelta(seconds=PERIOD_SECONDS)
