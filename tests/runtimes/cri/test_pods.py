"""What pods are like on a real containerd: names, files, security, how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError, ExecTimeoutError
from probetui.k8s.pod import (
    ContainerPort,
    DNSConfig,
    DNSOption,
    HostAlias,
    Pod,
    PodSecurityContext,
    Resources,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.k8s.volume import MEMORY, EmptyDir, Projected, Volume
from probetui.kubelet.effects import CreateContainer, UnmountVolume
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.log_rotation import LogRotation, list_rotated
from probetui.runtimes.cri.runtime import host_address
from tests.builders import a_container, a_pod
from tests.runtimes.bench import BEATS, BEATS_NO_MORE, FAILS, POLITE, SLOW, sh
from tests.runtimes.cri.bench import CriBench, bench
from tests.runtimes.message_contract import message
from tests.runtimes.volume_contract import FILES, a_pod_with, inspect, mount, run

__all__ = ["bench"]

pytestmark = [pytest.mark.cri, pytest.mark.slow]


async def start(bench: CriBench, pod: Pod) -> ContainerID:
    """Run the only container of a pod, in a sandbox of its own."""
    (container,) = pod.containers
    app = await bench.runtime.create_container(
        CreateContainer(pod, container, await bench.sandbox(pod), 0, "")
    )
    await bench.runtime.start_container(app)
    return app


async def output_of(bench: CriBench, pod: Pod, script: str) -> str:
    """Return what a script prints in the only container of a pod."""
    return await inspect(bench, await start(bench, pod), script)


def a_pod_of(context: SecurityContext | None = None, **fields: Any) -> Pod:
    app = a_container(command=sh(SLOW), security_context=context or SecurityContext())
    return a_pod(app, **fields)


def logs_of(pod: Pod) -> Path:
    return Path(f"/var/log/pods/{pod.namespace}_{pod.name}_{pod.uid}")


class TestFiles:
    """What is kept beside the runtime, and goes with the pods."""

    async def test_output_is_where_the_kubelet_has_it_and_goes_with_its_container(
        self, bench: CriBench
    ) -> None:
        pod = a_pod_of()
        app = await bench.run("echo one", attempt=2)
        await bench.ended(app)
        log = logs_of(pod) / "app" / "2.log"
        text = log.read_text()

        await bench.runtime.remove_container(app)
        has_folder = logs_of(pod).is_dir()
        (sandbox,) = (await bench.pod()).sandboxes
        await bench.runtime.remove_pod_sandbox(sandbox.sandbox_id)

        assert text.endswith(" stdout F one\n")
        assert not log.exists()
        assert has_folder
        assert not logs_of(pod).exists()

    async def test_a_log_that_is_too_long_continues_in_a_new_file(
        self, bench: CriBench
    ) -> None:
        app = await bench.run(
            "trap 'echo last; exit 0' TERM; head -c 11000000 /dev/zero | tr '\\0' x; "
            "echo; touch ready; sleep 300 & wait"
        )

        async def is_ready() -> bool:
            return (await bench.sh(app, "test -e ready")).exit_code == 0

        await bench.until(is_ready)
        log = logs_of(a_pod_of()) / "app" / "0.log"

        await bench.another().relist()
        await bench.runtime.stop_container(app, 30)

        (aside,) = list_rotated(log)
        assert aside.stat().st_size > 11_000_000
        assert (await bench.printed(app))[-1] == "last"
        await bench.runtime.remove_container(app)
        assert list_rotated(log) == []

    async def test_a_log_that_is_rotated_twice_before_it_is_read_on_is_told_whole(
        self, bench: CriBench
    ) -> None:
        app = await bench.run("i=0; while :; do i=$((i+1)); echo $i; sleep 0.002; done")
        log = logs_of(a_pod_of()) / "app" / "0.log"
        rotation = LogRotation(bench.client, 10_000)
        lines = bench.runtime.follow_logs(app, tail=1, follow=True)
        first = int((await anext(lines)).text)

        async def is_rotated_twice() -> bool:
            _, containers = await bench.runtime._listing.list_ours()
            await rotation.rotate_long_logs(containers)
            return len(list_rotated(log)) == 2

        await bench.until(is_rotated_twice)
        await bench.runtime.stop_container(app, 0)
        told = [line async for line in lines]

        numbers = [int(line.text) for line in told]
        assert numbers == list(range(first + 1, first + 1 + len(told)))
        assert len(told) > 100
        assert not any(line.is_after_gap for line in told)

    async def test_nothing_but_volumes_is_left_of_a_pod(self, bench: CriBench) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)
        app = await run(bench, pod, VolumeMount("data", "/data"))
        await inspect(
            bench, app, "echo bye > /dev/termination-log; echo 1 > /data/file"
        )
        (sandbox,) = (await bench.pod()).sandboxes

        await bench.runtime.remove_pod_sandbox(sandbox.sandbox_id)

        left = {path.name for path in bench.folder.rglob("*") if path.is_file()}
        assert left == {"pod.json", "file"}

    async def test_files_of_a_pod_stay_while_it_has_another_sandbox(
        self, bench: CriBench
    ) -> None:
        first = await bench.sandbox(a_pod())
        await bench.runtime.stop_pod_sandbox(first)
        second = await bench.sandbox(a_pod(), attempt=1)
        app = await bench.run("echo one", sandbox_id=second)
        await bench.ended(app)

        await bench.runtime.remove_pod_sandbox(first)

        assert await bench.printed(app) == ["one"]


class TestUnmanaged:
    """What a kubelet on the same runtime has."""

    @pytest.mark.parametrize(
        "act",
        [
            pytest.param(
                lambda runtime, _, app: runtime.stop_container(app, 0), id="stop"
            ),
            pytest.param(
                lambda runtime, _, app: runtime.remove_container(app), id="remove"
            ),
            pytest.param(
                lambda runtime, sandbox, _: runtime.stop_pod_sandbox(sandbox),
                id="stop sandbox",
            ),
            pytest.param(
                lambda runtime, sandbox, _: runtime.remove_pod_sandbox(sandbox),
                id="remove sandbox",
            ),
        ],
    )
    async def test_even_by_its_id_it_is_left_alone(
        self, bench: CriBench, act: Callable[..., Any]
    ) -> None:
        sandbox_id, container_id = await bench.run_unmanaged()

        with pytest.raises(ContainerRuntimeError, match="left alone"):
            await act(bench.runtime, sandbox_id, ContainerID(f"x://{container_id}"))

        assert await bench.unmanaged_is_running()


class TestPods:
    """What containers of a pod share."""

    async def test_a_pods_address_outlives_its_containers(
        self, bench: CriBench
    ) -> None:
        sandbox_id = await bench.sandbox(a_pod())
        first = await bench.run(FAILS, sandbox_id=sandbox_id)
        before = (await bench.pod()).ips
        await bench.ended(first)

        await bench.run(POLITE, sandbox_id=sandbox_id)

        assert (await bench.pod()).ips == before
        assert before

    async def test_containers_have_the_pods_name_and_address(
        self, bench: CriBench
    ) -> None:
        pod = a_pod(a_container(command=sh(SLOW)), hostname="db-0")

        found = await output_of(bench, pod, "hostname; hostname -i; cat /etc/hosts")

        (ip,) = (await bench.pod()).ips
        assert found.splitlines()[:2] == ["db-0", ip]
        assert f"{ip}\tdb-0\n" in found

    async def test_processes_are_shared_only_if_the_pod_sets_it(
        self, bench: CriBench
    ) -> None:
        script = "ls -d /proc/[0-9]* | wc -l"

        own = await output_of(bench, a_pod_of(), script)
        shared = await output_of(
            bench, a_pod_of(name="shared", share_process_namespace=True), script
        )

        assert int(shared) > int(own)

    async def test_a_port_of_the_machine_leads_to_the_pod(
        self, bench: CriBench
    ) -> None:
        port = ContainerPort(8080, host_port=18099)
        server = a_container(command=("httpd", "-f", "-p", "8080"), ports=(port,))
        await start(bench, a_pod(server))
        machine = host_address()

        async def answers() -> bool:
            try:
                _, writer = await asyncio.open_connection(machine, 18099)
            except OSError:
                return False
            writer.close()
            return True

        await bench.until(answers)

    async def test_names_are_resolved_by_the_dns_settings_of_the_pod(
        self, bench: CriBench
    ) -> None:
        config = DNSConfig(("192.0.2.53",), ("a.test",), (DNSOption("ndots", "3"),))
        pod = a_pod_of(
            dns_policy="None",
            dns_config=config,
            host_aliases=(HostAlias("192.0.2.1", ("one.test", "two.test")),),
        )

        found = await output_of(bench, pod, "cat /etc/resolv.conf /etc/hosts")

        lines = [line.split() for line in found.splitlines()]
        assert ["nameserver", "192.0.2.53"] in lines
        assert ["search", "a.test"] in lines
        assert ["options", "ndots:3"] in lines
        assert ["192.0.2.1", "one.test", "two.test"] in lines


class TestSecurity:
    """As whom containers run, and what they may do."""

    async def test_a_container_runs_as_user_and_groups(self, bench: CriBench) -> None:
        pod = a_pod_of(
            SecurityContext(run_as_user=10000, run_as_group=20000),
            security_context=PodSecurityContext(
                supplemental_groups=(30000,), fs_group=4
            ),
        )

        assert await output_of(bench, pod, "id -u; id -g; id -G") == (
            "10000\n20000\n20000 4 30000\n"
        )

    async def test_another_user_can_leave_last_words(self, bench: CriBench) -> None:
        words = await message(
            bench,
            "printf finished > /dev/my-log",
            termination_message_path="/dev/my-log",
            security_context=SecurityContext(run_as_user=10000),
        )

        assert words == "finished"

    async def test_volumes_belong_to_the_pods_group(self, bench: CriBench) -> None:
        volumes = (Volume("data", EmptyDir()), Volume("config", Projected()))
        pod = replace(
            a_pod_with(*volumes), security_context=PodSecurityContext(fs_group=4000)
        )
        for volume in pod.volumes:
            await mount(bench, replace(pod, volumes=(volume,)), *FILES)
        app = await run(
            bench,
            pod,
            VolumeMount("data", "/data"),
            VolumeMount("config", "/config"),
            security_context=SecurityContext(run_as_user=10000),
        )

        found = await inspect(
            bench,
            app,
            "touch /data/x && stat -c %g /data/x; cat /config/deep/b | wc -c; "
            "stat -Lc '%g %a' /config/deep/b",
        )

        assert found == "4000\n2\n4000 640\n"

    async def test_a_volume_in_memory_is_as_large_as_it_may_be_and_goes_away(
        self, bench: CriBench
    ) -> None:
        pod = a_pod_with(Volume("fast", EmptyDir(MEMORY, Decimal(1024 * 1024))))
        await mount(bench, pod)
        app = await run(bench, pod, VolumeMount("fast", "/fast"))

        found = await inspect(
            bench,
            app,
            "df -k /fast | tail -n 1; "
            "(head -c 2000000 /dev/zero > /fast/x) 2>/dev/null; stat -c %s /fast/x",
        )
        await bench.runtime.stop_container(app, 0)
        await bench.runtime.unmount_volume(UnmountVolume(pod.uid, "fast"))

        assert found.split()[:2] == ["tmpfs", "1024"]
        assert found.splitlines()[-1] == "1048576"
        assert not list(bench.folder.rglob("fast"))

    async def test_a_frozen_file_system_has_volumes_that_are_not(
        self, bench: CriBench
    ) -> None:
        pod = a_pod_with(Volume("data"))
        await mount(bench, pod)

        app = await run(
            bench,
            pod,
            VolumeMount("data", "/data"),
            security_context=SecurityContext(read_only_root_filesystem=True),
        )

        assert await inspect(bench, app, "touch /data/x; ls /data") == "x\n"
        assert "Read-only file system" in await inspect(bench, app, "touch /x")

    async def test_capabilities_are_added_and_dropped(self, bench: CriBench) -> None:
        none = SecurityContext(drop_capabilities=("ALL",))
        one = SecurityContext(drop_capabilities=("ALL",), add_capabilities=("KILL",))
        script = "grep CapEff /proc/1/status | cut -f 2"

        assert await output_of(bench, a_pod_of(none), script) == "0000000000000000\n"
        assert await output_of(bench, a_pod_of(one, name="one"), script) == (
            "0000000000000020\n"
        )

    async def test_a_container_may_be_kept_from_more_privileges(
        self, bench: CriBench
    ) -> None:
        context = SecurityContext(allow_privilege_escalation=False)

        found = await output_of(
            bench, a_pod_of(context), "grep NoNewPrivs /proc/1/status"
        )

        assert found.split() == ["NoNewPrivs:", "1"]


class TestEnds:
    """How containers and commands in them end."""

    async def test_a_container_out_of_memory_has_the_reason(
        self, bench: CriBench
    ) -> None:
        # One that ends in the same moment may take the news with it.
        eats = "head -c 100000000 /dev/zero | tail; sleep 1; exit 1"
        hungry = replace(
            bench.container(eats),
            resources=Resources(limits={"memory": Decimal(16 * 2**20)}),
        )

        status = await bench.ended(await bench.run_container(hungry))

        assert (status.reason, status.oom_killed) == ("OOMKilled", True)

    async def test_a_container_that_cannot_run_has_a_reason(
        self, bench: CriBench
    ) -> None:
        container = a_container(command=("/no/such/program",))
        container_id = await bench.create(container)

        with pytest.raises(ContainerRuntimeError, match="/no/such/program"):
            await bench.runtime.start_container(container_id)

        status = await bench.status(container_id)
        assert status is not None
        assert (status.state, status.reason) == (RuntimeState.EXITED, "StartError")
        assert "/no/such/program" in status.message

    async def test_two_may_remove_a_container_at_once(self, bench: CriBench) -> None:
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

    async def test_children_of_a_command_that_ran_too_long_live_on(
        self, bench: CriBench
    ) -> None:
        container_id = await bench.run_ready(POLITE)

        with pytest.raises(ExecTimeoutError) as caught:
            await bench.sh(container_id, BEATS, limit=1)

        still_beats = await bench.sh(container_id, BEATS_NO_MORE)
        assert still_beats.exit_code != 0
        assert not caught.value.killed

    async def test_relists_inspect_only_changed_containers(
        self, bench: CriBench
    ) -> None:
        await bench.run_ready(POLITE)
        first = await bench.runtime.relist()
        bench.client.made.clear()

        second = await bench.runtime.relist()

        assert second == first
        assert bench.client.made == ["ListPodSandbox", "ListContainers"]

    async def test_following_can_be_left_at_any_time(self, bench: CriBench) -> None:
        container_id = await bench.run("while :; do echo more; done")
        lines = bench.runtime.follow_logs(container_id, tail=1, follow=True)

        found = [(await anext(lines)).text for _ in range(2000)]
        await lines.aclose()  # type: ignore[attr-defined]  # a generator

        assert set(found) == {"more"}
        await bench.runtime.stop_container(container_id, 0)

    async def test_the_runtime_gets_the_same_configuration_as_from_a_kubelet(
        self, bench: CriBench
    ) -> None:
        pod = a_pod(name="shop", namespace="retail", uid=bench.options.owner)
        sandbox_id = await bench.sandbox(pod, attempt=1)
        created = await bench.runtime.create_container(
            CreateContainer(pod, bench.container(POLITE), sandbox_id, 3, "")
        )

        sandbox = await bench.sandbox_message(sandbox_id)
        container = await bench.container_message(created)

        assert sandbox.metadata == cri.PodSandboxMetadata(
            name="shop", namespace="retail", uid=pod.uid, attempt=1
        )
        assert container.metadata == cri.ContainerMetadata(name="app", attempt=3)
        assert container.log_path == str(logs_of(pod) / "app" / "3.log")


async def test_what_a_killed_test_left_keeps_its_name_from_no_other(
    bench: CriBench,
) -> None:
    killed = CriBench()
    left = await killed.sandbox(a_pod())

    await bench.remove_left_behind()

    assert left != await bench.sandbox(a_pod())
    await killed.close()
