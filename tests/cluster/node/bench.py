"""A node and its API server in one process, on one fake clock, without sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.agent import NodeAgent
from probetui.cluster.node.api_pods import ReadPod
from probetui.cluster.serving.http_server import HttpRequest, HttpResponse, HttpStream
from probetui.drive import realtime
from probetui.drive.executor import Executor
from probetui.drive.realtime import RealtimeSession
from probetui.engine.engine import Engine
from probetui.engine.inputs import SetObjects, SetPods
from probetui.k8s.pod import Pod
from probetui.k8s.pod_source import API_SOURCE, FILE_SOURCE
from probetui.kubelet.config import KubeletConfig
from probetui.kubelet.nodestatus.node_status import NodeFacts
from probetui.kubelet_rules import rules_of
from tests.builders import START
from tests.cluster.api_server.resources import EVENTS, LEASES, NODES, PODS
from tests.cluster.api_server.server import (
    Authorize,
    FaultyServer,
    ServerFault,
    allow_all,
)
from tests.cluster.api_server.store import WritableStore
from tests.cluster.transports import Pieces
from tests.drive.test_realtime import NoHooks
from tests.fakes import FakeClock, FakeEngine, FakeProber, FakeRuntime

NODE = "demo"
FACTS = NodeFacts(
    NODE,
    NODE,
    ("192.0.2.10",),
    {"cpu": "2", "pods": "110"},
    {"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.36.0"},
)


class ServerTransport(httpx2.AsyncBaseTransport):
    """Passes requests to an API server; requests and watches fail while disconnected.

    `writes` has the method, path and body of each request that changes something.
    With `loses_deletions` a server answers that it deletes a pod, and does not.
    """

    def __init__(self, api: FaultyServer) -> None:
        self._api = api
        self.loses_deletions = False
        self._away = asyncio.Event()
        self.writes: list[tuple[str, str, Any]] = []

    def disconnect(self) -> None:
        self._away.set()

    def restore(self) -> None:
        self._away = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._away.is_set():
            raise httpx2.ConnectError("connection refused")
        body = await request.aread()
        path = request.url.path
        if request.method != "GET":
            decoded = json.loads(body) if body else None
            self.writes.append((request.method, path, decoded))
        if request.method == "DELETE" and "/pods/" in path and self.loses_deletions:
            return httpx2.Response(200, stream=Pieces(b"{}"))
        query = request.url.query.decode()
        answer = await self._api.handle(
            HttpRequest(
                request.method,
                path,
                tuple(parse_qsl(query)),
                {key.lower(): value for key, value in request.headers.items()},
                body,
            )
        )
        if isinstance(answer, HttpResponse):
            return httpx2.Response(
                answer.status,
                stream=Pieces(answer.body),
                headers=dict(answer.headers),
            )
        assert isinstance(answer, HttpStream)
        stream = _Chunks(answer.chunks, self._away)
        return httpx2.Response(answer.status, stream=stream)


class _Chunks(httpx2.AsyncByteStream):
    def __init__(self, chunks: AsyncIterator[bytes], away: asyncio.Event) -> None:
        self._chunks = chunks
        self._away = away

    async def __aiter__(self) -> AsyncIterator[bytes]:
        away = asyncio.ensure_future(self._away.wait())
        try:
            while True:
                chunk: asyncio.Future[bytes] = asyncio.ensure_future(
                    _next(self._chunks)
                )
                both: set[asyncio.Future[Any]] = {chunk, away}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if away.done():
                    chunk.cancel()
                    raise httpx2.ReadError("connection reset")
                try:
                    yield chunk.result()
                except StopAsyncIteration:
                    return
        finally:
            away.cancel()


async def _next(chunks: AsyncIterator[bytes]) -> bytes:
    return await anext(chunks)


class Cluster:
    """An API server with its objects."""

    def __init__(self, clock: FakeClock, authorize: Authorize = allow_all) -> None:
        self.store = WritableStore(clock.now)
        self.api = FaultyServer(self.store, authorize=authorize)
        self.transport = ServerTransport(self.api)

    def fail(self, decide: Callable[[str, str], ApiFailure | None]) -> None:
        """Refuse requests by their method and path."""

        def fault(_info: object, request: HttpRequest) -> ServerFault | None:
            failure = decide(request.method, request.path)
            return None if failure is None else ServerFault(failure=failure)

        self.api.fault = fault

    def create_pod(
        self,
        name: str = "web",
        *,
        daemon_set: str = "",
        finalizers: Sequence[str] = (),
        **spec: Any,
    ) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": daemon_set}
        owners = [{**owner, "uid": "1", "controller": True}] if daemon_set else []
        container = {"name": "app", "image": "busybox:1.36", **spec.pop("app", {})}
        self.store.create(
            PODS,
            "default",
            {
                "metadata": {
                    "name": name,
                    "ownerReferences": owners,
                    "finalizers": [*finalizers],
                },
                "spec": {
                    "nodeName": NODE,
                    "terminationGracePeriodSeconds": 3,
                    "containers": [container],
                    **spec,
                },
            },
        )

    def pod(self, name: str = "web") -> Any:
        return self.store.find(PODS, "default", name)

    def node(self) -> Any:
        return self.store.find(NODES, "", NODE)

    def lease(self) -> Any:
        return self.store.find(LEASES, "kube-node-lease", NODE)

    def events(self, name: str = "web") -> list[tuple[str, int]]:
        return [
            (event["reason"], event["count"])
            for event in self.store.list(EVENTS, "default").items
            if event["involvedObject"]["name"] == name
        ]

    def writes(self, method: str, ending: str) -> list[Any]:
        """Return the bodies of the writes to paths with an ending."""
        return [
            body
            for found, path, body in self.transport.writes
            if found == method and path.endswith(ending)
        ]


class NodeBench:
    """A session that is a node, with a fake runtime."""

    def __init__(self, cluster: Cluster, clock: FakeClock) -> None:
        self.clock = clock
        self.cluster = cluster
        self.world = FakeEngine(clock)
        self.prober = FakeProber(clock)
        self.messages: list[str] = []
        self.static: tuple[Pod, ...] = ()
        self._api_pods: tuple[Pod, ...] = ()
        rules = rules_of("1.36")
        runtime = FakeRuntime(self.world)
        self.session = RealtimeSession(
            Engine(
                KubeletConfig(
                    version=rules.version,
                    sources=(API_SOURCE,),
                    seed=1,
                    has_api_server=True,
                ),
                START,
            ),
            Executor(runtime, self.prober, NoHooks(), clock),
            runtime,
            clock,
            runtime_name="fake 1.0",
        )
        access = ClusterAccess(
            "tests", "default", ApiServerInfo("http://api.test"), UserCredentials()
        )
        self.client = ApiClient(access, clock, transport=cluster.transport)
        self.agent = NodeAgent(
            self.client, clock, FACTS, rules, self._run_pods, self.messages.append
        )

    async def _run_pods(self, read: Sequence[ReadPod]) -> None:
        loaded = [one.loaded for one in read if one.loaded is not None]
        objects = tuple(found.value for one in read for found in one.objects)
        self._api_pods = tuple(one.pod for one in loaded)
        self.session.send(SetObjects(objects))
        self.session.send(
            SetPods(
                self._api_pods,
                conditions={one.pod.uid: one.conditions for one in loaded},
            )
        )
        self._notify_agent()

    def run_static(self, *pods: Pod) -> None:
        self.static = pods
        self.session.send(SetPods(pods, source=FILE_SOURCE))
        self._notify_agent()

    def _notify_agent(self) -> None:
        sources = {pod.uid: FILE_SOURCE for pod in self.static}
        pods = (*self._api_pods, *self.static)
        current = {pod.uid: pod for pod in pods}
        if current != getattr(self, "_reported_pods", None):
            self._reported_pods = current
            self.agent.on_pods(tuple(current.values()), sources)

    async def settle(self) -> None:
        """Let tasks run that only wait for the other side."""
        for _ in range(3):
            await asyncio.sleep(0.001)  # the loop's timers have a resolution
            await self.clock.settle()

    async def pass_time(self, seconds: float) -> None:
        """Pass time in steps: notifications of a session take a turn of the loop."""
        passed = 0.0
        while passed < seconds:
            step = min(0.5, seconds - passed)
            await self.clock.advance(timedelta(seconds=step))
            await self.settle()
            passed += step


@contextlib.asynccontextmanager
async def running(
    bench: NodeBench, monkeypatch: pytest.MonkeyPatch, *, adopts: bool = False
) -> AsyncIterator[asyncio.Task[None]]:
    """In the block, the node is registered, and it and its session run."""
    monkeypatch.setattr(realtime, "NOTICE_PERIOD_SECONDS", 0)
    async with bench.client:
        await bench.agent.register(adopts=adopts)
        bench.agent.attach(bench.session)
        session = asyncio.ensure_future(bench.session.run())
        agent = asyncio.ensure_future(bench.agent.run())
        try:
            await bench.settle()
            yield agent
        finally:
            agent.cancel()
            bench.session.stop()
            await asyncio.gather(agent, session, return_exceptions=True)
