"""The store of a cluster: its Service, and its answers through the API server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.prometheus.services import StoreService, choose_store
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.http_server import HttpRequest
from probetui.drive.clocks import SystemClock
from probetui.errors import ProbetuiError, UsageError
from tests.cluster.api_server.resources import SERVICES
from tests.cluster.api_server.server import ServerFault
from tests.cluster.api_server.store import WritableStore
from tests.cluster.prometheus.openmetrics import (
    openmetrics,
    recorded_object,
    scraped,
    start,
)
from tests.cluster.prometheus.server import (
    real_prometheus,
    stored_answer,
    told_prometheus,
)
from tests.cluster.servers import RunningServer, running_server, write_kubeconfig
from tests.cluster.service_proxy import ServiceProxy

Labels = Mapping[str, str]
_NAME, _COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"
_TOKEN = "admin-t0ken-of-this-cluster"
_OPERATED = ("prometheus-operated", {"operated-prometheus": "true"}, {"web": 9090})
_STACK = (
    "kps-kube-prometheus-stack-prometheus",
    {"app": "kube-prometheus-stack-prometheus", "release": "kps"},
    {"http-web": 9090, "reloader-web": 8080},
)
_THANOS = (
    "thanos-query",
    {_NAME: "thanos-query", _COMPONENT: "query-layer"},
    {"grpc": 10901, "http": 9090},
)


def service(
    name: str, labels: Labels, ports: Mapping[str, int], namespace: str = "monitoring"
) -> dict[str, Any]:
    """Return a Service as a list of them has it."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-of-{name}",
            "labels": dict(labels),
        },
        "spec": {"ports": [{"name": key, "port": port} for key, port in ports.items()]},
    }


@asynccontextmanager
async def cluster(
    *services: dict[str, Any], **options: Any
) -> AsyncIterator[RunningServer]:
    store = WritableStore(SystemClock().now)
    for each in services:
        store.put(SERVICES, each)
    async with running_server(store, tokens={_TOKEN: "me"}, **options) as server:
        yield server


async def chosen(
    folder: Path, asked: str, *services: dict[str, Any], **options: Any
) -> tuple[StoreService, str]:
    async with cluster(*services, **options) as server:
        config = write_kubeconfig(folder / "config", server.url, token=_TOKEN)
        access = load_access(str(config))
        async with ApiClient(access, SystemClock()) as client:
            return await choose_store(client, asked)


# -- which one


@pytest.mark.parametrize(
    ("labelled", "path"),
    [
        pytest.param(_OPERATED, "prometheus-operated:9090/proxy", id="operator"),
        pytest.param(
            _STACK,
            "kps-kube-prometheus-stack-prometheus:9090/proxy",
            id="kube-prometheus-stack",
        ),
        pytest.param(
            (
                "prometheus-k8s",
                {_NAME: "prometheus", _COMPONENT: "prometheus"},
                {"web": 9090, "reloader-web": 8080},
            ),
            "prometheus-k8s:9090/proxy",
            id="kube-prometheus",
        ),
        pytest.param(
            (
                "prometheus-server",
                {_NAME: "prometheus", _COMPONENT: "server"},
                {"http": 80},
            ),
            "prometheus-server:80/proxy",
            id="chart of prometheus",
        ),
        pytest.param(_THANOS, "thanos-query:9090/proxy", id="kube-thanos"),
        pytest.param(
            (
                "mimir-gateway",
                {_NAME: "mimir", _COMPONENT: "gateway"},
                {"http-metrics": 80, "legacy-http-metrics": 8080},
            ),
            "mimir-gateway:80/proxy/prometheus",
            id="mimir-distributed",
        ),
        pytest.param(
            ("vmselect-main", {_NAME: "vmselect"}, {"http": 8481}),
            "vmselect-main:8481/proxy/select/0/prometheus",
            id="VictoriaMetrics' operator, a cluster",
        ),
        pytest.param(
            (
                "vm-victoria-metrics-single-server",
                {_NAME: "victoria-metrics-single", "app": "server"},
                {"http": 8428},
            ),
            "vm-victoria-metrics-single-server:8428/proxy",
            id="victoria-metrics-single",
        ),
        pytest.param(
            ("thanos-querier", {_NAME: "thanos-query"}, {"https-web": 9091}),
            "https:thanos-querier:9091/proxy",
            id="by TLS",
        ),
    ],
)
async def test_a_store_is_found_by_the_labels_of_its_service(
    tmp_path: Path, labelled: tuple[str, Labels, Mapping[str, int]], path: str
) -> None:
    others = [
        service("web", {"app": "web"}, {"http": 80}, "shop"),
        service("grafana", {_NAME: "grafana"}, {"http": 80}),
        service("thanos-grpc", {_NAME: "thanos-query"}, {"grpc": 10901}),
    ]

    found, text = await chosen(tmp_path, "auto", service(*labelled), *others)

    assert found.path == f"/api/v1/namespaces/monitoring/services/{path}"
    assert text.endswith("is asked by the API server's proxy")


async def test_the_operators_own_service_is_not_another_store(tmp_path: Path) -> None:
    found, text = await chosen(tmp_path, "auto", service(*_OPERATED), service(*_STACK))

    assert found.name == _STACK[0]
    assert "too" not in text


async def test_what_keeps_longer_is_taken_and_the_rest_named(tmp_path: Path) -> None:
    found, text = await chosen(tmp_path, "auto", service(*_STACK), service(*_THANOS))

    assert found.description == "Thanos monitoring/thanos-query"
    assert f"--prometheus auto:monitoring/{_STACK[0]} would do" in text


async def test_of_several_of_a_kind_one_has_to_be_named(tmp_path: Path) -> None:
    name, labels, ports = _STACK
    services = [service(name, labels, ports, place) for place in ("blue", "green")]

    with pytest.raises(UsageError) as raised:
        await chosen(tmp_path, "auto", *services)
    found, _ = await chosen(tmp_path, f"auto:green/{name}", *services)

    assert "2 Services are of a Prometheus" in str(raised.value)
    assert f"auto:blue/{name} or --prometheus auto:green/{name}" in str(raised.value)
    assert found.namespace == "green"


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("auto:shop/tsdb", "tsdb:8080/proxy"),
        ("auto:shop/tsdb:api", "tsdb:8080/proxy"),
        ("auto:shop/tsdb:8080/prometheus/", "tsdb:8080/proxy/prometheus"),
    ],
)
async def test_a_service_without_known_labels_can_be_named(
    tmp_path: Path, asked: str, path: str
) -> None:
    other = service("tsdb", {}, {"api": 8080}, "shop")

    found, _ = await chosen(tmp_path, asked, other)

    assert found.path == f"/api/v1/namespaces/shop/services/{path}"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("auto", "no Service in any namespace has the labels of Thanos, Mimir, "),
        ("auto:absent", "a Service is named auto:NAMESPACE/NAME"),
        ("auto:shop/absent", "`kubectl get services -n shop` lists them"),
        ("auto:shop/web", "the Service has no port for HTTP: name one"),
    ],
)
async def test_what_is_not_there_is_told_with_the_next_step(
    tmp_path: Path, asked: str, message: str
) -> None:
    web = service("web", {"app": "web"}, {"grpc": 1, "tcp": 2}, "shop")

    with pytest.raises(ProbetuiError) as raised:
        await chosen(tmp_path, asked, web)

    assert message in str(raised.value)


async def test_without_the_right_to_list_all_the_contexts_namespace_is_looked_at(
    tmp_path: Path,
) -> None:
    def only_default(_user: str, info: RequestInfo) -> str | None:
        return None if info.namespace == "default" else "no"

    name, labels, ports = _STACK
    found, _ = await chosen(
        tmp_path,
        "auto",
        service(name, labels, ports, "default"),
        service(*_THANOS),
        authorize=only_default,
    )

    assert found.namespace == "default"


async def test_a_missing_right_to_list_is_told_with_its_command(tmp_path: Path) -> None:
    with pytest.raises(ClusterError) as raised:
        await chosen(
            tmp_path, "auto", service(*_STACK), authorize=lambda *_: "no such role"
        )

    told = str(raised.value)
    assert "`kubectl auth can-i list services -A` shows it" in told
    assert "neither in namespace default" in told
    assert "`kubectl port-forward` and --prometheus http://127.0.0.1:9090" in told


# -- as it is typed


async def typed(
    *words: str, environ: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Return status, output and errors of a command line, the latter on one line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "probetui", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
        env=None if environ is None else {**environ},
    )
    output, errors = await process.communicate()
    return process.returncode or 0, output.decode(), " ".join(errors.decode().split())


def at(seconds: float) -> str:
    """Return an instant of the recording as options take it."""
    return f"{datetime.fromtimestamp(start() + seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.prometheus
async def test_a_real_prometheus_is_asked_through_the_api_server(
    tmp_path: Path,
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for name, pod in recorded_object("pods-specs").items():
        (manifests / f"{name}.json").write_text(json.dumps(pod))
    record, log = tmp_path / "past.jsonl", tmp_path / "own.log"
    certificate = self_signed(["127.0.0.1"], SystemClock().now())
    authority = tmp_path / "ca.pem"
    authority.write_bytes(certificate.certificate)
    logged = ("--log-file", str(log), "--log-level", "debug")
    with real_prometheus(tmp_path, openmetrics(scraped(5.0), start())) as url:
        proxy = ServiceProxy({f"monitoring/{_STACK[0]}:9090": url})
        tls = certificate.tls_context()
        connect = {"services/proxy": proxy.answer}
        async with cluster(service(*_STACK), connect=connect, tls=tls) as server:
            config = write_kubeconfig(
                *(tmp_path / "config", server.url),
                token=_TOKEN,
                authority=str(authority),
            )
            store = ("--prometheus", "auto", "--kubeconfig", str(config), *logged)
            times = ("--from", at(-20), "--to", at(360))
            fleet = await typed(
                *("fleet", *store, *times, "-f", str(manifests), "-o", "json")
            )
            page = await typed("fleet", *store, *times, "-o", "html")
            why = await typed(
                *("why", "default/exec-liveness", *store, "--at", at(200)),
                *("-f", str(manifests), "--record", str(record)),
            )

    assert fleet[0] == 0, fleet[2]
    rows = {row["pod"]: row for row in json.loads(fleet[1])}
    assert rows["exec-liveness"]["probe_kills"][0] > 0
    assert f"Prometheus monitoring/{_STACK[0]} is asked by the API" in fleet[2]
    assert why[0] == 0, why[2]
    assert "was killed between" in why[1]
    assert proxy.passed_on
    assert not any("authorization" in asked.headers for asked in proxy.passed_on)
    assert {asked.method for asked in proxy.passed_on} == {"GET"}
    assert page[0] == 0, page[2]
    assert "DEBUG" in log.read_text()
    printed = "".join(map(str, (*fleet, *why, *page)))
    assert _TOKEN not in record.read_text() + log.read_text() + printed


async def test_the_right_to_ask_a_service_is_told_with_another_way(
    tmp_path: Path,
) -> None:
    def no_proxy(_user: str, info: RequestInfo) -> str | None:
        return f"{_TOKEN} may not" if info.subresource == "proxy" else None

    async with cluster(service(*_STACK), authorize=no_proxy) as server:
        config = write_kubeconfig(tmp_path / "config", server.url, token=_TOKEN)
        status, output, errors = await typed(
            "fleet", "--prometheus", "auto", "--kubeconfig", str(config)
        )

    assert (status, output) == (3, "")
    assert f"get services/{_STACK[0]}:9090 --subresource=proxy -n monitoring" in errors
    assert f"port-forward -n monitoring service/{_STACK[0]} 9090:9090`" in errors
    assert _TOKEN not in errors


async def test_a_busy_api_server_is_asked_again_and_as_whom_it_is_told(
    tmp_path: Path,
) -> None:
    asked: list[Mapping[str, str]] = []
    faults = [ServerFault(failure=ApiFailure(429, "Busy", "slow down", retry_after=1))]

    def fault(info: RequestInfo, request: HttpRequest) -> ServerFault | None:
        if info.subresource != "proxy":
            return None
        asked.append(request.headers)
        return faults.pop() if faults else None

    pod = {"namespace": "shop", "pod": "web", "pod_uid": "1", "container": "app"}
    with told_prometheus(stored_answer(pod, ())) as url:
        proxy = ServiceProxy({f"monitoring/{_STACK[0]}:9090": url})
        connect = {"services/proxy": proxy.answer}
        async with cluster(service(*_STACK), connect=connect) as server:
            server.api.fault = fault
            config = write_kubeconfig(tmp_path / "config", server.url, token=_TOKEN)
            read = json.loads(config.read_text())
            read["users"][0]["user"] |= {"as": "ann", "as-groups": ["dev", "ops"]}
            config.write_text(json.dumps(read))
            status, _, errors = await typed(
                "fleet", "--prometheus", "auto", "--kubeconfig", str(config)
            )

    assert status == 0, errors
    assert len(asked) == len(proxy.passed_on) + 1
    assert {headers["impersonate-user"] for headers in asked} == {"ann"}
    assert {headers["impersonate-group"] for headers in asked} == {"dev, ops"}


async def test_a_service_without_endpoints_is_told(tmp_path: Path) -> None:
    connect = {"services/proxy": ServiceProxy({}).answer}
    async with cluster(service(*_STACK), connect=connect) as server:
        config = write_kubeconfig(tmp_path / "config", server.url, token=_TOKEN)
        status, _, errors = await typed(
            "fleet", "--prometheus", "auto", "--kubeconfig", str(config)
        )

    assert status == 3
    assert f'no endpoints available for service "{_STACK[0]}"' in errors


async def test_a_token_of_another_store_stays_here(tmp_path: Path) -> None:
    pod = {"namespace": "shop", "pod": "web", "pod_uid": "1", "container": "app"}
    with told_prometheus(stored_answer(pod, ())) as url:
        proxy = ServiceProxy({f"monitoring/{_STACK[0]}:9090": url})
        connect = {"services/proxy": proxy.answer}
        async with cluster(service(*_STACK), connect=connect) as server:
            config = write_kubeconfig(tmp_path / "config", server.url, token=_TOKEN)
            environ = {
                "PROBETUI_PROMETHEUS_TOKEN": "of-an0ther-store",
                "KUBECONFIG": str(config),
                "HOME": str(tmp_path),
            }
            status, _, errors = await typed(
                *("fleet", "--prometheus", "auto", "--prometheus-tenant", "team-a"),
                environ=environ,
            )

    assert status == 0, errors
    assert {asked.headers["x-scope-orgid"] for asked in proxy.passed_on} == {"team-a"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prometheus-ca", "ca.pem"], "--prometheus-ca is for a store with a URL"),
        (
            ["--prometheus-header", "authorization: Bearer x"],
            "the API server passes none on",
        ),
        (["--kubeconfig", "/absent"], "/absent: No such file"),
    ],
)
async def test_options_that_do_not_fit_are_refused(
    words: list[str], message: str
) -> None:
    status, _, errors = await typed("fleet", "--prometheus", "auto", *words)

    assert status == 2
    assert message in errors
