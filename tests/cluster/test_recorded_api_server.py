"""Requests to a real API server 1.36.2, repeated with ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import httpx2
import pytest

from probetui.cluster.api_server import api
from probetui.cluster.api_server.pod_connections import log_connection, no_previous_log
from probetui.cluster.api_server.resources import ApiResource
from probetui.cluster.api_server.tables import table
from probetui.cluster.local_api.session_connections import SessionLogs
from probetui.cluster.serving.container_log import LogOptions
from probetui.cluster.serving.remote_command import RemoteCommand, RemoteStreams
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.codec import Json
from probetui.k8s.runtime import LogLine
from probetui.record.masking import Mask
from tests.cluster.api_server.patch import STRATEGIC_MERGE, apply_patch
from tests.cluster.api_server.pod_rules import with_condition_fields
from tests.cluster.api_server.resources import EVENTS, LEASES, PODS
from tests.cluster.pod_streams import exec_connection
from tests.cluster.recorded import recorded
from tests.cluster.servers import RunningServer, running_server


def test_every_patch_of_a_status_has_the_result_of_the_real_server() -> None:
    for patch in recorded("status-patches"):
        pod = {"metadata": {}, "status": patch["before"]}
        patched = with_condition_fields(
            apply_patch(STRATEGIC_MERGE, pod, patch["patch"])
        )
        assert patched["status"] == patch["after"], (patch["t"], patch["name"])


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        pytest.param(PODS, "get-pods-w", id="pods"),
        pytest.param(EVENTS, "get-events", id="events"),
    ],
)
def test_every_row_has_the_cells_that_kubectl_printed(
    resource: ApiResource, name: str
) -> None:
    for row in recorded(name):
        now = datetime.fromisoformat(row["at"])
        rows = table(resource, [row["object"]], now, metadata={})
        assert rows["rows"][0]["cells"][: len(row["cells"])] == row["cells"]


class _NoCommands:
    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        raise AssertionError("it is refused before")


@pytest.mark.parametrize(
    "refusal",
    [pytest.param(found, id=found["name"]) for found in recorded("refusals")[1:]],
)
async def test_what_the_server_refused_is_refused_in_its_words(
    refusal: dict[str, Any],
) -> None:
    connect = {
        **log_connection(SessionLogs(_NoLogs(), Mask()), SystemClock().now),
        **exec_connection(_NoCommands()),
    }
    pod = recorded("refusals")[0]["pod"]
    async with (
        running_server(tokens={"TOKEN": "recorder"}, connect=connect) as server,
        httpx2.AsyncClient(base_url=server.url) as client,
    ):
        server.store.create(PODS, "default", pod)
        headers = dict(refusal["headers"])
        if "anonymous" not in refusal["name"]:
            # Some were sent with a client certificate.
            headers.setdefault("Authorization", "Bearer TOKEN")
        answer = await client.request(
            refusal["method"],
            refusal["target"],
            headers=headers,
            content=refusal["body"],
        )
    ours, theirs = answer.json(), refusal["answer"]
    assert answer.status_code == refusal["code"]
    for status in (ours, theirs):
        status["message"] = _comparable(status["message"])
        for cause in status.get("details", {}).get("causes", ()):
            cause["message"] = _comparable(cause["message"])
    assert ours == theirs


OF_A_KUBELET = "is the kubelet's, and passed on as it is"
LEFT_OUT = {
    "pod-get-protobuf": "JSON alone is spoken",
    "node-restriction-403": "rights of nodes are not looked at",
    "node-get-secret-403": "rights of nodes are not looked at",
    "node-list-all-pods": "rights of nodes are not looked at",
    "exec-websocket-v5-accept-json-406": "who asks for JSON gets the streams, too",
    "exec-spdy-accept-json-406": "who asks for JSON gets the streams, too",
    "log-websocket": "logs come by HTTP alone",
    "node-proxy-metrics-probes": OF_A_KUBELET,
    "node-proxy-healthz": OF_A_KUBELET,
    "node-proxy-pods": OF_A_KUBELET,
    "node-proxy-resource-metrics": OF_A_KUBELET,
    "attach-websocket": OF_A_KUBELET,
}
"""What was recorded and is answered in another way, and why."""

EXCHANGES = [found for found in recorded("http-heads") if found["name"] not in LEFT_OUT]


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RunningServer]:
    """Serve the objects of the recording."""
    monkeypatch.setattr(api, "_TOO_LARGE_SECONDS", 0)
    connect = {
        **log_connection(_SomeLogs(), SystemClock().now),
        **exec_connection(_AnyCommand()),
    }
    async with running_server(tokens={"TOKEN": "me"}, connect=connect) as server:
        for line in recorded("pods.watch"):
            if line.get("event", {}).get("type") == "ADDED":
                server.store.put(PODS, line["event"]["object"])
        metadata = {"namespace": "kube-node-lease", "name": "node1"}
        server.store.put(LEASES, {"kind": "Lease", "metadata": metadata})
        yield server


class _SomeLogs:
    async def log(
        self, pod: Json, container: str, options: LogOptions
    ) -> AsyncIterator[LogLine]:
        if options.previous and pod["metadata"]["name"] == "ticks":
            raise no_previous_log(pod, container)
        return _no_lines()


async def _no_lines() -> AsyncIterator[LogLine]:
    lines: tuple[LogLine, ...] = ()
    for line in lines:
        yield line


class _AnyCommand:
    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        return 3


async def _head(url: str, exchange: Any) -> tuple[str, dict[str, str]]:
    """Return the status and the headers that a request is answered with."""
    headers = dict(exchange["headers"])
    if exchange["name"] != "anonymous-403":
        # Some were sent with a client certificate.
        headers.setdefault("Authorization", "Bearer TOKEN")
    body = exchange["body"].encode()
    lines = [f"{exchange['method']} {exchange['target']} HTTP/1.1", "Host: x"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}"] if body else []
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
    writer.close()
    found = (line.partition(":") for line in head[1:] if line)
    return head[0].partition(" ")[2], {
        name.title(): value.strip() for name, _, value in found
    }


@pytest.mark.parametrize(
    "exchange", [pytest.param(found, id=found["name"]) for found in EXCHANGES]
)
async def test_every_answer_has_the_headers_of_a_real_one(
    cluster: RunningServer, exchange: dict[str, Any]
) -> None:
    status, headers = await _head(cluster.url, exchange)

    expected = dict(exchange["answer_headers"])
    assert status == exchange["status"]
    assert ("Date" in headers) is (not status.startswith("101"))
    assert ("Etag" in headers) is ("Etag" in expected)
    for name in expected.keys() - {"Etag"}:
        assert headers.get(name) == expected[name], name
    assert not headers.keys() - expected.keys() - {
        "Date", "Content-Length", "Transfer-Encoding", "Sec-Websocket-Accept",
    }  # fmt: skip


async def test_unchanged_discovery_is_not_sent_again(
    cluster: RunningServer,
) -> None:
    (exchange,) = [it for it in EXCHANGES if it["name"] == "api-aggregated"]
    async with httpx2.AsyncClient(base_url=cluster.url) as client:
        headers = {**exchange["headers"], "Authorization": "Bearer TOKEN"}
        first = await client.get("/api", headers=headers)
        headers["If-None-Match"] = first.headers["Etag"]
        second = await client.get("/api", headers=headers)
        other = await client.get("/apis", headers=headers)

    assert (first.status_code, second.status_code, second.content) == (200, 304, b"")
    assert other.status_code == 200


def _discovered(json: Json) -> dict[tuple[str, str, str], Json]:
    return {
        (
            group["metadata"].get("name", ""),
            version["version"],
            found["resource"],
        ): found
        for group in json["items"]
        for version in group["versions"]
        for found in version["resources"]
    }


@pytest.mark.parametrize("name", ["api-aggregated", "apis-aggregated"])
async def test_what_is_discovered_is_there_in_a_real_server_as_well(
    cluster: RunningServer, name: str
) -> None:
    (exchange,) = [it for it in EXCHANGES if it["name"] == name]
    async with httpx2.AsyncClient(base_url=cluster.url) as client:
        headers = {**exchange["headers"], "Authorization": "Bearer TOKEN"}
        answer = await client.get(exchange["target"], headers=headers)

    real = _discovered(json.loads(exchange["answer"]))
    for key, found in _discovered(answer.json()).items():
        # Fewer subresources are served; those that are, as they are there.
        below, others = found.pop("subresources", []), real[key].pop("subresources", [])
        assert found == real[key]
        assert [it for it in below if it not in others] == []


async def test_verbose_health_lists_its_checks(cluster: RunningServer) -> None:
    (exchange,) = [it for it in EXCHANGES if it["name"] == "readyz-verbose"]
    async with httpx2.AsyncClient(base_url=cluster.url) as client:
        answer = await client.get(exchange["target"])

    first, *_, last = exchange["answer"].splitlines()
    assert answer.text.splitlines() == [first, last]


async def test_all_namespaces_are_not_deleted_at_once(cluster: RunningServer) -> None:
    async with httpx2.AsyncClient(base_url=cluster.url) as client:
        headers = {"Authorization": "Bearer TOKEN"}
        answer = await client.delete("/api/v1/namespaces", headers=headers)
        names = (await client.get("/api/v1/namespaces", headers=headers)).json()[
            "items"
        ]

    assert (answer.status_code, answer.json()["reason"]) == (405, "MethodNotAllowed")
    assert names


def _comparable(message: str) -> str:
    """Return a message without a parser's words and without the diff of two specs."""
    head, _, _ = message.partition("continue key is not valid: ")
    return head.partition("\n@@")[0]


class _NoLogs:
    def follow_logs(self, *_: object, **__: object) -> Any:
        raise AssertionError("it is refused before")
