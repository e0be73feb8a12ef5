"""A cluster's pod for tests of attach: API server, commands, ports in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from probetui.cluster.attach.containers import ClusterContainers
from probetui.cluster.attach.reach import PodReach, ReachMode
from probetui.cluster.attach.removal import PodRemoval, RemovalMode
from probetui.cluster.client import ApiClient
from probetui.cluster.kubeconfig import ApiServerInfo, ClusterAccess, UserCredentials
from probetui.cluster.node.contact import ServerContact
from probetui.cluster.serving.remote_command import RemoteCommand, RemoteStreams
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.codec import Json, format_time
from tests.builders import a_container, a_pod, a_tcp_probe
from tests.cluster.api_server.resources import EVENTS, PODS
from tests.cluster.pod_streams import exec_connection, port_connection
from tests.cluster.servers import RunningServer, running_server

NOW = SystemClock().now

Run = Callable[[RemoteCommand, RemoteStreams], Any]


class FakeInside:
    """The inside of a pod: its commands, and ports of servers in the tests."""

    def __init__(self) -> None:
        self.run_command: Run | None = None
        self.ports: dict[int, int] = {}
        self.dialled: list[int] = []

    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        del pod
        assert self.run_command is not None
        code: int = await self.run_command(command, streams)
        return code

    async def dial(
        self, pod: Json, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        del pod
        self.dialled.append(port)
        return await asyncio.open_connection("127.0.0.1", self.ports.get(port, 1))


class Bench:
    """A pod `web` with one container `app`, on a server that listens."""

    def __init__(self, server: RunningServer, inside: FakeInside) -> None:
        self.server = server
        self.inside = inside
        self.messages: list[str] = []
        self._is_told = asyncio.Event()
        self.access = ClusterAccess(
            "tests", "default", ApiServerInfo(server.url), UserCredentials()
        )

    def create(self, **probes: Any) -> None:
        container = {"name": "app", "image": "busybox:1.36", **probes}
        self.server.store.create(
            PODS,
            "default",
            {
                "metadata": {"name": "web"},
                "spec": {"nodeName": "node1", "containers": [container]},
            },
        )

    def add_message(self, text: str) -> None:
        """Record a message."""
        self.messages.append(text)
        self._is_told.set()

    async def wait_for_message(self, text: str) -> None:
        """Wait for a message that contains a text."""
        async with asyncio.timeout(10):
            while not any(text in one for one in self.messages):
                self._is_told.clear()
                await self._is_told.wait()

    def delete(self) -> None:
        self.server.store.remove(PODS, "default", "web")

    def set_status(self, **status: Any) -> None:
        pod = self.server.store.get(PODS, "default", "web")
        self.server.store.update(
            PODS, "default", "web", {**pod, "status": status}, "status"
        )

    def run(
        self,
        number: int,
        *,
        ip: str = "192.0.2.7",
        ended: int = 0,
        is_ready: bool = False,
    ) -> None:
        """Start the n-th instance of the container, after the previous one ended."""
        status: Json = {
            "name": "app",
            "ready": is_ready,
            "restartCount": number - 1,
            "image": "docker.io/library/busybox:1.36",
            "imageID": "",
            "containerID": f"containerd://{number}",
            "state": {"running": {"startedAt": format_time(NOW())}},
        }
        if number > 1:
            status["lastState"] = {
                "terminated": {
                    "exitCode": ended,
                    "reason": "Error",
                    "containerID": f"containerd://{number - 1}",
                    "startedAt": format_time(NOW()),
                    "finishedAt": format_time(NOW()),
                }
            }
        self.set_status(phase="Running", podIP=ip, containerStatuses=[status])

    def kill(self, message: str, *, seconds: float = 0) -> None:
        """Add the cluster kubelet's event of a kill of the container at an instant."""
        pod = self.server.store.get(PODS, "default", "web")
        self.server.store.create(
            EVENTS,
            "default",
            {
                "metadata": {"name": "web.killing"},
                "involvedObject": {
                    "kind": "Pod",
                    "namespace": "default",
                    "name": "web",
                    "uid": pod["metadata"]["uid"],
                    "fieldPath": "spec.containers{app}",
                },
                "reason": "Killing",
                "message": message,
                "count": 1,
                "lastTimestamp": format_time(NOW() + timedelta(seconds=seconds)),
            },
        )

    @asynccontextmanager
    async def client(self) -> AsyncIterator[ApiClient]:
        async with ApiClient(self.access, SystemClock()) as client:
            yield client

    @asynccontextmanager
    async def attached(
        self,
        mode: ReachMode = ReachMode.FORWARD,
        removal: RemovalMode = RemovalMode.EVICT,
        ports: tuple[int, ...] = (80,),
    ) -> AsyncIterator[ClusterContainers]:
        clock = SystemClock()
        probe = a_tcp_probe(ports[0]) if ports else None
        client = await ApiClient(self.access, clock).__aenter__()
        containers = ClusterContainers(
            client,
            a_pod(a_container("app", readiness_probe=probe), name="web"),
            PodReach(mode, ports, self.messages.append),
            PodRemoval(client, removal),
            ServerContact(clock, self.messages.append),
            self.add_message,
        )
        try:
            await containers.open()
            yield containers
        finally:
            await containers.close()


@asynccontextmanager
async def a_bench(**options: Any) -> AsyncIterator[Bench]:
    inside = FakeInside()
    connect = {**exec_connection(inside), **port_connection(inside)}
    async with running_server(connect=connect, **options) as server:
        yield Bench(server, inside)
