"""The real kubectl against the API server: what it prints is what people see."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from probetui.cluster.api_server.pod_connections import log_connection, no_previous_log
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.serving.certificate import self_signed
from probetui.cluster.serving.container_log import LogOptions
from probetui.cluster.serving.http_server import HttpRequest
from probetui.cluster.serving.remote_command import (
    RemoteCommand,
    RemoteCommandError,
    RemoteStreams,
)
from probetui.drive.clocks import SystemClock
from probetui.k8s.api.codec import Json, format_time
from probetui.k8s.runtime import LogLine
from tests.cluster.api_server.resources import EVENTS, LEASES, NODES, PODS
from tests.cluster.kubectl import Kubectl, next_line
from tests.cluster.pod_streams import exec_connection, port_connection
from tests.cluster.servers import (
    RunningServer,
    read_only_server,
    running_server,
    write_kubeconfig,
)

pytestmark = pytest.mark.kubectl

NOW = SystemClock().now
CONTAINERS = [{"name": "app", "image": "busybox:1.36"}]
TICKS = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "ticks", "labels": {"app": "ticks"}},
    "spec": {
        "nodeName": "node1",
        "terminationGracePeriodSeconds": 1,
        "containers": CONTAINERS,
    },
}
CONTAINER_STATUS = {
    "name": "app",
    "ready": True,
    "restartCount": 2,
    "started": True,
    "image": "busybox:1.36",
    "imageID": "",
    "state": {"running": {"startedAt": format_time(NOW())}},
    "lastState": {
        "terminated": {
            "exitCode": 137,
            "reason": "Error",
            "startedAt": format_time(NOW()),
            "finishedAt": format_time(NOW()),
        }
    },
}
RUNNING = {
    "phase": "Running",
    "podIP": "127.0.0.1",
    "podIPs": [{"ip": "127.0.0.1"}],
    "conditions": [{"type": "Ready", "status": "True"}],
    "containerStatuses": [CONTAINER_STATUS],
}


class LocalPods:
    """Stands in for a kubelet: commands run here, the log is what `lines` has."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    async def log(
        self, pod: Json, container: str, options: LogOptions
    ) -> AsyncIterator[LogLine]:
        if options.previous:
            raise no_previous_log(pod, container)
        return self._lines(options)

    async def _lines(self, options: LogOptions) -> AsyncIterator[LogLine]:
        while options.follow or not self.lines.empty():
            yield LogLine(NOW(), await self.lines.get())

    async def run(
        self, pod: Json, command: RemoteCommand, streams: RemoteStreams
    ) -> int:
        try:
            process = await asyncio.create_subprocess_exec(
                *command.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise RemoteCommandError(str(error)) from None
        input_bytes = await streams.stdin.read() if command.stdin else b""
        out, err = await process.communicate(input_bytes)
        await streams.write(out)
        await streams.write(err, is_stderr=True)
        return process.returncode or 0

    async def dial(
        self, pod: Json, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", port)


@pytest.fixture
def pods() -> LocalPods:
    return LocalPods()


@pytest.fixture
async def server(pods: LocalPods) -> AsyncIterator[RunningServer]:
    connect = {
        **log_connection(pods, NOW),
        **exec_connection(pods),
        **port_connection(pods),
    }
    async with running_server(connect=connect) as running:
        yield running


@pytest.fixture
def kubectl(server: RunningServer, tmp_path: Path) -> Kubectl:
    return Kubectl(write_kubeconfig(tmp_path / "config", server.url))


@pytest.fixture
def running_pod(server: RunningServer) -> Json:
    server.store.create(PODS, "default", TICKS)
    return server.store.update(
        PODS, "default", "ticks", {**TICKS, "status": RUNNING}, "status"
    )


def a_node() -> dict[str, Any]:
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "node1"},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "192.0.2.10"}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
        },
    }


def note_upgrades(server: RunningServer) -> list[str]:
    """Return what gets what each request wants its connection to become."""
    upgrades: list[str] = []

    def note(_: RequestInfo, request: HttpRequest) -> None:
        upgrades.extend(filter(None, [request.headers.get("upgrade")]))

    server.api.fault = note
    return upgrades


def rows(text: str) -> list[list[str]]:
    """Return the cells of what kubectl printed, columns being apart by two spaces."""
    return [
        [cell for cell in line.split("  ") if cell.strip()]
        for line in text.splitlines()
    ]


async def test_get_prints_the_columns_of_pods(
    kubectl: Kubectl, running_pod: Json
) -> None:
    head, row = rows(await kubectl.output("get", "pods", "-o", "wide"))
    assert [cell.strip() for cell in head] == [
        "NAME", "READY", "STATUS", "RESTARTS", "AGE",
        "IP", "NODE", "NOMINATED NODE", "READINESS GATES",
    ]  # fmt: skip
    cells = [cell.strip() for cell in row]
    assert cells[:3] == ["ticks", "1/1", "Running"]
    # The restart was before these tests, which may take minutes by now.
    assert re.fullmatch(r"2 \(([0-9]+[hms])+ ago\)", cells[3])
    assert cells[5:7] == ["127.0.0.1", "node1"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        pytest.param("jsonpath={.items[0].status.phase}", "Running", id="jsonpath"),
        pytest.param("name", "pod/ticks\n", id="name"),
        pytest.param(
            "custom-columns=IP:.status.podIP", "IP\n127.0.0.1\n", id="custom-columns"
        ),
    ],
)
async def test_get_prints_other_forms(
    kubectl: Kubectl, running_pod: Json, form: str, expected: str
) -> None:
    assert await kubectl.output("get", "pods", "-o", form) == expected


async def test_get_watches(
    server: RunningServer, kubectl: Kubectl, running_pod: Json
) -> None:
    async with kubectl.started("get", "pods", "-w", "--no-headers") as watching:
        assert (await next_line(watching)).split()[:3] == ["ticks", "1/1", "Running"]
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        status = {**CONTAINER_STATUS, "ready": False, "state": waiting}
        patch = {"status": {"containerStatuses": [status]}}
        strategic = "application/strategic-merge-patch+json"
        server.store.patch(PODS, "default", "ticks", strategic, patch, "status")
        words = (await next_line(watching)).split()
        assert words[:3] == ["ticks", "0/1", "CrashLoopBackOff"]


async def test_describe_shows_the_pod_and_its_events(
    server: RunningServer, kubectl: Kubectl, running_pod: Json
) -> None:
    metadata = running_pod["metadata"]
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "ticks.1"},
        "type": "Warning",
        "reason": "Unhealthy",
        "message": "Liveness probe failed: no",
        "involvedObject": {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": "default",
            "name": "ticks",
            "uid": metadata["uid"],
        },
        "source": {"component": "kubelet", "host": "node1"},
        "firstTimestamp": format_time(NOW()),
        "lastTimestamp": format_time(NOW()),
        "count": 3,
    }
    server.store.create(EVENTS, "default", event)
    described = await kubectl.output("describe", "pod", "ticks")
    events = await kubectl.output("events", "--for", "pod/ticks")
    listed = await kubectl.output("get", "events")
    assert "Restart Count:  2" in described
    assert re.search(r"Warning +Unhealthy +.* kubelet +Liveness", described)
    assert "Liveness probe failed: no" in events
    assert re.search(r"Warning +Unhealthy +pod/ticks +Liveness", listed)


async def test_describe_node_has_its_lease_and_pods(
    server: RunningServer, kubectl: Kubectl, running_pod: Json
) -> None:
    server.store.create(NODES, "", a_node())
    lease = {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {"name": "node1"},
        "spec": {"holderIdentity": "node1", "leaseDurationSeconds": 40},
    }
    server.store.create(LEASES, "kube-node-lease", lease)
    described = await kubectl.output("describe", "node", "node1")
    listed = rows(await kubectl.output("get", "nodes", "-o", "wide"))
    assert "HolderIdentity:  node1" in described
    assert "ticks" in described
    assert [cell.strip() for cell in listed[1]][:3] == ["node1", "Ready", "<none>"]


async def test_logs_are_followed(
    kubectl: Kubectl, pods: LocalPods, running_pod: Json
) -> None:
    async with kubectl.started("logs", "-f", "ticks") as following:
        for text in ("one", "two"):
            pods.lines.put_nowait(text)
            assert await next_line(following) == text


async def test_previous_logs_that_are_not_there_are_refused(
    kubectl: Kubectl, running_pod: Json
) -> None:
    result = await kubectl("logs", "--previous", "ticks")
    assert result.exit_code == 1
    assert (
        'previous terminated container "app" in pod "ticks" not found' in result.stderr
    )


async def test_exec_gives_both_streams_and_the_exit_code(
    kubectl: Kubectl, running_pod: Json
) -> None:
    script = "echo out; echo err >&2; exit 3"
    result = await kubectl("exec", "ticks", "--", "sh", "-c", script)
    assert result.stdout == "out\n"
    assert result.stderr.splitlines()[0] == "err"
    assert result.stderr.splitlines()[-1] == "command terminated with exit code 3"
    assert result.exit_code == 3


async def test_exec_reads_what_is_typed(kubectl: Kubectl, running_pod: Json) -> None:
    assert (
        await kubectl.output("exec", "-i", "ticks", "--", "wc", "-c", stdin="12345")
    ).strip() == "5"


async def test_exec_over_spdy(
    server: RunningServer, kubectl: Kubectl, running_pod: Json
) -> None:
    upgrades = note_upgrades(server)
    kubectl = kubectl.with_variables(KUBECTL_REMOTE_COMMAND_WEBSOCKETS="false")
    result = await kubectl("exec", "ticks", "--", "sh", "-c", "echo out; exit 3")
    assert (result.stdout, result.exit_code) == ("out\n", 3)
    assert upgrades == ["SPDY/3.1"]


async def test_exec_in_a_missing_container_is_an_error(
    kubectl: Kubectl, running_pod: Json
) -> None:
    result = await kubectl("exec", "ticks", "--", "/no/such/program")
    assert result.exit_code == 1
    assert "/no/such/program" in result.stderr


@pytest.mark.parametrize("transport", ["websocket", "SPDY/3.1"])
async def test_a_port_is_forwarded(
    server: RunningServer, kubectl: Kubectl, running_pod: Json, transport: str
) -> None:
    upgrades = note_upgrades(server)
    is_websocket = str(transport == "websocket").lower()
    kubectl = kubectl.with_variables(KUBECTL_PORT_FORWARD_WEBSOCKETS=is_websocket)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(echo, "127.0.0.1") as backend:
        port = backend.sockets[0].getsockname()[1]
        async with kubectl.started("port-forward", "ticks", f":{port}") as forwarding:
            line = await next_line(forwarding)
            local = int(line.split(":")[1].split(" ")[0])
            for text in (b"one\n", b"two\n"):
                reader, writer = await asyncio.open_connection("127.0.0.1", local)
                writer.write(text)
                assert await reader.read() == text.upper()
                writer.close()
                await writer.wait_closed()
    assert upgrades == [transport]


async def test_wait_ends_when_the_condition_is_met(
    server: RunningServer, kubectl: Kubectl
) -> None:
    server.store.create(PODS, "default", TICKS)
    condition = "--for=condition=Ready"
    async with kubectl.started("wait", condition, "pod/ticks", "-v=6") as waiting:
        assert waiting.stderr is not None
        while b"watch=true" not in await waiting.stderr.readline():
            pass
        server.store.update(
            PODS, "default", "ticks", {**TICKS, "status": RUNNING}, "status"
        )
        assert await next_line(waiting) == "pod/ticks condition met"


async def test_create_apply_and_delete(kubectl: Kubectl, server: RunningServer) -> None:
    text = json.dumps({**TICKS, "spec": {"containers": CONTAINERS}})
    assert await kubectl.output("apply", "-f", "-", stdin=text) == "pod/ticks created\n"
    again = await kubectl.output("apply", "-f", "-", stdin=text)
    assert again == "pod/ticks unchanged\n"
    changed = text.replace("1.36", "1.37")
    third = await kubectl.output("apply", "-f", "-", stdin=changed)
    assert third == "pod/ticks configured\n"
    assert "deleted" in await kubectl.output("delete", "pod", "ticks")
    assert server.store.list(PODS).items == []


async def test_a_refusal_has_the_message_of_the_server(tmp_path: Path) -> None:
    certificate = self_signed(["127.0.0.1"], NOW())
    authority = tmp_path / "ca.pem"
    authority.write_bytes(certificate.certificate)
    async with read_only_server(
        "this is read-only", token="secret", tls=certificate.tls_context()
    ) as server:
        config = write_kubeconfig(
            tmp_path / "config", server.url, token="secret", authority=str(authority)
        )
        kubectl = Kubectl(config)
        wrong = Kubectl(
            write_kubeconfig(
                tmp_path / "wrong", server.url, token="x", authority=str(authority)
            )
        )
        created = await kubectl("create", "-f", "-", stdin=json.dumps(TICKS))
        can_list = await kubectl("auth", "can-i", "list", "pods")
        can_create = await kubectl("auth", "can-i", "create", "pods")
        can_read = await kubectl("auth", "can-i", "get", "/version")
        can_post = await kubectl("auth", "can-i", "post", "/version")
        who = await kubectl("auth", "whoami")
        refused = await wrong("get", "pods")
    assert created.exit_code == 1
    assert "this is read-only" in created.stderr
    assert (can_list.stdout, can_list.exit_code) == ("yes\n", 0)
    assert (can_create.stdout, can_create.exit_code) == ("no - this is read-only\n", 1)
    assert (can_read.stdout, can_read.exit_code) == ("yes\n", 0)
    assert (can_post.stdout, can_post.exit_code) == ("no - this is read-only\n", 1)
    assert [line.split(maxsplit=1) for line in who.stdout.splitlines()] == [
        ["ATTRIBUTE", "VALUE"],
        ["Username", "kubernetes-admin"],
        ["Groups", "[system:masters system:authenticated]"],
    ]
    assert "You must be logged in to the server" in refused.stderr
