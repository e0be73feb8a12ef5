"""Containers out of a store: recorded, synthetic, and by a real Prometheus."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from probetui.cluster.observe.probe_counters import ProbeCounts
from probetui.cluster.observe.sampled_container import bound_container
from probetui.cluster.prometheus.client import StoreAccess, StoreClient, StoreError
from probetui.cluster.prometheus.fleet import (
    FleetQuery,
    FleetStore,
    StoredContainer,
)
from probetui.cluster.prometheus.workloads import Manifested, workload_of
from probetui.k8s.probe import ProbeType
from probetui.kubelet_rules import PORTED_RULES
from probetui.manifest.load import load_manifests
from probetui.manifest.yaml.parser import SourceFile
from tests.cluster.prometheus.openmetrics import (
    openmetrics,
    recorded_object,
    scraped,
    series,
    start,
)
from tests.cluster.prometheus.server import (
    StoredSeries,
    real_prometheus,
    refusal,
    stored_answer,
    vector,
)
from tests.cluster.recorded import recorded
from tests.cluster.transports import AnsweringTransport

_SECONDS = 360.0


def _read(
    client: StoreClient, query: FleetQuery
) -> tuple[FleetStore, list[StoredContainer]]:
    async def read() -> tuple[FleetStore, list[StoredContainer]]:
        async with client:
            store = FleetStore(client, query)
            return store, await store.read(await store.find())

    return asyncio.run(read())


def manifested() -> Manifested:
    """Return the settings of the recorded pods."""
    pods = recorded_object("pods-specs")
    sources = [
        SourceFile(f"{name}.json", json.dumps(pod).encode())
        for name, pod in pods.items()
    ]
    loaded = load_manifests(sources).loaded
    return Manifested(loaded, PORTED_RULES)


def recorded_kills() -> dict[tuple[str, str], list[float]]:
    """Return when which recorded container was killed by a probe."""
    kills: dict[tuple[str, str], list[float]] = {}
    for event in recorded("truth-events"):
        if event["reason"] == "Killing" and " probe," in event["message"]:
            container = event["fieldPath"].partition("{")[2].rstrip("}")
            kills.setdefault((event["object"]["name"], container), []).append(
                event["t"]
            )
    return kills


# -- a real Prometheus


@pytest.fixture(scope="module", params=[5.0, 15.0, 30.0], ids=["5 s", "15 s", "30 s"])
def recorded_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A Prometheus that has scraped the recorded cluster."""
    samples = openmetrics(scraped(request.param), start())
    with real_prometheus(tmp_path_factory.mktemp("store"), samples) as url:
        yield url


@pytest.mark.prometheus
def test_the_recorded_kills_are_inside_their_bounds(recorded_store: str) -> None:
    query = FleetQuery(start() - 20, start() + _SECONDS)
    kills, known = recorded_kills(), manifested()

    store, containers = _read(StoreClient(StoreAccess(recorded_store)), query)

    found = {(stored.name.pod, stored.name.container) for stored in containers}
    assert kills.keys() <= found
    assert not store.holes
    for stored in containers:
        bounds = bound_container(stored.samples, known.settings(stored))
        own = kills.get((stored.name.pod, stored.name.container), [])
        observed = [
            bounds.probes[kind].observed
            for kind in (ProbeType.LIVENESS, ProbeType.STARTUP)
            if kind in bounds.probes
        ]
        truth = [
            at
            for at in own
            if any(begin <= start() + at <= end for begin, end in observed)
        ]
        assert bounds.probe_kills.least <= len(truth) <= bounds.probe_kills.most, stored
        assert bounds.probe_kills.most <= max(len(truth), 1) + 4


@pytest.mark.prometheus
def test_labels_of_another_name_are_those_of_the_pods(tmp_path: Path) -> None:
    points = {
        name.replace("namespace=", 'namespace="monitoring",exported_namespace=')
        .replace("pod=", 'pod="exporter-1",exported_pod=')
        .replace("container=", 'container="kube",exported_container=')
        if name.startswith(("prober", "kube_pod"))
        else name: values
        for name, values in scraped(15.0).items()
    }
    query = FleetQuery(start() - 20, start() + _SECONDS, namespace="default")

    with real_prometheus(tmp_path, openmetrics(points, start())) as url:
        _, containers = _read(StoreClient(StoreAccess(url)), query)

    names = {stored.name.pod for stored in containers}
    assert "exec-liveness" in names
    assert "exporter-1" not in names


@pytest.mark.prometheus
def test_an_ha_pair_counts_once(tmp_path: Path) -> None:
    pair = {
        name.replace("{", f'{{prometheus_replica="{replica}",', 1): [
            (at + late, value) for at, value in values
        ]
        for replica, late, lost in (("a", 0.0, 0.0), ("b", 0.9, 0.2))
        for name, values in scraped(15.0, lost).items()
    }
    query = FleetQuery(start() - 20, start() + _SECONDS)
    known = manifested()

    with real_prometheus(tmp_path, openmetrics(pair, start())) as url:
        _, containers = _read(StoreClient(StoreAccess(url)), query)

    (stored,) = [each for each in containers if each.name.pod == "tcp-probes"]
    bounds = bound_container(stored.samples, known.settings(stored))
    assert bounds.probe_kills == (7, 7)


@pytest.mark.prometheus
def test_an_empty_store_says_what_to_scrape(tmp_path: Path) -> None:
    samples = openmetrics({series("up", {"job": "a"}): [(0.0, 1.0)]}, start())

    with (
        real_prometheus(tmp_path, samples) as url,
        pytest.raises(StoreError, match=r"has no series prober_probe_total.*tried"),
    ):
        _read(StoreClient(StoreAccess(url)), FleetQuery(start() - 20, start() + 60))


@pytest.mark.prometheus
def test_a_store_with_a_low_limit_is_asked_for_less(tmp_path: Path) -> None:
    points = scraped(5.0)
    query = FleetQuery(start() - 20, start() + 3 * 3600)
    limited = "--query.max-samples=1200"

    with real_prometheus(tmp_path, openmetrics(points, start()), limited) as url:
        store, containers = _read(StoreClient(StoreAccess(url)), query)

    assert containers or store.holes
    assert all("too many samples" in hole for hole in store.holes)


# -- a store that answers as told

Answer = Callable[[str], bytes | tuple[int, bytes]]


def _told(answer: Answer) -> StoreClient:
    def handle(request: httpx2.Request) -> httpx2.Response:
        query = dict(httpx2.QueryParams(request.content.decode()))["query"]
        told = answer(query)
        status, body = told if isinstance(told, tuple) else (200, told)
        return httpx2.Response(status, content=body)

    return StoreClient(
        StoreAccess("http://store.test"), transport=AnsweringTransport(handle)
    )


_POD = {"namespace": "shop", "pod": "web-7d9f8c6b5-x2x4z", "container": "app"}
_COUNTER = {**_POD, "pod_uid": "u1", "probe_type": "Liveness"}
_STATE = {**_POD, "uid": "u1", "job": "ksm"}


def _store(counters: StoredSeries, states: StoredSeries = ()) -> Callable[[str], bytes]:
    """Return what a store with these series answers."""
    return stored_answer(_COUNTER, counters, states)


def _named(name: str, labels: dict[str, str], **more: str) -> dict[str, str]:
    return {"__name__": name, **labels, **more}


_QUERY = FleetQuery(0.0, 200.0)


def test_results_of_one_scrape_belong_together() -> None:
    counters = [
        (_named("prober_probe_total", _COUNTER, result="successful"), [
            (10.0, "3"), (40.0, "6"),
        ]),
        (_named("prober_probe_total", _COUNTER, result="failed"), [(40.0, "1")]),
        (_named("prober_probe_total", _COUNTER, result="unknown"), [(40.0, "9")]),
    ]  # fmt: skip

    _, (stored,) = _read(_told(_store(counters)), _QUERY)

    scrapes = stored.samples.probes[ProbeType.LIVENESS]
    assert [sample.counts for sample in scrapes] == [
        ProbeCounts(3, 0),
        ProbeCounts(6, 1),
    ]


def test_a_replica_set_of_a_deployment_is_the_deployment() -> None:
    counters = [
        (_named("prober_probe_total", _COUNTER, result="failed"), [(10.0, "1")])
    ]
    owner = {"owner_kind": "ReplicaSet", "owner_name": "web-7d9f8c6b5"}
    states = [(_named("kube_pod_owner", _STATE, **owner), [(10.0, "1")])]

    _, (stored,) = _read(_told(_store(counters, states)), _QUERY)

    assert workload_of(stored) == "Deployment/web"


def test_a_scrape_without_the_worker_shows_that_it_was_not_there() -> None:
    counters = [
        (_named("prober_probe_total", _COUNTER, result="failed"), [(70.0, "1")]),
        (
            _named(
                "prober_probe_total", _COUNTER | {"container": "side"}, result="failed"
            ),
            [(10.0, "1"), (40.0, "1"), (70.0, "1")],
        ),
    ]

    _, containers = _read(_told(_store(counters)), _QUERY)

    app = next(each for each in containers if each.name.container == "app")
    scrapes = app.samples.probes[ProbeType.LIVENESS]
    assert [(sample.at, sample.counts) for sample in scrapes] == [
        (40.0, None),
        (70.0, ProbeCounts(0, 1)),
    ]


def test_scrapes_of_other_kubelets_are_no_sign_that_the_worker_was_away() -> None:
    other = _COUNTER | {"pod_uid": "u2", "pod": "other", "result": "failed"}
    counters = [
        (
            _named("prober_probe_total", _COUNTER, result="failed"),
            [(10.0, "100"), (40.0, "101"), (70.0, "102")],
        ),
        (_named("prober_probe_total", other), [(5.0, "7"), (35.0, "8"), (65.0, "9")]),
    ]

    _, (stored,) = _read(_told(_store(counters)), _QUERY)

    scrapes = stored.samples.probes[ProbeType.LIVENESS]
    assert [sample.counts for sample in scrapes] == [
        ProbeCounts(0, 100),
        ProbeCounts(0, 101),
        ProbeCounts(0, 102),
    ]


def test_a_refused_query_is_a_hole_and_the_rest_is_answered() -> None:
    counters = [
        (_named("prober_probe_total", _COUNTER, result="failed"), [(70.0, "1")])
    ]
    others = _store(counters)

    def answer(query: str) -> bytes | tuple[int, bytes]:
        if "__name__" in query:
            return 422, refusal("execution", "too many samples")
        return others(query)

    store, containers = _read(_told(answer), _QUERY)

    assert [each.name.container for each in containers] == ["app"]
    assert any("too many samples" in hole for hole in store.holes)


def test_hostile_label_values_stay_values() -> None:
    name = 'x"} or vector(1) #'
    labels = {**_COUNTER, "pod": name}
    counters = [(_named("prober_probe_total", labels, result="failed"), [(70.0, "1")])]
    asked: list[str] = []
    others = _store(counters)

    def answer(query: str) -> bytes:
        asked.append(query)
        if query.startswith("group by (container"):
            return vector((labels, "1"))
        return others(query)

    _, (stored,) = _read(_told(answer), _QUERY)

    assert stored.name.pod == name
    assert not any(name in query for query in asked)
