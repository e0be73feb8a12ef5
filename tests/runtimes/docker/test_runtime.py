"""The contract, and what only Docker does, against a real daemon."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Resources
from probetui.k8s.runtime import ContainerID, LogLine, RuntimeState
from probetui.kubelet.effects import CreateContainer
from probetui.runtimes.docker import requests
from probetui.runtimes.docker.translate import to_docker_id
from probetui.runtimes.log_limits import MAX_BYTES, MAX_FILES
from tests.builders import a_container, a_pod, a_tcp_probe
from tests.runtimes.bench import FAILS, POLITE, SLACK, SLOW, STUBBORN
from tests.runtimes.capability_contract import (
    EventContract,
    ImageContract,
    LabelContract,
    LogContract,
    NetworkContract,
)
from tests.runtimes.contract import RuntimeContract
from tests.runtimes.docker.bench import DockerBench, bench, built_image
from tests.runtimes.streaming_contract import AttachContract, StreamingContract

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def web_server(port: int) -> tuple[str, ...]:
    """Return how to run a program that accepts connections."""
    return ("httpd", "-f", "-p", str(port))


class TestDockerContract(
    AttachContract,
    StreamingContract,
    RuntimeContract,
    ImageContract,
    NetworkContract,
    LabelContract,
    LogContract,
    EventContract,
):
    """Docker keeps the contract."""

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return web_server


class TestPublishedPorts(NetworkContract):
    """Where pods' addresses do not answer, their ports are published."""

    @pytest.fixture
    async def bench(self) -> AsyncIterator[DockerBench]:
        made = DockerBench(reach="published")
        yield made
        await made.close()

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return web_server

    async def test_only_what_is_probed_is_published_and_only_on_this_machine(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(a_container(readiness_probe=a_tcp_probe(18080)))

        sandbox_id = await bench.sandbox(pod)

        status = await bench.runtime.pod_sandbox_status(sandbox_id)
        host, port = bench.runtime.dial_address(status.ip or "", 18080)
        published = bench.docker(sandbox_id).ports
        assert host == "127.0.0.1"
        assert published == {
            "18080/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]
        }


class TestNames:
    """Names in `docker ps`."""

    async def test_sandboxes_and_containers_are_named_as_dockershim_did(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(name="shop", namespace="retail", uid=bench.options.owner)
        sandbox_id = await bench.sandbox(pod, attempt=1)
        created = await bench.runtime.create_container(
            CreateContainer(pod, bench.container(POLITE), sandbox_id, 3, "")
        )

        uid = pod.uid
        assert bench.docker(sandbox_id).name == f"k8s_POD_shop_retail_{uid}_1"
        assert bench.docker(created).name == f"k8s_app_shop_retail_{uid}_3"

    async def test_a_dead_leftover_makes_room_for_its_successor(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(uid=bench.options.owner)
        operation = CreateContainer(
            pod, bench.container(FAILS), await bench.sandbox(pod), 0, ""
        )
        first = await bench.runtime.create_container(operation)
        await bench.runtime.start_container(first)
        await bench.ended(first)

        second = await bench.runtime.create_container(operation)

        assert await bench.status(first) is None
        assert bench.docker(second).name == f"k8s_app_web_default_{pod.uid}_0"

    async def test_a_name_in_use_gets_a_suffix(self, bench: DockerBench) -> None:
        pod = a_pod(uid=bench.options.owner)
        first = await bench.sandbox(pod)

        second = await bench.sandbox(pod)

        name = bench.docker(first).name
        assert bench.docker(second).name.startswith(f"{name}_")
        assert (await bench.runtime.pod_sandbox_status(first)).is_ready

    async def test_another_owners_leftover_stays(self, bench: DockerBench) -> None:
        other = DockerBench()
        pod = a_pod(uid=bench.options.owner)
        theirs = await other.sandbox(pod)
        other.docker(theirs).kill()

        ours = await bench.sandbox(pod)

        assert other.docker(theirs).status == "exited"
        assert (await bench.runtime.pod_sandbox_status(ours)).is_ready
        await other.close()

    async def test_a_foreign_container_with_the_name_is_an_error_that_names_it(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(uid=bench.options.owner)
        unmanaged = bench.run_unmanaged(name=f"k8s_POD_web_default_{pod.uid}_0")

        with pytest.raises(ContainerRuntimeError, match=unmanaged.short_id):
            await bench.sandbox(pod)

        assert await bench.unmanaged_is_running()


class TestUnmanagedContainers:
    """What looks like ours and is not."""

    KUBELET_LABELS: ClassVar[dict[str, str]] = {
        "io.kubernetes.docker.type": "container",
        "io.kubernetes.container.name": "app",
        "io.kubernetes.pod.name": "web",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "uid-of-web",
    }

    async def test_a_kubelets_container_is_not_listed(self, bench: DockerBench) -> None:
        bench.run_unmanaged(labels=self.KUBELET_LABELS)
        sandbox_id = await bench.sandbox(a_pod())

        seen = await bench.pod()

        assert [sandbox.sandbox_id for sandbox in seen.sandboxes] == [sandbox_id]
        assert seen.containers == ()

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(
                lambda runtime, unmanaged: runtime.stop_container(unmanaged, 0),
                id="stop",
            ),
            pytest.param(
                lambda runtime, unmanaged: runtime.remove_container(unmanaged),
                id="remove",
            ),
            pytest.param(
                lambda runtime, unmanaged: runtime.stop_pod_sandbox(unmanaged),
                id="stop sandbox",
            ),
            pytest.param(
                lambda runtime, unmanaged: runtime.remove_pod_sandbox(unmanaged),
                id="remove sandbox",
            ),
        ],
    )
    async def test_even_by_its_id_it_is_left_alone(
        self, bench: DockerBench, call: Callable[..., Any]
    ) -> None:
        unmanaged = bench.run_unmanaged(labels=self.KUBELET_LABELS)

        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await call(bench.runtime, unmanaged.id)

        assert await bench.unmanaged_is_running()

    async def test_a_foreign_container_that_joined_a_sandbox_survives_it(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        bench.run_unmanaged(labels={"io.kubernetes.sandbox.id": sandbox_id})

        await bench.runtime.stop_pod_sandbox(sandbox_id)
        await bench.runtime.remove_pod_sandbox(sandbox_id)

        assert await bench.unmanaged_is_running()


class TestPods:
    """What containers of a pod share."""

    async def test_a_pods_address_outlives_its_containers(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        first = await bench.run(FAILS, sandbox_id=sandbox_id)
        before = (await bench.pod()).ips
        await bench.ended(first)

        await bench.run(POLITE, sandbox_id=sandbox_id, attempt=1)

        assert (await bench.pod()).ips == before
        assert before

    async def test_containers_have_the_pods_name_and_address(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(hostname="db-0")
        sandbox_id = await bench.sandbox(pod)

        container_id = await bench.run("hostname; hostname -i", sandbox_id=sandbox_id)

        (address,) = (await bench.pod()).ips
        assert await bench.printed(container_id) == ["db-0", address]

    async def test_containers_of_a_pod_reach_each_other_on_localhost(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.run(
            "echo reached >ready; exec httpd -f -p 18080",
            name="server",
            sandbox_id=sandbox_id,
        )

        client = await bench.run(
            "until wget -q -O - http://127.0.0.1:18080/ready; do sleep 0.1; done",
            name="client",
            sandbox_id=sandbox_id,
        )

        assert await bench.printed(client) == ["reached"]

    async def test_processes_are_shared_only_if_the_pod_sets_it(
        self, bench: DockerBench
    ) -> None:
        own, shared = (
            a_pod(name="own"),
            a_pod(name="shared", share_process_namespace=True),
        )
        ids = []
        for pod in (own, shared):
            sandbox_id = await bench.sandbox(pod)
            operation = CreateContainer(
                pod, bench.container("echo $$"), sandbox_id, 0, ""
            )
            ids.append(await bench.runtime.create_container(operation))
            await bench.runtime.start_container(ids[-1])

        (alone,), (beside_others,) = [
            await bench.printed(container_id) for container_id in ids
        ]

        assert alone == "1"
        assert int(beside_others) > 1

    async def test_the_host_network_is_used_if_the_pod_sets_it(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod(host_network=True))

        status = await bench.runtime.pod_sandbox_status(sandbox_id)

        assert status.host_network
        assert (await bench.pod()).ips == ()

    async def test_a_sandbox_that_is_killed_by_hand_is_not_ready(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        await bench.runtime.relist()

        bench.docker(sandbox_id).kill()

        (sandbox,) = (await bench.pod()).sandboxes
        assert not sandbox.is_ready
        assert (await bench.pod()).ips == ()

    async def test_a_sandbox_that_cannot_be_started_leaves_nothing(self) -> None:
        with built_image('ENTRYPOINT ["/no/such/program"]') as broken:
            bench = DockerBench(sandbox_image=broken)

            with pytest.raises(ContainerRuntimeError, match="/no/such/program"):
                await bench.sandbox(a_pod())

            assert await bench.runtime.relist() == ()
            await bench.close()


class TestEnds:
    """How containers end."""

    async def test_a_container_out_of_memory_has_the_reason(
        self, bench: DockerBench
    ) -> None:
        # Were it to end by itself, the daemon might hear of that first.
        eats = "head -c 100000000 /dev/zero | tail; exec sleep 600"
        hungry = replace(
            bench.container(eats),
            resources=Resources(limits={"memory": Decimal(16 * 2**20)}),
        )
        container_id = await bench.run_container(hungry)
        filters = {"container": to_docker_id(container_id), "event": "oom"}
        with contextlib.closing(
            bench.sdk.events(since=1, filters=filters, decode=True)
        ) as events:
            async with asyncio.timeout(60):
                await asyncio.to_thread(next, events)
        bench.docker(container_id).kill()

        status = await bench.ended(container_id)

        assert (status.reason, status.oom_killed) == ("OOMKilled", True)

    async def test_a_container_that_cannot_run_has_a_reason(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.create(a_container(command=("/no/such/program",)))
        assert await bench.state(container_id) is RuntimeState.CREATED
        with contextlib.suppress(ContainerRuntimeError):
            await bench.runtime.start_container(container_id)

        status = await bench.status(container_id)

        assert status is not None
        assert (status.state, status.reason) == (
            RuntimeState.EXITED,
            "ContainerCannotRun",
        )
        assert status.exit_code == 127
        assert "/no/such/program" in status.message

    async def test_a_frozen_container_still_runs(self, bench: DockerBench) -> None:
        container_id = await bench.run_ready(POLITE)

        bench.docker(container_id).pause()

        assert await bench.state(container_id) is RuntimeState.RUNNING

    async def test_two_may_remove_a_container_at_once(self, bench: DockerBench) -> None:
        container_id = await bench.run_ready(POLITE)
        another = bench.another()

        await asyncio.gather(
            *(
                runtime.remove_container(container_id)
                for runtime in (bench.runtime, another)
                for _ in range(3)
            )
        )

        assert await bench.status(container_id) is None
        await another.close()

    async def test_many_stops_at_once_do_not_hold_up_anything_else(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        stubborn = [
            await bench.run_ready(STUBBORN, name=f"app-{n}", sandbox_id=sandbox_id)
            for n in range(6)
        ]
        # As many as there are threads for calls that do not last.
        stops = [
            asyncio.ensure_future(bench.runtime.stop_container(container_id, 300))
            for container_id in stubborn * 6
        ]
        await bench.wait(timedelta(milliseconds=300))
        before = bench.clock.now()

        await bench.sh(stubborn[0], "true")

        assert bench.clock.now() - before < SLACK
        assert bench.runtime.pool_wait < SLACK
        await bench.runtime.stop_pod_sandbox(sandbox_id)
        await asyncio.gather(*stops)


class TestRelists:
    """Relists look only at what has changed."""

    async def test_unchanged_containers_are_not_inspected_again(
        self, bench: DockerBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        one = await bench.run_ready(POLITE, name="one", sandbox_id=sandbox_id)
        await bench.run_ready(POLITE, name="two", sandbox_id=sandbox_id)
        first = await bench.runtime.relist()
        bench.api.inspections.clear()

        second = await bench.runtime.relist()
        bench.docker(one).kill()
        third = await bench.runtime.relist()

        assert second == first
        assert third != second
        assert dict(bench.api.inspections) == {to_docker_id(one): 1}

    async def test_a_restart_by_hand_is_noticed_by_who_watches(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        before = await bench.status(container_id)
        assert before is not None

        async def watch() -> None:
            async for _ in bench.runtime.watch():
                pass

        async def is_newer() -> bool:
            bench.docker(container_id).restart(timeout=0)
            after = await bench.status(container_id)
            return after is not None and after.started_at != before.started_at

        async with bench.meanwhile(watch()):
            await bench.until(is_newer)

    async def test_execs_are_no_happenings(self, bench: DockerBench) -> None:
        container_id = await bench.run_ready(POLITE)
        container = bench.docker(container_id)
        event_count = 0

        async def watch() -> None:
            nonlocal event_count
            async for _ in bench.runtime.watch():
                event_count += 1

        async def wait_for_event(act: Callable[[], object]) -> None:
            before = event_count
            act()

            async def has_event() -> bool:
                return event_count > before

            await bench.until(has_event)

        async with bench.meanwhile(watch()):
            assert await asyncio.to_thread(bench.api.watched.wait, 10)
            await wait_for_event(container.pause)
            await wait_for_event(container.unpause)
            for _ in range(5):
                await bench.sh(container_id, "true")
            await wait_for_event(container.pause)

        assert event_count == 3


class TestLogs:
    """What containers print."""

    async def lines(
        self, bench: DockerBench, container_id: ContainerID
    ) -> list[LogLine]:
        await bench.ended(container_id)
        found = bench.runtime.follow_logs(container_id, tail=10, follow=False)
        return [line async for line in found]

    async def test_lines_have_their_stream_and_their_instant(
        self, bench: DockerBench
    ) -> None:
        before = bench.clock.now()
        container_id = await bench.run("echo out; echo err >&2")

        lines = await self.lines(bench, container_id)

        second = timedelta(seconds=1)
        assert {(line.text, line.is_stderr) for line in lines} == {
            ("out", False),
            ("err", True),
        }
        assert all(
            line.at and before - second < line.at < bench.clock.now() + second
            for line in lines
        )

    async def test_a_long_line_is_one_line(self, bench: DockerBench) -> None:
        container_id = await bench.run(
            "head -c 40000 /dev/zero | tr '\\0' x; echo; echo end"
        )

        lines = await self.lines(bench, container_id)

        assert [line.text for line in lines] == ["x" * 40000, "end"]

    async def test_what_a_terminal_shows_is_read_too(self, bench: DockerBench) -> None:
        container = replace(bench.container("echo one; echo two"), tty=True)
        container_id = await bench.run_container(container)

        lines = await self.lines(bench, container_id)

        assert [(line.text, line.at is not None) for line in lines] == [
            ("one", True),
            ("two", True),
        ]

    async def test_following_can_be_left_at_any_time(self, bench: DockerBench) -> None:
        container_id = await bench.run("while :; do echo more; done")
        lines = bench.runtime.follow_logs(container_id, tail=1, follow=True)

        async with contextlib.aclosing(lines):  # type: ignore[type-var]  # a generator
            found = [(await anext(lines)).text for _ in range(2000)]

        assert set(found) == {"more"}
        await bench.runtime.stop_container(container_id, 0)


class TestEntrypoints:
    """`command` and `args` against an image's own entrypoint and command."""

    @pytest.fixture(scope="class")
    def image(self) -> Iterator[str]:
        with built_image(
            'ENTRYPOINT ["echo", "entrypoint"]',
            'CMD ["command"]',
            "HEALTHCHECK --interval=1s CMD touch /unhealthy",
        ) as tag:
            yield tag

    @pytest.mark.parametrize(
        ("command", "args", "expected"),
        [
            pytest.param((), (), "entrypoint command", id="neither"),
            pytest.param((), ("args",), "entrypoint args", id="args"),
            pytest.param(("echo", "mine"), (), "mine", id="command"),
            pytest.param(("echo", "mine"), ("args",), "mine args", id="both"),
        ],
    )
    async def test_volumes_are_filled_as_kubernetes_specifies(
        self,
        bench: DockerBench,
        image: str,
        command: tuple[str, ...],
        args: tuple[str, ...],
        expected: str,
    ) -> None:
        bench.image = image
        container = a_container(image=image, command=command, args=args)

        container_id = await bench.run_container(container)

        assert await bench.printed(container_id) == [expected]

    async def test_the_images_health_check_does_not_run(
        self, bench: DockerBench, image: str
    ) -> None:
        bench.image = image

        container_id = await bench.run(SLOW)

        assert "Health" not in bench.docker(container_id).attrs["State"]


@pytest.mark.slow
async def test_the_log_of_a_container_is_limited_and_read_to_its_end(
    bench: DockerBench,
) -> None:
    long = "x" * 4_000
    container_id = await bench.run(
        f"i=0; while [ $i -lt 16000 ]; do i=$((i+1)); echo $i-{long}; done"
    )
    await bench.ended(container_id)

    lines = bench.runtime.follow_logs(container_id, tail=20_000, follow=False)
    numbers = [int(line.text.partition("-")[0]) async for line in lines]

    assert numbers[0] > 1
    assert numbers == list(range(numbers[0], 16_001))
    assert len(numbers) * len(long) <= MAX_BYTES * MAX_FILES
    assert len(numbers) * len(long) > MAX_BYTES * (MAX_FILES - 2)


HELD = "echo first; touch ready; until [ -e go ]; do sleep 0.1; done"
"""The first line of a container that waits for a file."""


async def read_rest(
    bench: DockerBench, container_id: ContainerID, lines: AsyncIterator[LogLine]
) -> list[str]:
    """Let a container that is held go on to its end, and read its log only then."""
    assert (await anext(lines)).text == "first"
    await bench.sh(container_id, "touch go")
    await bench.ended(container_id)
    async with asyncio.timeout(120):
        return [line.text async for line in lines]


@pytest.mark.slow
async def test_a_log_that_is_rotated_is_followed_to_its_end(bench: DockerBench) -> None:
    prints = f"while [ $i -lt 3000 ]; do i=$((i+1)); echo $i-{'x' * 4_000}; done"
    container_id = await bench.run_ready(f"{HELD}; i=0; {prints}; echo last")
    lines = bench.runtime.follow_logs(container_id, tail=1, follow=True)

    texts = await read_rest(bench, container_id, lines)

    numbers = [text.partition("-")[0] for text in texts]
    assert numbers == [*map(str, range(1, 3001)), "last"]


@pytest.mark.slow
async def test_a_log_that_is_rotated_often_is_told_once_and_in_order(
    bench: DockerBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Docker 20.10 tells a few hundred of these lines twice."""
    monkeypatch.setattr(requests, "MAX_BYTES", 50_000)
    prints = f"while [ $i -lt 5000 ]; do i=$((i+1)); echo $i-{'x' * 40}; done"
    container_id = await bench.run_ready(f"{HELD}; i=0; {prints}")
    lines = bench.runtime.follow_logs(container_id, tail=1, follow=True)

    assert (await anext(lines)).text == "first"
    await bench.sh(container_id, "touch go")
    async with asyncio.timeout(120):
        numbers = [int(line.text.partition("-")[0]) async for line in lines]

    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 5000


async def test_what_a_daemon_does_not_follow_is_read_when_the_log_ends(
    bench: DockerBench,
) -> None:
    bench.api.follows_logs = False
    container_id = await bench.run_ready(f"{HELD}; echo second; echo third >&2")
    lines = bench.runtime.follow_logs(container_id, tail=10, follow=True)

    texts = await read_rest(bench, container_id, lines)

    assert sorted(texts) == ["second", "third"]
