"""Settings of stored containers from the cluster: of the pod, else of its template."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.api_server.resources import ApiResource
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe.sampled_container import (
    SETTINGS_OF_TODAY,
    ContainerSamples,
    bound_container,
)
from probetui.cluster.prometheus.cluster_settings import ClusterSettings
from probetui.cluster.prometheus.fleet import (
    ContainerName,
    LastEnd,
    StoredContainer,
)
from probetui.drive.clocks import SystemClock
from probetui.kubelet_rules import PORTED_RULES
from tests.checkout import ROOT
from tests.cluster.api_server.resources import PODS, SERVED, SERVICES
from tests.cluster.api_server.store import DeleteOptions, WritableStore
from tests.cluster.player import put_state_at
from tests.cluster.prometheus.openmetrics import openmetrics, scraped, start
from tests.cluster.prometheus.server import (
    StoredSeries,
    real_prometheus,
    stored_answer,
    told_prometheus,
)
from tests.cluster.prometheus.test_services import at, typed
from tests.cluster.prometheus.test_services import service as a_service
from tests.cluster.servers import RunningServer, running_server, write_kubeconfig
from tests.cluster.service_proxy import ServiceProxy
from tests.cluster.test_documented_roles import RoleAuthorizer

REPLICA_SETS = ApiResource("replicasets", "ReplicaSet", "apps")
DEPLOYMENTS = ApiResource("deployments", "Deployment", "apps")
STATEFUL_SETS = ApiResource("statefulsets", "StatefulSet", "apps")
DAEMON_SETS = ApiResource("daemonsets", "DaemonSet", "apps")
JOBS = ApiResource("jobs", "Job", "batch")
CRON_JOBS = ApiResource("cronjobs", "CronJob", "batch")
WORKLOADS = (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS, CRON_JOBS)

_UID = "11111111-1111-1111-1111-111111111111"
_OTHER_UID = "22222222-2222-2222-2222-222222222222"
_HASHED = {"pod-template-hash": "6b8c5f7d9b"}


def spec(threshold: int, **more: Any) -> dict[str, Any]:
    """Return the spec of a pod with one liveness probe."""
    probe = {
        "exec": {"command": ["true"]},
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": threshold,
    }
    container = {"name": "app", "image": "app", "livenessProbe": probe}
    return {"containers": [container], "terminationGracePeriodSeconds": 5, **more}


def pod(name: str, threshold: int, uid: str = _UID, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": uid, **metadata},
        "spec": spec(threshold),
        "status": {"phase": "Running"},
    }


def workload(
    resource: ApiResource,
    name: str,
    threshold: int,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    template = {"metadata": {"labels": labels or {}}, "spec": spec(threshold)}
    own: dict[str, Any] = {"template": template}
    if resource is CRON_JOBS:
        own = {"jobTemplate": {"spec": own}}
    return {
        "apiVersion": resource.group_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": "shop", "labels": labels or {}},
        "spec": own,
    }


def stored(name: str, owner: tuple[str, str] = ("", "")) -> StoredContainer:
    return StoredContainer(
        ContainerName("shop", name, _UID, "app"),
        owner,
        ContainerSamples(0.0, {}),
        LastEnd(),
        {},
    )


@asynccontextmanager
async def cluster(
    objects: Mapping[ApiResource, dict[str, Any]], **options: Any
) -> AsyncIterator[RunningServer]:
    store = WritableStore(SystemClock().now)
    for resource, each in objects.items():
        store.put(resource, each)
    served = (*SERVED, *WORKLOADS)
    async with running_server(store, served=served, **options) as server:
        yield server


async def learned(
    folder: Path,
    objects: Mapping[ApiResource, dict[str, Any]],
    container: StoredContainer,
    **options: Any,
) -> ClusterSettings:
    async with cluster(objects, **options) as server:
        access = load_access(str(write_kubeconfig(folder / "config", server.url)))
        async with ApiClient(access, SystemClock()) as client:
            known = ClusterSettings(client, PORTED_RULES)
            await known.learn([container])
    return known


_POD = "web-6b8c5f7d9b-2x4z7"
_OF_SET = ("ReplicaSet", "web-6b8c5f7d9b")
_SET = workload(REPLICA_SETS, "web-6b8c5f7d9b", 5, _HASHED)
_DEPLOYMENT = workload(DEPLOYMENTS, "web", 9)
_EXACT, _TODAY = False, True


@pytest.mark.parametrize(
    ("container", "objects", "threshold", "is_of_today"),
    [
        pytest.param(
            stored(_POD, _OF_SET),
            {PODS: pod(_POD, 3), REPLICA_SETS: _SET},
            *(3, _EXACT),
            id="the pod itself",
        ),
        pytest.param(
            stored("web-node1"),
            {
                PODS: pod(
                    *("web-node1", 3, _OTHER_UID),
                    annotations={"kubernetes.io/config.hash": _UID},
                )
            },
            *(3, _EXACT),
            id="the mirror of a static pod",
        ),
        pytest.param(
            stored(_POD, _OF_SET),
            {REPLICA_SETS: _SET, DEPLOYMENTS: _DEPLOYMENT},
            *(5, _EXACT),
            id="the kept template of an old revision",
        ),
        pytest.param(
            stored(_POD),
            {REPLICA_SETS: _SET, DEPLOYMENTS: _DEPLOYMENT},
            *(5, _EXACT),
            id="the same, without kube-state-metrics",
        ),
        pytest.param(
            stored(_POD, _OF_SET),
            {REPLICA_SETS: workload(REPLICA_SETS, "web-6b8c5f7d9b", 5)},
            *(5, _TODAY),
            id="a replica set of no deployment",
        ),
        pytest.param(
            stored(_POD, _OF_SET),
            {DEPLOYMENTS: _DEPLOYMENT},
            *(9, _TODAY),
            id="a revision that is not kept",
        ),
        pytest.param(
            stored("db-0", ("StatefulSet", "db")),
            {PODS: pod("db-0", 3, _OTHER_UID), STATEFUL_SETS: workload(
                STATEFUL_SETS, "db", 7
            )},
            *(7, _TODAY),
            id="another pod of the name",
        ),
        pytest.param(
            stored("agent-2x4z7", ("DaemonSet", "agent")),
            {DAEMON_SETS: workload(DAEMON_SETS, "agent", 4)},
            *(4, _TODAY),
            id="a daemon set",
        ),
        pytest.param(
            stored("night-29384760-2x4z7", ("Job", "night-29384760")),
            {CRON_JOBS: workload(CRON_JOBS, "night", 2)},
            *(2, _TODAY),
            id="a job that is gone",
        ),
    ],
)  # fmt: skip
async def test_settings_are_those_of_the_best_source(
    tmp_path: Path,
    container: StoredContainer,
    objects: Mapping[ApiResource, dict[str, Any]],
    threshold: int,
    is_of_today: bool,  # noqa: FBT001  # a column of the table
) -> None:
    known = await learned(tmp_path, objects, container)

    settings = known.settings(container)
    assert settings is not None
    assert settings.container.liveness_probe is not None
    assert settings.container.liveness_probe.failure_threshold == threshold
    assert settings.is_of_today is is_of_today
    assert not known.problems


async def test_what_is_in_no_cluster_has_no_settings(tmp_path: Path) -> None:
    container = stored(_POD, ("Rollout", "web"))

    known = await learned(tmp_path, {}, container)

    assert known.settings(container) is None


async def test_a_missing_right_is_a_problem_and_the_template_is_taken(
    tmp_path: Path,
) -> None:
    def no_pods(_user: str, info: RequestInfo) -> str | None:
        return "no" if info.resource is PODS else None

    container = stored(_POD, _OF_SET)

    known = await learned(tmp_path, {REPLICA_SETS: _SET}, container, authorize=no_pods)

    assert known.settings(container) is not None
    assert any("kubectl auth can-i get pods" in text for text in known.problems)


async def test_numbers_by_a_template_of_today_are_not_exact(tmp_path: Path) -> None:
    container = stored("db-0", ("StatefulSet", "db"))
    objects = {STATEFUL_SETS: workload(STATEFUL_SETS, "db", 7)}
    known = await learned(tmp_path, objects, container)

    bounds = bound_container(container.samples, known.settings(container))

    assert SETTINGS_OF_TODAY in bounds.doubts
    assert not bounds.is_exact


# -- as it is typed


@pytest.mark.prometheus
async def test_no_manifest_is_needed_of_what_the_cluster_still_has(
    tmp_path: Path,
) -> None:
    with real_prometheus(tmp_path, openmetrics(scraped(5.0), start())) as url:
        async with cluster({}) as server:
            put_state_at(server.store, SystemClock(), 60)
            config = write_kubeconfig(tmp_path / "config", server.url)
            store = ("--prometheus", url, "--kubeconfig", str(config))
            why = await typed(
                *("why", "default/exec-liveness", *store, "--at", at(200))
            )
            fleet = await typed(
                *("fleet", *store, "--from", at(-20), "--to", at(360), "-o", "json")
            )
            server.store.delete(PODS, "default", "exec-liveness", DeleteOptions(0))
            gone = await typed(
                *("why", "default/exec-liveness", *store, "--at", at(200))
            )

    assert why[0] == 0, why[2]
    assert "was killed between" in why[1]
    assert "settings of 1 pod are those of the cluster (context tests)" in why[2]
    assert fleet[0] == 0, fleet[2]
    row = next(row for row in json.loads(fleet[1]) if row["pod"] == "exec-liveness")
    assert row["probe_kills"][0] > 0
    assert gone[0] == 2
    assert "neither has the cluster of pod exec-liveness" in gone[2]
    assert "name the manifest with -f" in gone[2]


def hanging(name: str, owner: tuple[str, str]) -> Callable[[str], bytes]:
    """Return the answers of a store with a container that failed four times."""
    begin = math.floor(SystemClock().now().timestamp()) - 600
    of_pod = {"namespace": "shop", "pod": name}
    counted = {**of_pod, "pod_uid": _UID, "container": "app"}
    shown = {**of_pod, "uid": _UID, "container": "app"}
    times = [begin + 10 * step for step in range(30)]
    failures = [min(max(step - 10, 0), 4) for step in range(30)]

    def counter(result: str, values: list[int]) -> tuple[dict[str, str], Any]:
        labels = {**counted, "probe_type": "Liveness", "result": result}
        samples = list(zip(times, map(str, values), strict=True))
        return {"__name__": "prober_probe_total", **labels}, samples

    counters: StoredSeries = [
        counter("successful", [min(step, 10) for step in range(30)]),
        counter("failed", failures),
    ]
    restarts = [str(int(step > 17)) for step in range(30)]
    states: StoredSeries = [
        (
            {"__name__": "kube_pod_container_status_restarts_total", **shown},
            list(zip(times, restarts, strict=True)),
        ),
        (
            {
                "__name__": "kube_pod_owner",
                **of_pod,
                "uid": _UID,
                "owner_kind": owner[0],
                "owner_name": owner[1],
            },
            [(times[0], "1"), (times[-1], "1")],
        ),
    ]
    return stored_answer(counted, counters, states)


async def test_the_role_of_the_page_is_enough(tmp_path: Path) -> None:
    role = RoleAuthorizer("probetui-fleet", ROOT / "docs" / "how-to" / "fleet.md")
    service = a_service("prometheus-k8s", {"operated-prometheus": "true"}, {"web": 90})
    objects = {SERVICES: service, STATEFUL_SETS: workload(STATEFUL_SETS, "db", 3)}
    with told_prometheus(hanging("db-0", ("StatefulSet", "db"))) as url:
        proxy = ServiceProxy({"monitoring/prometheus-k8s:90": url})
        options = {"authorize": role, "connect": {"services/proxy": proxy.answer}}
        async with cluster(objects, tokens={"t": "me"}, **options) as server:
            config = write_kubeconfig(tmp_path / "config", server.url, token="t")
            status, output, errors = await typed(
                *("fleet", "--prometheus", "auto", "--kubeconfig", str(config)),
                *("--since", "1h", "-o", "json"),
            )

    (row,) = json.loads(output)
    assert status == 0, errors
    assert row["probe_kills"][0] == 1
    assert not role.refused


async def test_settings_of_today_are_said_to_be_so(tmp_path: Path) -> None:
    objects = {STATEFUL_SETS: workload(STATEFUL_SETS, "db", 3)}
    record = tmp_path / "past.jsonl"
    with told_prometheus(hanging("db-0", ("StatefulSet", "db"))) as url:
        async with cluster(objects) as server:
            config = write_kubeconfig(tmp_path / "config", server.url)
            store = ("--prometheus", url, "--kubeconfig", str(config))
            rows = await typed("fleet", *store, "--since", "1h", "-o", "json")
            table = await typed("fleet", *store, "--since", "1h")
            why = await typed("why", "shop/db-0", *store, "--record", str(record))
            ticket = await typed("why", str(record), "--md")
            replayed = await typed("replay", str(record), "--plain")

    (row,) = json.loads(rows[1])
    assert not row["exact"]
    assert SETTINGS_OF_TODAY in row["doubts"]
    assert "~" in table[1]
    told = (
        "settings are of the template of StatefulSet/db as it is today (context "
        "tests): at that time they may have been others"
    )
    assert told in rows[2]
    assert why[0] == 0, why[2]
    assert told in why[2]
    assert f"db-0: {SETTINGS_OF_TODAY}" in replayed[2]
    for answer in (why, ticket):
        assert "Settings are those of the template as it is today" in answer[1]


async def test_a_cluster_that_is_away_is_told_and_the_rest_is_answered(
    tmp_path: Path,
) -> None:
    config = write_kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    with told_prometheus(hanging("db-0", ("StatefulSet", "db"))) as url:
        store = ("--prometheus", url, "--kubeconfig", str(config))
        rows = await typed("fleet", *store, "--since", "1h", "-o", "json")
        why = await typed("why", "shop/db-0", *store)

    (row,) = json.loads(rows[1])
    assert (rows[0], row["probe_kills"][0]) == (0, 0)
    assert "settings that the cluster did not tell: http://127.0.0.1:1" in rows[2]
    assert why[0] == 2
    assert "http://127.0.0.1:1: " in why[2]
