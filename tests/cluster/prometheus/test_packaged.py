"""The night that is in the package: as simulated, and as a real Prometheus has it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from probetui.cluster.observe.sampled_container import bound_container
from probetui.cluster.prometheus.client import StoreAccess, StoreClient
from probetui.cluster.prometheus.fleet import FleetQuery, FleetStore, StoredContainer
from probetui.cluster.prometheus.packaged import SAMPLES, WORKLOADS, PackagedStore
from probetui.cluster.prometheus.workloads import Manifested
from probetui.kubelet_rules import PORTED_RULES
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.cluster.prometheus import night
from tests.cluster.prometheus.openmetrics import Points, openmetrics, series
from tests.cluster.prometheus.server import real_prometheus

MIDNIGHT = datetime(2026, 8, 31, tzinfo=UTC).timestamp()
WHOLE = FleetQuery(MIDNIGHT, MIDNIGHT + night.HOURS * 3600)
_LARGEST = 25_000


def read(
    access: StoreAccess,
    query: FleetQuery,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> tuple[int, list[StoredContainer]]:
    """Return how many containers there are, and those that are worth a look."""

    async def ask() -> tuple[int, list[StoredContainer]]:
        async with StoreClient(access, transport=transport) as client:
            store = FleetStore(client, query)
            names = await (store.find_pods() if query.pod else store.find())
            found = await store.read(names)
            assert not store.holes
            return store.containers, sorted(found, key=lambda each: each.name)

    return asyncio.run(ask())


def packaged(query: FleetQuery) -> tuple[int, list[StoredContainer]]:
    """Return what the store of the package has."""
    return read(StoreAccess("http://demo/"), query, PackagedStore(MIDNIGHT))


def test_the_samples_are_those_of_the_simulation() -> None:
    assert SAMPLES.read_text() == night.text()


def test_they_are_few() -> None:
    assert SAMPLES.stat().st_size < _LARGEST


def test_the_night_has_a_kill_near_misses_and_a_restart_of_another_cause() -> None:
    loaded = load_manifests([SourceFile("night", WORKLOADS.read_bytes())]).loaded
    known = Manifested(loaded, PORTED_RULES)

    count, found = packaged(WHOLE)

    bounds = {
        stored.name.pod: bound_container(stored.samples, known.settings(stored))
        for stored in found
    }
    assert count == len(night.LIVES)
    assert bounds["web-5d9c7b6f4-8xk2p"].probe_kills == (1, 1)
    neighbour = bounds["web-5d9c7b6f4-tq7zr"]
    assert neighbour.probe_kills == (0, 0)
    assert neighbour.near_misses is not None
    assert neighbour.near_misses.most > 0
    assert bounds["cart-0"].probe_kills == (0, 0)
    assert bounds["cart-0"].restarts == (1, 1)
    assert "mail-7c4d8f9b6-x9wlm" not in bounds


@pytest.mark.prometheus
def test_a_real_prometheus_says_the_same_of_them(tmp_path: Path) -> None:
    points: Points = defaultdict(list)
    for metric, samples in PackagedStore(MIDNIGHT).series:
        name = metric["__name__"]
        labels = {key: text for key, text in metric.items() if key != "__name__"}
        points[series(name, labels)] += samples
    pod = "web-5d9c7b6f4-8xk2p"
    queries = [
        WHOLE,
        replace(WHOLE, namespace="shop"),
        replace(WHOLE, begin=MIDNIGHT + 3600, pod=pod, namespace="shop"),
    ]

    with real_prometheus(tmp_path, openmetrics(points, 0.0)) as url:
        real = [read(StoreAccess(url), query) for query in queries]

    for query, told in zip(queries, real, strict=True):
        assert packaged(query) == told
