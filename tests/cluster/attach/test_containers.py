"""Attaching to the containers of a cluster's pod, with our API server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from probetui.cluster.api_server.failure import ApiFailure
from probetui.cluster.api_server.request_info import RequestInfo
from probetui.cluster.attach.containers import ClusterContainers
from probetui.cluster.attach.reach import ReachMode
from probetui.cluster.attach.removal import RemovalMode
from probetui.cluster.attach.rights import check_right
from probetui.cluster.client import PODS as POD_REQUESTS
from probetui.cluster.errors import ForbiddenError
from probetui.cluster.serving.http_server import HttpRequest
from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.runtimes.attached.matching import make_targets
from probetui.runtimes.attached.runtime import AttachedRuntime
from tests.builders import START, a_container, a_pod
from tests.cluster.api_server.resources import PODS
from tests.cluster.api_server.server import ServerFault
from tests.cluster.attach.bench import Bench, a_bench

FIRST, SECOND = ContainerID("containerd://1"), ContainerID("containerd://2")


@pytest.fixture
def bench(bench: Bench) -> Bench:
    """Return a bench whose pod runs."""
    bench.run(1)
    return bench


def refuse(bench: Bench, subresource: str, failure: ApiFailure) -> None:
    def fault(info: RequestInfo, _request: HttpRequest) -> ServerFault | None:
        if info.subresource == subresource:
            return ServerFault(failure=failure)
        return None

    bench.server.api.fault = fault


async def until(containers: ClusterContainers, condition: Callable[[], bool]) -> None:
    """Wait until a change of the pod makes a condition true."""
    async with asyncio.timeout(10):
        changes = containers.watch()
        while not condition():
            await anext(changes)


async def container_ids(containers: ClusterContainers) -> list[ContainerID]:
    return [found.container_id for found in await containers.list()]


async def test_a_container_is_as_the_pods_status_has_it(bench: Bench) -> None:
    async with bench.attached() as containers:
        (found,) = await containers.list()
        status = await containers.inspect(FIRST)

    assert (found.container_id, found.names, found.is_running) == (
        FIRST,
        ("web/app",),
        True,
    )
    assert status is not None
    assert (status.status.state, status.ip) == (RuntimeState.RUNNING, "192.0.2.7")


async def test_the_current_and_the_previous_instance_are_listed(bench: Bench) -> None:
    async with bench.attached() as containers:
        attached = AttachedRuntime(
            containers,
            make_targets([a_pod(a_container("app"), name="web")], ()),
            acts=False,
            began_at=START,
        )
        await attached.relist()
        bench.run(2, ended=137)
        async with asyncio.timeout(10):
            changes = containers.watch()
            while await container_ids(containers) != [SECOND]:
                await anext(changes)

        (pod,) = await attached.relist()

    now, before = pod.containers
    assert (now.container_id, now.state, now.restart_count) == (
        SECOND,
        RuntimeState.RUNNING,
        1,
    )
    assert (before.container_id, before.state, before.exit_code) == (
        FIRST,
        RuntimeState.EXITED,
        137,
    )


async def test_a_replaced_pod_is_reported_as_another_one(
    bench: Bench,
) -> None:
    async with bench.attached() as containers:
        bench.delete()
        async with asyncio.timeout(10):
            changes = containers.watch()
            while await container_ids(containers):
                await anext(changes)

        bench.create(livenessProbe={"exec": {"command": ["true"]}})
        await until(containers, lambda: len(bench.messages) > 1)

    assert bench.messages == [
        "pod web was deleted; a new pod of the same name is probed when it comes",
        "pod web was deleted and created again; its probes differ: attach again",
    ]


async def test_without_a_pod_there_is_nothing_to_run_a_command_in(
    bench: Bench,
) -> None:
    bench.delete()
    async with bench.attached() as containers:
        with pytest.raises(ContainerRuntimeError, match="no longer exists"):
            await containers.exec_sync(FIRST, ("true",), 1)


@pytest.mark.parametrize("mode", list(RemovalMode))
async def test_a_kill_is_the_end_of_the_pod_and_waits_for_it(
    bench: Bench, mode: RemovalMode
) -> None:
    async with bench.attached(removal=mode) as containers:
        stopping = asyncio.ensure_future(containers.stop(FIRST, 30))
        await until(
            containers,
            lambda: (
                "deletionTimestamp"
                in bench.server.store.get(PODS, "default", "web")["metadata"]
            ),
        )
        assert not stopping.done()

        bench.delete()

        await asyncio.wait_for(stopping, 10)


async def test_a_refusal_of_a_disruption_budget_is_honoured(bench: Bench) -> None:
    text = "Cannot evict pod as it would violate the pod's disruption budget."
    refuse(bench, "eviction", ApiFailure(429, "TooManyRequests", text, {}))
    async with bench.attached() as containers:
        with pytest.raises(ContainerRuntimeError, match="the eviction is refused: "):
            await containers.stop(FIRST, 30)

    assert bench.server.store.find(PODS, "default", "web") is not None


async def test_a_replacement_of_the_pod_is_left_alone(bench: Bench) -> None:
    async with bench.attached() as containers:
        bench.delete()
        bench.create()

        # The watch may not have reported it yet: the uid protects it.
        await containers.stop(FIRST, 30)

    pod = bench.server.store.get(PODS, "default", "web")
    assert "deletionTimestamp" not in pod["metadata"]


async def test_nothing_of_a_clusters_container_can_be_disturbed(bench: Bench) -> None:
    async with bench.attached() as containers:
        with pytest.raises(ContainerRuntimeError, match="cannot start"):
            await containers.start(FIRST)


# -- routes to ports


@contextmanager
def full_backlog() -> Iterator[int]:
    """Yield a port of this machine that no longer answers."""
    with socket.socket() as server, ExitStack() as clients:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            client = clients.enter_context(socket.socket())
            client.setblocking(False)  # noqa: FBT003  # the name of its only argument is private
            client.connect_ex(server.getsockname())
        yield server.getsockname()[1]


async def test_a_pod_whose_ip_answers_is_reached_there() -> None:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    async with server, a_bench() as bench:
        bench.create()
        bench.run(1, ip="127.0.0.1")
        async with bench.attached(ReachMode.AUTO, ports=(port,)) as containers:
            assert containers.remarks == ()
            assert containers.dial_address("127.0.0.1", port) == ("127.0.0.1", port)
            assert "at the pod's IP 127.0.0.1" in await containers.version()


async def test_an_ip_that_refuses_is_reached(unused_tcp_port: int) -> None:
    async with a_bench() as bench:
        bench.create()
        bench.run(1, ip="127.0.0.1")
        async with bench.attached(ReachMode.AUTO, ports=(unused_tcp_port,)) as found:
            assert found.remarks == ()


async def test_ports_of_an_unreachable_pod_ip_are_forwarded_with_a_message() -> None:
    with full_backlog() as port:
        async with a_bench() as bench:
            bench.create()
            bench.run(1, ip="127.0.0.1")
            async with bench.attached(ReachMode.AUTO, ports=(port,)) as containers:
                (remark,) = containers.remarks
                where = containers.dial_address("127.0.0.1", port)
                name = await containers.version()

    assert not isinstance(where, tuple)
    assert "because the pod's IP 127.0.0.1 is not reached from here" in remark
    assert "127.0.0.1 in the pod and not its IP" in remark
    assert name.startswith("cluster/port-forward tests, by port-forward to 127.0.0.1")


async def test_a_refusal_is_somebody_elses_if_the_kubelet_finds_the_pod_ready(
    unused_tcp_port: int,
) -> None:
    async with a_bench() as bench:
        bench.create()
        bench.run(1, ip="127.0.0.1", is_ready=True)
        async with bench.attached(ReachMode.AUTO, ports=(unused_tcp_port,)) as found:
            assert found.remarks


async def test_a_pod_of_exec_probes_alone_needs_no_reach(bench: Bench) -> None:
    async with bench.attached(ReachMode.AUTO, ports=()) as containers:
        assert containers.remarks == ()
        assert "exec by the API" in await containers.version()


# -- rights


async def test_a_right_that_is_missing_is_found_before_the_session() -> None:
    def allow_reading(_user: str, info: RequestInfo) -> str | None:
        return "" if info.subresource == "exec" else None

    access = POD_REQUESTS.access("create", "shop", "web", "exec")
    async with a_bench(authorize=allow_reading) as bench, bench.client() as client:
        with pytest.raises(ForbiddenError, match="kubectl auth can-i create pods/web"):
            await check_right(client, access, or_verb="get")


async def test_another_verb_may_be_enough() -> None:
    def allow(_user: str, info: RequestInfo) -> str | None:
        is_create = info.subresource == "exec" and info.verb == "create"
        return "" if is_create else None

    access = POD_REQUESTS.access("create", "shop", "web", "exec")
    async with a_bench(authorize=allow) as bench, bench.client() as client:
        await check_right(client, access, or_verb="get")


MESSAGE = "Container app failed liveness probe, will be restarted"


async def test_a_kill_by_the_clusters_kubelet_is_reported_with_its_message(
    bench: Bench,
) -> None:
    async with bench.attached() as containers:
        bench.kill(MESSAGE, seconds=1)
        bench.run(2, ended=137)
        await bench.wait_for_message("killed")
        assert await container_ids(containers) == [SECOND]

    assert bench.messages == [f"web/app was killed by the cluster's kubelet: {MESSAGE}"]


async def test_a_kill_of_an_earlier_instance_is_no_reason(bench: Bench) -> None:
    async with bench.attached() as containers:
        bench.kill(MESSAGE, seconds=-60)
        bench.run(2, ended=1)
        async with asyncio.timeout(10):
            changes = containers.watch()
            while await container_ids(containers) != [SECOND]:
                await anext(changes)
        bench.delete()
        await bench.wait_for_message("was deleted")

    assert not any("killed" in text for text in bench.messages)


async def test_a_kill_of_a_pod_that_we_evict_is_not_reported(
    bench: Bench,
) -> None:
    asked: list[str] = []

    def note(_info: RequestInfo, request: HttpRequest) -> None:
        asked.append(request.path)

    bench.server.api.fault = note
    async with bench.attached() as containers:
        stopping = asyncio.ensure_future(containers.stop(FIRST, 30))
        await until(
            containers,
            lambda: (
                "deletionTimestamp"
                in bench.server.store.get(PODS, "default", "web")["metadata"]
            ),
        )
        bench.kill("Stopping container app", seconds=1)
        bench.delete()
        await stopping
        await bench.wait_for_message("was deleted")

    assert [text for text in bench.messages if "killed" in text] == []
    assert [path for path in asked if path.endswith("/events")] == []


class _FullList(list[str]):
    """A list that takes nothing, in place of a bug."""

    def append(self, text: str) -> None:
        raise LookupError(text)


async def list_on_each_change(containers: ClusterContainers) -> None:
    async with asyncio.timeout(10):
        async for _ in containers.watch():
            await containers.list()


async def test_a_task_that_a_bug_ends_is_reported_instead_of_the_pod_as_it_was(
    bench: Bench,
) -> None:
    async with bench.attached() as containers:
        assert await container_ids(containers) == [FIRST]
        bench.messages = _FullList()
        bench.delete()
        with pytest.raises(ContainerRuntimeError, match="not followed any more"):
            await list_on_each_change(containers)
