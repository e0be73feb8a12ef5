"""A fleet without a store: what an API server and its kubelets know now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probetui.cli.main import run
from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.client import CHUNK, ApiClient
from probetui.cluster.kubeconfig import load_access
from probetui.cluster.observe.kubelet_counters import ProxyCounters
from probetui.cluster.observe.result_run import Bounds
from probetui.cluster.prometheus.current import (
    KUBELET_YOUNGER,
    STARTUP_GONE,
    CurrentContainer,
    CurrentFleet,
)
from probetui.cluster.serving.http_server import HttpResponse
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.codec import Json
from tests.cluster.api_server.resources import EVENTS, NODES, PODS
from tests.cluster.api_server.store import WritableStore
from tests.cluster.player import put_state_at
from tests.cluster.prometheus.test_fleet import recorded_kills
from tests.cluster.servers import running_server, write_kubeconfig

_CREATED_AT = "2026-08-31T12:00:00Z"
_PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 10, "failureThreshold": 3}

Metrics = Callable[..., bytes]


def _pod(
    name: str,
    restarts: int,
    *,
    node: str = "node1",
    last: Json | None = None,
    annotations: Json | None = None,
    **probes: Json,
) -> Json:
    probes = probes or {"livenessProbe": _PROBE}
    status = {
        "name": "app",
        "ready": True,
        "started": True,
        "restartCount": restarts,
        "state": {"running": {"startedAt": _CREATED_AT}},
        "lastState": {} if last is None else {"terminated": last},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "creationTimestamp": _CREATED_AT,
            "annotations": annotations or {},
            "ownerReferences": [
                {"kind": "ReplicaSet", "name": "web-7d9f8c6b5", "controller": True}
            ],
        },
        "spec": {"nodeName": node, "containers": [{"name": "app", **probes}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }


def _counted(uid: str, successes: int, failures: int, kind: str = "Liveness") -> str:
    labels = f'container="app",pod_uid="{uid}",probe_type="{kind}"'
    return "".join(
        f'prober_probe_total{{{labels},result="{result}"}} {count}\n'
        for result, count in (("successful", successes), ("failed", failures))
    )


def _started(at: float) -> str:
    return f"process_start_time_seconds {at}\n"


_BEFORE, _AFTER = 1.788e09, 1.79e09
"""Before and after the pods were created."""


async def _fleet(
    folder: Path, text: str, *pods: Json
) -> tuple[CurrentFleet, list[CurrentContainer]]:
    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=text.encode())

    async with running_server(connect={"nodes/proxy": metrics}) as server:
        _put(server.store, *pods)
        return await _read(folder, server.url)


def _put(store: WritableStore, *pods: Json) -> None:
    for name in sorted({pod["spec"]["nodeName"] for pod in pods}):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        store.put(NODES, node)
    for pod in pods:
        store.put(PODS, pod)


async def _read(folder: Path, url: str) -> tuple[CurrentFleet, list[CurrentContainer]]:
    access = load_access(str(write_kubeconfig(folder / "config", url)), None)
    clock = SystemClock()
    async with ApiClient(access, clock) as client:
        fleet = CurrentFleet(client, ProxyCounters(client), clock, "")
        return fleet, await fleet.read_each(lambda found: found)


@pytest.mark.parametrize("instant", [30.0, 120.0, 300.0])
async def test_the_recorded_kills_are_inside_their_bounds(
    tmp_path: Path, instant: float
) -> None:
    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=player.metrics)

    async with running_server(connect={"nodes/proxy": metrics}) as server:
        player = put_state_at(server.store, SystemClock(), instant)
        fleet, containers = await _read(tmp_path, server.url)

    assert not fleet.holes
    bounds = {
        (each.stored.name.pod, each.stored.name.container): each.bounds.probe_kills
        for each in containers
    }
    pods = {pod for pod, _ in bounds}
    for name, times in recorded_kills().items():
        kills = sum(at <= instant for at in times)
        if name in bounds:
            assert bounds[name].least <= kills <= bounds[name].most, name
        elif name[0] in pods:
            assert not kills, name


async def test_a_kubelet_older_than_the_pod_has_counted_all(tmp_path: Path) -> None:
    text = _started(_BEFORE) + _counted("uid-web", 12, 3)
    last = {"exitCode": 137, "reason": "Error", "finishedAt": _CREATED_AT}

    _, (found,) = await _fleet(tmp_path, text, _pod("web", 1, last=last))

    assert found.bounds.probe_kills == Bounds(0, 1)
    assert found.bounds.near_misses == Bounds(0, 1)
    assert found.bounds.not_ready is None
    assert KUBELET_YOUNGER not in found.bounds.doubts
    assert found.stored.owner == ("ReplicaSet", "web-7d9f8c6b5")
    assert (found.stored.last_end.reason, found.stored.last_end.exit_code) == (
        "Error",
        137,
    )


async def test_failures_alone_are_kills_for_certain(tmp_path: Path) -> None:
    text = _started(_BEFORE) + _counted("uid-web", 0, 7)

    _, (found,) = await _fleet(tmp_path, text, _pod("web", 2))

    assert found.bounds.probe_kills == Bounds(2, 2)
    assert found.bounds.is_exact


async def test_before_a_kubelet_s_start_each_restart_may_have_been_a_kill(
    tmp_path: Path,
) -> None:
    text = _started(_AFTER) + _counted("uid-web", 12, 0)

    _, (found,) = await _fleet(tmp_path, text, _pod("web", 4))

    assert found.bounds.probe_kills.least == 0
    assert found.bounds.probe_kills.most >= 4
    assert KUBELET_YOUNGER in found.bounds.doubts


async def test_kills_of_a_startup_probe_are_not_counted_any_more(
    tmp_path: Path,
) -> None:
    text = _started(_BEFORE) + _counted("uid-web", 12, 0)
    pod = _pod("web", 2, livenessProbe=_PROBE, startupProbe=_PROBE)

    _, (found,) = await _fleet(tmp_path, text, pod)

    assert found.bounds.probe_kills == Bounds(0, 2)
    assert found.bounds.near_misses is None
    assert STARTUP_GONE in found.bounds.doubts


def _killing(name: str, message: str, count: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"web.{name}", "namespace": "shop"},
        "involvedObject": {
            "kind": "Pod",
            "uid": "uid-web",
            "fieldPath": "spec.containers{app}",
        },
        "reason": "Killing",
        "message": message,
        "count": count,
        "lastTimestamp": _CREATED_AT,
    }


@pytest.mark.parametrize(
    ("count", "least"),
    [pytest.param(2, 3, id="some"), pytest.param(90, 4, id="more than restarts")],
)
async def test_events_tell_how_many_kills_there_were_at_least(
    tmp_path: Path, count: int, least: int
) -> None:
    by_probe = "Container app failed liveness probe, will be restarted"
    events = [
        _killing("a", by_probe, count),
        _killing("b", by_probe.replace("liveness", "startup"), 1),
        _killing("c", "Stopping container app", 9),
    ]
    text = _started(_BEFORE) + _counted("uid-web", 30, 14)

    async def metrics(*_: Any) -> HttpResponse:
        return HttpResponse(200, body=text.encode())

    async with running_server(connect={"nodes/proxy": metrics}) as server:
        _put(server.store, _pod("web", 4))
        for event in events:
            server.store.put(EVENTS, event)
        fleet, (found,) = await _read(tmp_path, server.url)

    assert found.bounds.probe_kills == Bounds(least, 4)
    assert not fleet.holes


async def test_the_kubelet_knows_a_static_pod_by_its_own_uid(tmp_path: Path) -> None:
    text = _started(_BEFORE) + _counted("hash", 0, 2)
    annotations = {"kubernetes.io/config.hash": "hash"}

    _, (found,) = await _fleet(tmp_path, text, _pod("web", 0, annotations=annotations))

    assert found.bounds.probe_kills == Bounds(0, 0)
    assert found.bounds.is_exact


async def test_containers_that_are_well_are_only_counted(tmp_path: Path) -> None:
    text = _started(_BEFORE) + _counted("uid-web", 12, 0)

    fleet, containers = await _fleet(tmp_path, text, _pod("web", 0))

    assert (fleet.containers, containers) == (1, [])


async def test_pods_are_read_in_chunks(tmp_path: Path) -> None:
    pods = [_pod(f"web-{number}", 1) for number in range(CHUNK + 1)]

    fleet, containers = await _fleet(tmp_path, "", *pods)

    assert fleet.containers == CHUNK + 1
    assert len({each.stored.name.pod for each in containers}) == CHUNK + 1


# -- the command


def _one_node_refuses(text: str) -> Callable[..., Any]:
    async def metrics(_request: Any, info: Any, _node: Any) -> HttpResponse:
        if info.name != "node1":
            raise ApiFailure(403, "Forbidden", "no proxy for you")
        return HttpResponse(200, body=text.encode())

    return metrics


@pytest.mark.parametrize(
    ("more", "status"),
    [pytest.param((), 0, id="as it is"), pytest.param(("--strict",), 1, id="strict")],
)
async def test_a_node_that_refuses_is_named_and_the_rest_is_answered(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: tuple[str, ...],
    status: int,
) -> None:
    pods = [_pod("a", 2), _pod("b", 3, node="node2"), _pod("c", 3, node="node3")]
    metrics = _one_node_refuses(_started(_BEFORE) + _counted("uid-a", 0, 7))
    async with running_server(connect={"nodes/proxy": metrics}) as server:
        _put(server.store, *pods)
        config = str(write_kubeconfig(tmp_path / "config", server.url))
        line = ["fleet", "--kubeconfig", config, "-o", "json", *more]
        assert await asyncio.to_thread(run, line) == status

    out, err = capsys.readouterr()
    kills = {each["pod"]: each["probe_kills"] for each in json.loads(out)}
    assert kills == {"a": [2, 2], "b": [0, 3], "c": [0, 3]}
    assert "no counters of nodes node2, node3: not allowed to get nodes/proxy" in err
    assert "near misses and when it was cannot be told" in err


async def test_hostile_names_of_a_cluster_stay_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "<script>\x1b[2J"
    metrics = _one_node_refuses("")
    async with running_server(connect={"nodes/proxy": metrics}) as server:
        _put(server.store, _pod(name, 2, node=name))
        config = str(write_kubeconfig(tmp_path / "config", server.url))
        for form in ("wide", "html"):
            line = ["fleet", "--kubeconfig", config, "-o", form]
            assert await asyncio.to_thread(run, line) == 0

            out, err = capsys.readouterr()
            assert "script" in out
            assert "\x1b" not in out + err
            assert "<script" not in out or form == "wide"


def test_a_cluster_has_no_past(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--since", "7d"], ["-f", "pod.yaml"], ["--explain-queries"]):
        assert run(["fleet", *option]) == 2
        assert "is for a store: --prometheus auto" in capsys.readouterr().err


def test_without_a_cluster_a_store_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/absent")

    assert run(["fleet"]) == 3
    assert "--prometheus URL asks a store instead" in capsys.readouterr().err
