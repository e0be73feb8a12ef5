"""Mutated objects of an API server: what cannot be read is named and left aside.

Each field of what a server sends becomes each other type of JSON, numbers out of range,
odd texts, or is missing, on its way to a node, a watch and an attached pod. A sample of
the mutations is tried in each run, many more by `PROBETUI_MUTATIONS` or the profile
`nightly`.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import httpx2
import pytest

from probetui.cluster.attach.containers import ClusterContainers
from probetui.cluster.attach.reach import PodReach, ReachMode
from probetui.cluster.attach.removal import PodRemoval, RemovalMode
from probetui.cluster.client import ApiClient
from probetui.cluster.errors import ClusterError
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.observe.kubelet_counters import (
    CountersUnavailableError,
    KubeletCounters,
    read_node,
)
from probetui.cluster.observe.observation import ClusterObservation
from probetui.cluster.selection import selector_of
from probetui.errors import NothingToDoError, UsageError
from probetui.kubelet_rules import rules_for_kubelet
from tests.builders import a_container, a_pod
from tests.cluster.api_server.resources import CONFIG_MAPS, NODES, PODS
from tests.cluster.node.bench import Cluster, NodeBench, ServerTransport, running
from tests.cluster.recorded import recorded
from tests.fakes import FakeClock
from tests.hostile.mutations import HOSTILE_VALUES, amount

Path = tuple[str | int, ...]
Mutate = Callable[[dict[str, Any]], dict[str, Any]]
SHORT = 60
MISSING = object()
PLAIN: tuple[Any, ...] = (
    MISSING, None, True, "", "x", 0, -1, 10**30, 1.5, [], [None], {}, {"a": [1]},
)  # fmt: skip
EVERYTHING: tuple[Any, ...] = (
    *PLAIN,
    *(value for value in HOSTILE_VALUES if value not in ("\udc80\udcff", "\ud800")),
)
"""Half a surrogate pair is no JSON: the client refuses the answer as a whole."""

LOOPBACK_ONLY = ("x",)
"""As the address of a kubelet, a name that this machine would look up elsewhere."""

NODE_OBJECT: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "demo", "uid": "u"},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.36.2"},
    },
}


def paths_of(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value in a JSON value."""
    items: Iterator[tuple[str | int, Any]] = iter(())
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    for key, member in items:
        yield (*path, key)
        yield from paths_of(member, (*path, key))


def mutated(
    found: dict[str, Any], path: Path, value: Any, name: str = ""
) -> dict[str, Any]:
    """Return an object with another value at a path, if it has the path.

    With a name, only that of this name.
    """
    if name and found["metadata"]["name"] != name:
        return found
    changed = copy.deepcopy(found)
    owner: Any = changed
    with suppress(LookupError, TypeError):
        for key in path[:-1]:
            owner = owner[key]
        if value is MISSING:
            del owner[path[-1]]
        else:
            owner[path[-1]] = value
    return changed


def mutations_of(shape: dict[str, Any], number: int) -> list[tuple[Path, Any]]:
    """Return some mutations of an object, the same in each run.

    The types of its upper fields come first, for it is these that everybody reads.
    """
    paths = sorted(paths_of(shape), key=len)
    plain = [(path, value) for path in paths if len(path) < 3 for value in PLAIN]
    every = [(path, value) for path in paths for value in EVERYTHING]
    chance = random.Random(1)
    first = chance.sample(plain, min(number // 2, len(plain)))
    return [*first, *chance.sample(every, min(number - len(first), len(every)))]


class MutatingTransport(ServerTransport):
    """Mutates the objects of one kind in what the server answers."""

    plural = ""
    mutate: Mutate | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        is_meant = f"/{self.plural}" in request.url.path
        if not is_meant or response.is_error:
            return response
        if "watch=" not in request.url.query.decode():
            found = json.loads(await response.aread())
            body = json.dumps(self._changed(found)).encode()
            return httpx2.Response(response.status_code, stream=httpx2.ByteStream(body))
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        stream = _Lines(response.stream, self._changed)
        return httpx2.Response(response.status_code, stream=stream)

    def _changed(self, found: dict[str, Any]) -> dict[str, Any]:
        if self.mutate is None:
            return found
        if "items" in found:
            return {**found, "items": [self.mutate(item) for item in found["items"]]}
        return self.mutate(found)


class _Lines(httpx2.AsyncByteStream):
    def __init__(
        self, stream: httpx2.AsyncByteStream, change: Callable[[Any], Any]
    ) -> None:
        self._stream = stream
        self._change = change

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            for line in chunk.splitlines():
                event = json.loads(line)
                if event["type"] != "BOOKMARK":
                    event["object"] = self._change(event["object"])
                yield json.dumps(event).encode() + b"\n"


class MutatedCluster(Cluster):
    """A cluster whose answers are mutated."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.transport: MutatingTransport = MutatingTransport(self.api)

    def touch(self, mark: str, name: str = "web") -> None:
        """Change an annotation of a pod, so that its watch has news."""
        pod = self.pod(name)
        metadata = {**pod["metadata"], "annotations": {"mark": mark}}
        self.store.update(PODS, "default", name, {**pod, "metadata": metadata})


def describe(path: Path, value: Any) -> str:
    return f"{'.'.join(map(str, path))} = {'missing' if value is MISSING else value!r}"


SETTINGS = {"metadata": {"name": "settings"}, "data": {"A": "1"}}
WITH_SETTINGS = {"envFrom": [{"configMapRef": {"name": "settings"}}]}
PERIODS = {"Pod": 0.5, "Node": 10, "Lease": 10, "ConfigMap": 60}
"""Seconds after which a node has read an object of a kind again."""


def access() -> ClusterAccess:
    return ClusterAccess(
        "tests", "default", ApiServerInfo("http://api.test"), UserCredentials()
    )


@pytest.mark.parametrize("kind", PERIODS)
async def test_a_node_goes_on_whatever_an_object_is(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    cluster = MutatedCluster(clock)
    bench = NodeBench(cluster, clock)
    cluster.store.create(CONFIG_MAPS, "default", SETTINGS)
    cluster.create_pod(app=WITH_SETTINGS)
    cluster.create_pod("kept", app={"name": "kept"})
    async with running(bench, monkeypatch) as agent:
        await bench.pass_time(3)
        shapes = {
            "Pod": cluster.pod(),
            "Node": cluster.node(),
            "Lease": cluster.lease(),
            "ConfigMap": cluster.store.find(CONFIG_MAPS, "default", "settings"),
        }
        cluster.transport.plural = f"{kind.lower()}s"
        number = amount(SHORT if kind == "Pod" else SHORT // 6)
        for path, value in mutations_of(shapes[kind], number):
            cluster.transport.mutate = partial(
                mutated, path=path, value=value, name=shapes[kind]["metadata"]["name"]
            )
            cluster.touch(describe(path, value))
            await bench.pass_time(PERIODS[kind])
            assert not agent.done(), f"{describe(path, value)}: {agent.exception()!r}"
            assert bench.world.container("kept").runs(), describe(path, value)

        cluster.transport.mutate = None
        cluster.create_pod("late", app={"name": "late"})
        await bench.pass_time(40)
        assert bench.world.container("late").runs()
        assert cluster.pod("late")["status"]["phase"] == "Running"
    assert [text for text in bench.messages if "cannot be read" in text]


async def test_a_pod_of_a_node_that_becomes_unreadable_is_named_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    cluster = MutatedCluster(clock)
    bench = NodeBench(cluster, clock)
    cluster.create_pod()
    async with running(bench, monkeypatch):
        await bench.pass_time(3)
        cluster.transport.plural = "pods"
        cluster.transport.mutate = partial(
            mutated, path=("spec", "containers"), value=5, name="web"
        )
        cluster.touch("mark")
        await bench.pass_time(5)
        assert bench.world.container("app").runs()
        cluster.transport.disconnect()
        await bench.pass_time(1)
        cluster.transport.restore()
        await bench.pass_time(40)
        assert bench.world.container("app").runs()
    (text,) = [text for text in bench.messages if "cannot be read" in text]
    assert text.startswith("Pod default/web of the API server cannot be read: ")
    assert "$.spec.containers" in text


@pytest.mark.parametrize("name", ["pods.watch", "events.watch"])
def test_a_watch_goes_on_whatever_a_pod_or_an_event_is(name: str) -> None:
    clock = FakeClock()
    shape = max(
        (line["event"]["object"] for line in recorded(name) if "event" in line),
        key=lambda found: len(json.dumps(found)),
    )
    observation = ClusterObservation(clock.now())
    take = observation.set_pod if name == "pods.watch" else observation.record_event
    for path, value in mutations_of(shape, amount(10 * SHORT)):
        take(mutated(shape, path, value), clock.now())
        observation.check(clock.now())
        observation.snapshot(clock.now())


async def test_a_watch_reads_whatever_a_node_is() -> None:
    clock = FakeClock()
    cluster = MutatedCluster(clock)
    shape = {
        **NODE_OBJECT,
        "status": {
            **NODE_OBJECT["status"],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
        },
    }
    cluster.store.create(NODES, "", shape)
    name = shape["metadata"]["name"]
    cluster.transport.plural = "nodes"
    async with (
        ApiClient(access(), clock, transport=cluster.transport) as client,
        KubeletCounters(client, verifies=False) as counters,
    ):
        for path, value in mutations_of(shape, amount(SHORT)):
            if value in LOOPBACK_ONLY:
                continue
            cluster.transport.mutate = partial(
                mutated, path=path, value=value, name=name
            )
            with suppress(ClusterError):
                rules_for_kubelet((await read_node(client, name)).version)
            with pytest.raises(ClusterError):
                await counters.fetch(name)


@pytest.mark.parametrize(
    ("address", "port"),
    [
        ("127.0.0.1", 0),
        ("127.0.0.1", 65536),
        ("127.0.0.1", -1),
        ("127.0.0.1/x?", 10250),
        ("user@127.0.0.1", 10250),
        ("fe80::1%lo", 10250),
        ("[::1]", 10250),
        ("a b", 10250),
        ("\x1b]0;x\x07", 10250),
        ("é", 10250),
    ],
)
async def test_a_kubelet_at_an_odd_address_is_named_and_not_asked(
    address: str, port: int
) -> None:
    clock = FakeClock()
    cluster = MutatedCluster(clock)
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    cluster.store.create(NODES, "", {"metadata": {"name": "n"}, "status": status})
    async with (
        ApiClient(access(), clock, transport=cluster.transport) as client,
        KubeletCounters(client, verifies=False) as counters,
    ):
        with pytest.raises(CountersUnavailableError, match=r"node n: .* is no address"):
            await counters.fetch("n")


async def test_an_attached_pod_is_followed_whatever_its_object_is() -> None:
    clock = FakeClock()
    cluster = MutatedCluster(clock)
    cluster.create_pod()
    cluster.transport.plural = "pods"
    messages: list[str] = []
    client = await ApiClient(access(), clock, transport=cluster.transport).__aenter__()
    containers = ClusterContainers(
        client,
        a_pod(a_container("app"), name="web"),
        PodReach(ReachMode.DIRECT, (), messages.append),
        PodRemoval(client, RemovalMode.EVICT),
        ServerContact(clock, messages.append),
        messages.append,
    )

    async def ids() -> list[str]:
        return [str(found.container_id) for found in await containers.list()]

    def run(number: int) -> None:
        status = recorded_status(number)
        pod = cluster.pod()
        cluster.store.update(
            PODS, "default", "web", {**pod, "status": status}, "status"
        )

    run(1)
    await containers.open()
    try:
        for number, (path, value) in enumerate(
            mutations_of(cluster.pod(), amount(SHORT)), start=2
        ):
            cluster.transport.mutate = partial(
                mutated, path=path, value=value, name="web"
            )
            cluster.touch(describe(path, value))
            await clock.settle()
            await ids()
            cluster.transport.mutate = None
            run(number)
            await clock.settle()
            assert await ids() == [f"containerd://{number}"], describe(path, value)
    finally:
        await containers.close()
    assert [text for text in messages if "cannot be read" in text]


def recorded_status(number: int) -> dict[str, Any]:
    """Return the status of a pod whose container's n-th instance runs."""
    return {
        "phase": "Running",
        "podIP": "127.0.0.1",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {
                "name": "app",
                "ready": True,
                "restartCount": number - 1,
                "image": "busybox:1.36",
                "imageID": "",
                "containerID": f"containerd://{number}",
                "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
            }
        ],
    }


def test_the_selector_of_an_object_is_read_or_refused() -> None:
    expressions = [{"key": "a", "operator": "In", "values": ["b"]}]
    shape = {
        "spec": {
            "selector": {"matchLabels": {"a": "b"}, "matchExpressions": expressions}
        }
    }
    for path, value in mutations_of(shape, amount(10 * SHORT)):
        with suppress(UsageError, NothingToDoError):
            selector_of(mutated(shape, path, value), "deployments/web")
