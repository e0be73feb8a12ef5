"""The API server over HTTP: what a client sees of objects, lists and watches."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.tables import table
from probetui.drive.clocks import SystemClock
from tests.cluster.api_server.patch import PATCH_TYPES
from tests.cluster.api_server.resources import NODES
from tests.cluster.api_server.resources import PODS as PODS_RESOURCE
from tests.cluster.api_server.server import ServerFault
from tests.cluster.api_server.store import WritableStore
from tests.cluster.kubelet_proxy import KubeletProxy
from tests.cluster.pod_streams import exec_connection
from tests.cluster.servers import RunningServer, read_only_server, running_server

PODS = "/api/v1/namespaces/default/pods"
STRATEGIC = "application/strategic-merge-patch+json"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "app", "image": "busybox:1.36"}]
    return {
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"nodeName": "node1", "containers": containers, **spec},
    }


@pytest.fixture
async def server() -> AsyncIterator[RunningServer]:
    async with running_server() as running:
        yield running


@pytest.fixture
async def client(server: RunningServer) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=server.url) as found:
        yield found


async def patch_status(client: httpx2.AsyncClient, name: str, body: Any) -> Any:
    return await client.patch(
        f"{PODS}/{name}/status",
        content=json.dumps(body),
        headers={"Content-Type": STRATEGIC},
    )


async def watched(client: httpx2.AsyncClient, count: int, **params: Any) -> list[Any]:
    """Return the first lines of a watch of pods, or all until it ends."""
    lines = []
    async with client.stream("GET", PODS, params={"watch": 1, **params}) as answer:
        async for line in answer.aiter_lines():
            lines.append(json.loads(line))
            if len(lines) == count:
                break
    return lines


async def test_a_created_pod_has_defaults_and_is_pending(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.post(PODS, json=pod("a"))
    created = answer.json()
    assert answer.status_code == 201
    assert created["spec"]["restartPolicy"] == "Always"
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        pytest.param(pod("a"), 409, "AlreadyExists", id="the-same-name"),
        pytest.param(pod("A"), 422, "Invalid", id="no-dns-label"),
        pytest.param({"kind": "Node"}, 400, "BadRequest", id="another-kind"),
        pytest.param(pod("b", containers=[{}]), 400, "BadRequest", id="no-name"),
        pytest.param({"metadata": {"name": "b"}}, 400, "BadRequest", id="no-spec"),
        pytest.param({"metadata": []}, 400, "BadRequest", id="no-metadata"),
    ],
)
async def test_what_cannot_be_created_is_refused(
    client: httpx2.AsyncClient, body: Any, code: int, reason: str
) -> None:
    await client.post(PODS, json=pod("a"))
    answer = await client.post(PODS, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (code, reason)


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_body_with_an_unknown_media_type_is_refused(
    client: httpx2.AsyncClient, method: str
) -> None:
    await client.post(PODS, json=pod("a"))
    path = PODS if method == "POST" else f"{PODS}/a"
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    answer = await client.request(method, path, content=b"k8s\0", headers=headers)
    status = answer.json()
    assert (answer.status_code, status["reason"]) == (415, "UnsupportedMediaType")
    assert status["message"] == (
        "the body of the request was in an unknown format - accepted media types "
        "include: application/json"
    )


async def test_a_patch_of_another_uid_or_version_is_refused(
    client: httpx2.AsyncClient,
) -> None:
    await client.post(PODS, json=pod("a"))
    other = await patch_status(client, "a", {"metadata": {"uid": "x"}})
    stale = await patch_status(client, "a", {"metadata": {"resourceVersion": "2"}})
    assert (other.status_code, other.json()["reason"]) == (422, "Invalid")
    assert (stale.status_code, stale.json()["reason"]) == (409, "Conflict")


async def test_a_patch_that_changes_nothing_makes_no_version(
    client: httpx2.AsyncClient,
) -> None:
    created = (await client.post(PODS, json=pod("a"))).json()
    uid = created["metadata"]["uid"]
    answer = await patch_status(client, "a", {"metadata": {"uid": uid}})
    assert answer.json() == created


async def test_status_and_spec_are_written_apart(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=pod("a"))
    change = {
        "spec": {"containers": [{"name": "app", "image": "other"}]},
        "status": {"phase": "Running"},
    }
    headers = {"Content-Type": STRATEGIC}
    path, body = f"{PODS}/a", json.dumps(change)
    spec = (await client.patch(path, content=body, headers=headers)).json()
    status = (await patch_status(client, "a", change)).json()
    assert spec["spec"]["containers"][0]["image"] == "other"
    assert spec["metadata"]["generation"] == 2
    assert spec["status"]["phase"] == "Pending"
    assert status["status"]["phase"] == "Running"
    assert status["metadata"]["generation"] == 2


async def test_a_command_of_a_pod_cannot_be_changed(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=pod("a"))
    change = {"spec": {"containers": [{"name": "app", "command": ["x"]}]}}
    answer = await client.patch(
        f"{PODS}/a", content=json.dumps(change), headers={"Content-Type": STRATEGIC}
    )
    assert answer.status_code == 422
    assert "pod updates may not change fields" in answer.json()["message"]


async def test_a_pod_on_a_node_ends_in_two_steps(client: httpx2.AsyncClient) -> None:
    created = (await client.post(PODS, json=pod("a"))).json()
    version = created["metadata"]["resourceVersion"]
    first = (await client.delete(f"{PODS}/a")).json()
    again = (await client.delete(f"{PODS}/a")).json()
    assert first["metadata"]["deletionGracePeriodSeconds"] == 30
    assert first["metadata"]["generation"] == 2
    assert again == first
    await client.delete(f"{PODS}/a", params={"gracePeriodSeconds": 0})
    lines = await watched(client, 3, resourceVersion=version)
    assert [line["type"] for line in lines] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert (await client.get(f"{PODS}/a")).status_code == 404


async def test_a_pod_of_another_uid_is_not_deleted(client: httpx2.AsyncClient) -> None:
    await client.post(PODS, json=pod("a"))
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": "x"}}
    answer = await client.request("DELETE", f"{PODS}/a", json=options)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")


async def test_pages_show_what_was_there_at_the_first(
    client: httpx2.AsyncClient,
) -> None:
    for name in "abcde":
        await client.post(PODS, json=pod(name))
    page = (await client.get(PODS, params={"limit": 2})).json()
    await client.delete(f"{PODS}/c", params={"gracePeriodSeconds": 0})
    names = [item["metadata"]["name"] for item in page["items"]]
    assert page["metadata"]["remainingItemCount"] == 3
    while token := page["metadata"].get("continue"):
        params = {"limit": 2, "continue": token}
        page = (await client.get(PODS, params=params)).json()
        names += [item["metadata"]["name"] for item in page["items"]]
    assert names == list("abcde")


async def test_a_continue_token_that_is_nested_too_deeply_is_refused(
    client: httpx2.AsyncClient,
) -> None:
    token = base64.urlsafe_b64encode(b'{"x":' + b"[" * 5_000).decode()
    answer = await client.get(PODS, params={"limit": 2, "continue": token})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")


async def test_a_page_after_compaction_is_expired(
    server: RunningServer, client: httpx2.AsyncClient
) -> None:
    for name in "abc":
        await client.post(PODS, json=pod(name))
    page = (await client.get(PODS, params={"limit": 2})).json()
    await client.post(PODS, json=pod("d"))
    server.store.compact()
    params = {"limit": 2, "continue": page["metadata"]["continue"]}
    answer = await client.get(PODS, params=params)
    assert (answer.status_code, answer.json()["reason"]) == (410, "Expired")


async def test_a_watch_reports_later_changes(
    client: httpx2.AsyncClient,
) -> None:
    await client.post(PODS, json=pod("a"))
    watching = asyncio.create_task(watched(client, 2, resourceVersion=0))
    await client.post(PODS, json=pod("b"))
    lines = await watching
    events = [(line["type"], line["object"]["metadata"]["name"]) for line in lines]
    assert events == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_of_an_old_version_ends_with_an_error_line(
    server: RunningServer, client: httpx2.AsyncClient
) -> None:
    await client.post(PODS, json=pod("a"))
    server.store.compact()
    (line,) = await watched(client, 2, resourceVersion=1)
    assert line["type"] == "ERROR"
    assert (line["object"]["code"], line["object"]["reason"]) == (410, "Expired")


async def test_the_initial_events_end_with_a_bookmark(
    client: httpx2.AsyncClient,
) -> None:
    await client.post(PODS, json=pod("a"))
    lines = await watched(
        client,
        2,
        allowWatchBookmarks="true",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
    )
    assert [line["type"] for line in lines] == ["ADDED", "BOOKMARK"]
    annotations = lines[1]["object"]["metadata"]["annotations"]
    assert annotations == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_ends_after_its_timeout_with_a_bookmark_before(
    client: httpx2.AsyncClient,
) -> None:
    lines = await watched(
        client, 9, allowWatchBookmarks="true", resourceVersion=1, timeoutSeconds=1
    )
    assert [line["type"] for line in lines] == ["BOOKMARK"]


async def test_a_watch_with_a_selector_reports_objects_that_enter_and_leave(
    client: httpx2.AsyncClient,
) -> None:
    for name in "ab":
        await client.post(PODS, json=pod(name))
    selected = {"fieldSelector": "status.phase=Running", "resourceVersion": 1}
    await patch_status(client, "b", {"status": {"phase": "Running"}})
    await patch_status(client, "b", {"status": {"message": "x"}})
    await patch_status(client, "b", {"status": {"phase": "Failed"}})
    lines = await watched(client, 3, **selected)
    assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        pytest.param({"labelSelector": "app in (a,b)"}, ["a", "b"], id="labels"),
        pytest.param({"fieldSelector": "metadata.name!=b"}, ["a", "c"], id="not"),
        pytest.param({"fieldSelector": "spec.nodeName=x"}, [], id="node"),
    ],
)
async def test_selectors_choose_pods(
    client: httpx2.AsyncClient, params: dict[str, str], names: list[str]
) -> None:
    for name in "abc":
        await client.post(PODS, json=pod(name))
    listed = (await client.get("/api/v1/pods", params=params)).json()
    assert [item["metadata"]["name"] for item in listed["items"]] == names


async def test_an_event_is_the_same_in_both_groups(client: httpx2.AsyncClient) -> None:
    about = {"kind": "Pod", "name": "a", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": about, "message": "hello"}
    path = "namespaces/default/events"
    await client.post(f"/api/v1/{path}", json=event)
    (found,) = (await client.get(f"/apis/events.k8s.io/v1/{path}")).json()["items"]
    assert (found["note"], found["regarding"]) == ("hello", about)


async def test_a_user_is_authenticated_by_the_token() -> None:
    async with (
        running_server(tokens={"secret": "alice"}) as server,
        httpx2.AsyncClient(base_url=server.url) as client,
    ):
        codes = [
            (await client.get(PODS, headers=headers)).status_code
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                {"Authorization": "Bearer secret"},
            )
        ]
    assert codes == [403, 401, 200]


async def test_a_read_only_server_refuses_writes_with_a_reason() -> None:
    headers = {"Authorization": "Bearer secret"}
    async with (
        read_only_server("nothing can be changed here", token="secret") as server,
        httpx2.AsyncClient(base_url=server.url, headers=headers) as client,
    ):
        answer = await client.post(PODS, json=pod("a"))
        listed = await client.get(PODS)
    assert (answer.status_code, answer.json()["message"]) == (
        405,
        "nothing can be changed here",
    )
    assert listed.status_code == 200


async def test_a_fault_refuses_a_request(
    server: RunningServer, client: httpx2.AsyncClient
) -> None:
    busy = ApiFailure(429, "TooManyRequests", "busy", retry_after=1)
    server.api.fault = lambda info, _: (
        ServerFault(failure=busy) if info.verb == "list" else None
    )
    answer = await client.get(PODS)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert (await client.get("/version")).status_code == 200


@pytest.mark.parametrize("count", [0, 1, 100, 300, 1000])
async def test_a_fault_cuts_an_answer_at_a_byte(
    server: RunningServer, client: httpx2.AsyncClient, count: int
) -> None:
    await client.post(PODS, json=pod("a"))
    server.api.fault = lambda *_: ServerFault(cut_after_bytes=count)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
    writer.write(f"GET {PODS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert len(await reader.read()) == count
    writer.close()


async def test_a_restarted_server_has_its_objects() -> None:
    async with running_server() as first:
        store, port = first.store, first.address.port
        async with httpx2.AsyncClient(base_url=first.url) as client:
            await client.post(PODS, json=pod("a"))
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)
    async with (
        running_server(store, port=port) as second,
        httpx2.AsyncClient(base_url=second.url) as client,
    ):
        assert (await client.get(f"{PODS}/a")).status_code == 200


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "labels", "containers", "name", "phase"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@pytest.mark.sweep
@given(patch=JSON_VALUES, kind=st.sampled_from(sorted(PATCH_TYPES)))
def test_no_patch_is_an_internal_error(patch: Any, kind: str) -> None:
    store = WritableStore(SystemClock().now)
    store.create(PODS_RESOURCE, "default", pod("a"))
    for subresource in ("", "status"):
        with suppress(ApiFailure):
            store.patch(PODS_RESOURCE, "default", "a", kind, patch, subresource)
    items = store.list(PODS_RESOURCE).items
    assert table(PODS_RESOURCE, items, store.now(), metadata={})["rows"]


NOISE = [
    pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="tls"),
    pytest.param(b"GET / HTTP/9.9\r\n\r\n", id="version"),
    pytest.param(b"GET /" + b"a" * 100_000, id="long-head"),
    pytest.param(b"POST /api/v1/pods HTTP/1.1\r\nHost: x\r\n", id="cut-off"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", id="huge"
    ),
    pytest.param(
        b"GET /api/v1/pods?watch=1&timeoutSeconds=y HTTP/1.1\r\nHost: x\r\n\r\n",
        id="numbers",
    ),
    pytest.param(
        b"GET /api/v1/pods?limit=\xc2\xb2 HTTP/1.1\r\nHost: x\r\n\r\n", id="2"
    ),
    pytest.param(b"\0" * 1000, id="nul"),
]


@pytest.mark.parametrize("data", NOISE)
async def test_noise_is_refused_and_nothing_breaks(data: bytes) -> None:
    async with running_server() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
        writer.write(data)
        writer.write_eof()
        answer = await reader.read(100)
        writer.close()
        assert not answer or answer.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize(
    "upgrade",
    [
        pytest.param(
            "Upgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n"
            "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n",
            id="websocket",
        ),
        pytest.param("Upgrade: SPDY/3.1\r\n", id="spdy"),
    ],
)
@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(b"\xff" * 1000, id="ones"),
        pytest.param(b"\x80\x03\x00\x01\x00\x00\x00\x02ab", id="short-frame"),
        pytest.param(b"\x80\x03\x00\x01\x00\x00\x00\x14" + b"a" * 20, id="no-zlib"),
        pytest.param(b"\x82\x81abcd\x00", id="a-frame"),
    ],
)
async def test_noise_on_a_stream_ends_it_and_breaks_nothing(
    upgrade: str, noise: bytes
) -> None:
    class Waits:
        async def run(self, *_: object) -> int:
            await asyncio.Event().wait()
            return 0

    async with running_server(connect=exec_connection(Waits())) as server:
        server.store.create(PODS_RESOURCE, "default", pod("a"))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
        path = f"{PODS}/a/exec?command=x&stdout=1"
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n{upgrade}\r\n"
        writer.write(head.encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 101")
        writer.write(noise)
        writer.write_eof()
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()


async def test_an_error_names_a_kubelet_that_is_unreachable(
    unused_tcp_port: int,
) -> None:
    store = WritableStore(SystemClock().now)
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": unused_tcp_port}},
    }
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "node1"}}
    store.create(NODES, "", {**node, "status": status})
    store.create(PODS_RESOURCE, "default", pod("a"))
    connect = KubeletProxy(store, {}).connections()
    async with (
        running_server(store, connect=connect) as server,
        httpx2.AsyncClient(base_url=server.url) as client,
    ):
        answers = [
            await client.get("/api/v1/nodes/node1/proxy/healthz"),
            await client.get(f"{PODS}/a/log"),
        ]
    for answer in answers:
        assert answer.status_code == 503
        assert f"dial tcp 127.0.0.1:{unused_tcp_port}" in answer.json()["message"]
