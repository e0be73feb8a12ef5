"""As whom containers run, what they may do, and how they find names, for real."""

from __future__ import annotations

from typing import Any

import docker.errors
import pytest

from probetui.k8s.pod import (
    DNSConfig,
    DNSOption,
    HostAlias,
    Pod,
    PodSecurityContext,
    SecurityContext,
    VolumeMount,
)
from probetui.k8s.volume import Volume
from probetui.kubelet.effects import CreateContainer
from tests.builders import a_container, a_pod
from tests.runtimes.bench import SLOW, sh
from tests.runtimes.docker.bench import DockerBench, bench, built_image
from tests.runtimes.message_contract import message
from tests.runtimes.volume_contract import a_pod_with, inspect, mount, run

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


async def output_of(bench: DockerBench, pod: Pod, script: str) -> str:
    """Return what a script prints in the only container of a pod."""
    (container,) = pod.containers
    sandbox_id = await bench.sandbox(pod)
    image_id = await bench.runtime.image_status(container.image) or ""
    app = await bench.runtime.create_container(
        CreateContainer(pod, container, sandbox_id, 0, image_id)
    )
    await bench.runtime.start_container(app)
    return await inspect(bench, app, script)


def a_pod_of(context: SecurityContext | None = None, **fields: Any) -> Pod:
    app = a_container(command=sh(SLOW), security_context=context or SecurityContext())
    return a_pod(app, **fields)


async def test_a_container_runs_as_user_and_groups(bench: DockerBench) -> None:
    pod = a_pod_of(
        SecurityContext(run_as_user=10000, run_as_group=20000),
        security_context=PodSecurityContext(supplemental_groups=(30000,), fs_group=4),
    )

    assert await output_of(bench, pod, "id -u; id -g; id -G") == (
        "10000\n20000\n20000 4 30000\n"
    )


async def test_another_user_can_write_volumes_and_last_words(
    bench: DockerBench,
) -> None:
    nobody = SecurityContext(run_as_user=10000)

    words = await message(
        bench,
        "printf finished > /dev/my-log",
        termination_message_path="/dev/my-log",
        security_context=nobody,
    )

    assert words == "finished"


async def test_a_frozen_file_system_has_volumes_that_are_not(
    bench: DockerBench,
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


async def test_capabilities_are_added_and_dropped(bench: DockerBench) -> None:
    none = SecurityContext(drop_capabilities=("ALL",))
    one = SecurityContext(drop_capabilities=("ALL",), add_capabilities=("KILL",))
    script = "grep CapEff /proc/1/status | cut -f 2"

    assert await output_of(bench, a_pod_of(none), script) == "0000000000000000\n"
    assert await output_of(bench, a_pod_of(one, name="one"), script) == (
        "0000000000000020\n"
    )


@pytest.fixture
def _privileges(bench: DockerBench) -> None:
    """Skip a test where not even the daemon may do everything."""
    made = bench.sdk.containers.create(bench.image, "true", privileged=True)
    try:
        made.start()
    except docker.errors.APIError as error:
        pytest.skip(f"no privileged containers here: {error.explanation}")
    finally:
        made.remove(force=True, v=True)


@pytest.mark.usefixtures("_privileges")
async def test_a_privileged_container_may_do_anything(bench: DockerBench) -> None:
    script = "mount -t tmpfs x /mnt && echo mounted"

    plain = await output_of(bench, a_pod_of(), script)
    privileged = await output_of(
        bench, a_pod_of(SecurityContext(privileged=True), name="strong"), script
    )

    assert "mounted" not in plain
    assert privileged == "mounted\n"


async def test_a_container_may_be_kept_from_more_privileges(bench: DockerBench) -> None:
    context = SecurityContext(allow_privilege_escalation=False)

    found = await output_of(bench, a_pod_of(context), "grep NoNewPrivs /proc/1/status")

    assert found.split() == ["NoNewPrivs:", "1"]


async def test_an_image_has_its_user(bench: DockerBench) -> None:
    with built_image("USER 1234:99") as image:
        assert await bench.runtime.image_user(image) == "1234:99"
    assert await bench.runtime.image_user(bench.image) == ""


async def test_names_are_resolved_by_the_dns_settings_of_the_pod(
    bench: DockerBench,
) -> None:
    config = DNSConfig(("192.0.2.53",), ("a.test",), (DNSOption("ndots", "3"),))
    pod = a_pod_of(
        dns_policy="None",
        dns_config=config,
        host_aliases=(HostAlias("192.0.2.1", ("one.test", "two.test")),),
        hostname="my-host",
    )

    found = await output_of(bench, pod, "cat /etc/resolv.conf /etc/hosts; hostname")

    lines = [line.split() for line in found.splitlines() if line[:1] != "#"]
    assert ["nameserver", "192.0.2.53"] in lines
    assert ["search", "a.test"] in lines
    assert ["options", "ndots:3"] in lines
    assert ["192.0.2.1", "one.test"] in lines
    assert ["192.0.2.1", "two.test"] in lines
    assert lines[-1] == ["my-host"]


async def test_a_pod_finds_its_own_name(bench: DockerBench) -> None:
    found = await output_of(bench, a_pod_of(), "cat /etc/hosts")

    (status,) = await bench.runtime.relist()
    assert [status.ips[0], "web"] in [line.split() for line in found.splitlines()]
