"""Containers on Docker that somebody else made."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import docker.errors
import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ContainerID, RuntimeState
from probetui.kubelet.effects import Fault
from probetui.ports import UnmanagedContainer, UnmanagedStatus
from probetui.runtimes.docker.unmanaged import UnmanagedDockerContainers
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import DockerBench

pytestmark = pytest.mark.docker

IMAGE = "busybox:1.36"
GONE = ContainerID("docker://" + "0" * 64)
Start = Callable[..., Any]


@pytest.fixture
async def unmanaged(bench: DockerBench) -> UnmanagedDockerContainers:
    """Return what is seen of the daemon by a runtime that owns nothing there."""
    return bench.runtime.unmanaged()


@pytest.fixture
def start(bench: DockerBench) -> Iterator[Start]:
    """Return what runs a container as `docker run` would."""
    made: list[Any] = []

    def start(**options: Any) -> Any:
        wanted = {"command": ["sleep", "300"], "labels": {"app": "web"}} | options
        name, image = f"foreign-{uuid.uuid4().hex[:8]}", wanted.pop("image", IMAGE)
        made.append(bench.sdk.containers.run(image, detach=True, name=name, **wanted))
        return made[-1]

    yield start
    for container in reversed(made):
        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True, v=True)


@pytest.fixture
async def bench() -> Any:
    made = DockerBench()
    yield made
    await made.runtime.close()
    made.sdk.close()


def id_of(container: Any) -> ContainerID:
    return ContainerID(f"docker://{container.id}")


async def listed(
    unmanaged: UnmanagedDockerContainers, container: Any
) -> UnmanagedContainer:
    (found,) = [
        unmanaged_container
        for unmanaged_container in await unmanaged.list()
        if unmanaged_container.container_id == id_of(container)
    ]
    return found


async def inspect(
    unmanaged: UnmanagedDockerContainers, container: Any
) -> UnmanagedStatus:
    await unmanaged.list()
    found = await unmanaged.inspect(id_of(container))
    assert found is not None
    return found


async def test_a_container_is_listed_with_what_it_can_be_found_by(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()

    found = await listed(unmanaged, container)

    assert found.names == (container.name,)
    assert (found.is_running, found.image) == (True, IMAGE)
    assert found.labels["app"] == "web"
    assert found.created_at is not None


@pytest.mark.parametrize(
    ("labels", "image"),
    [
        pytest.param({"dev.probetui.image": IMAGE}, IMAGE, id="one of probetui's"),
        pytest.param({}, "", id="one whose image is known by its ID alone"),
    ],
)
async def test_an_image_has_the_requested_name(
    unmanaged: UnmanagedDockerContainers,
    bench: DockerBench,
    start: Start,
    labels: dict[str, str],
    image: str,
) -> None:
    container = start(image=bench.sdk.images.get(IMAGE).id, labels=labels)

    found = await listed(unmanaged, container)

    assert found.image == image


async def test_its_status_has_the_address_its_ports_are_at(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()
    container.reload()

    found = await inspect(unmanaged, container)

    assert found.status.state is RuntimeState.RUNNING
    assert found.status.image == IMAGE
    assert found.ip == container.attrs["NetworkSettings"]["IPAddress"] != ""


async def test_one_in_the_network_of_another_has_the_address_of_that(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    first = start()
    second = start(network_mode=f"container:{first.id}")

    found = await inspect(unmanaged, second)

    assert found.ip == (await inspect(unmanaged, first)).ip != ""


async def test_one_in_the_network_of_the_machine_is_on_this_machine(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    found = await inspect(unmanaged, start(network_mode="host"))

    assert found.ip == "127.0.0.1"


async def test_a_command_runs_in_it(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    result = await unmanaged.exec_sync(id_of(start()), ("echo", "hello"), 10)

    assert (result.exit_code, result.stdout) == (0, b"hello\n")


async def test_it_is_stopped_and_started_again_under_the_same_id(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start(command=["sh", "-c", POLITE])
    first = await inspect(unmanaged, container)

    await unmanaged.stop(id_of(container), 0)
    stopped = await inspect(unmanaged, container)
    await unmanaged.start(id_of(container))
    second = await inspect(unmanaged, container)

    assert stopped.status.state is RuntimeState.EXITED
    assert stopped.ip == ""
    assert second.status.state is RuntimeState.RUNNING
    assert first.status.started_at is not None
    assert second.status.started_at is not None
    assert second.status.started_at > first.status.started_at


async def test_what_is_gone_is_not_there(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()
    await inspect(unmanaged, container)

    container.remove(force=True, v=True)
    await unmanaged.list()

    assert await unmanaged.inspect(id_of(container)) is None
    await unmanaged.stop(id_of(container), 0)
    with pytest.raises(ContainerRuntimeError, match="No such container"):
        await unmanaged.start(id_of(container))
    assert await unmanaged.inspect(GONE) is None


async def test_a_restart_by_another_client_is_reported(
    bench: DockerBench, unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()
    first = await inspect(unmanaged, container)

    async def read_changed_status() -> UnmanagedStatus:
        # Each happening forgets what was known of its own container, and the daemon
        # tells of those of others too.
        async for _ in unmanaged.watch():
            if (second := await inspect(unmanaged, container)).status != first.status:
                return second
        raise AssertionError("the events came to an end")

    changed = asyncio.ensure_future(read_changed_status())
    await asyncio.to_thread(bench.api.watched.wait, 30)

    await asyncio.to_thread(container.restart, timeout=0)
    second = await asyncio.wait_for(changed, timeout=30)

    assert second.status != first.status


def paused(container: Any) -> bool:
    container.reload()
    return bool(container.attrs["State"]["Paused"])


def networks(container: Any) -> dict[str, dict[str, Any]]:
    container.reload()
    found: dict[str, dict[str, Any]] = container.attrs["NetworkSettings"]["Networks"]
    return found


@pytest.fixture
def network(bench: DockerBench) -> Iterator[Any]:
    """Return a network of somebody's own; asked for before what is started in it."""
    subnet = f"10.214.{secrets.randbelow(256)}.0/24"
    pool = docker.types.IPAMPool(subnet=subnet)
    made = bench.sdk.networks.create(
        f"foreign-{uuid.uuid4().hex[:8]}",
        ipam=docker.types.IPAMConfig(pool_configs=[pool]),
    )
    yield made
    made.remove()


async def test_a_process_is_frozen_and_thawed(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()
    before = await listed(unmanaged, container)

    await unmanaged.inject_fault(id_of(container), Fault.FREEZE)
    frozen = paused(container)
    seen_frozen = await listed(unmanaged, container)
    await unmanaged.inject_fault(id_of(container), Fault.UNFREEZE)

    assert frozen
    assert seen_frozen.is_running, "what stands still has not ended"
    assert "" != before.revision != seen_frozen.revision
    assert not paused(container)


async def test_one_is_killed(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    container = start()

    await unmanaged.inject_fault(id_of(container), Fault.KILL)

    assert container.wait()["StatusCode"] == 137


async def test_frozen_containers_are_thawed_when_the_session_ends(
    bench: DockerBench, start: Start
) -> None:
    container, theirs, gone = start(), start(), start()
    theirs.pause()
    session = bench.another()
    unmanaged = session.unmanaged()
    for docker_container in (container, theirs, gone):
        await unmanaged.inject_fault(id_of(docker_container), Fault.FREEZE)
    gone.remove(force=True, v=True)

    await session.close()

    assert not paused(container)
    assert paused(theirs), "somebody else froze it"


async def test_one_that_is_cut_off_keeps_its_address_until_it_is_joined(
    unmanaged: UnmanagedDockerContainers, network: Any, start: Start
) -> None:
    container = start(network=network.name)
    address = networks(container)[network.name]["IPAddress"]
    network.disconnect(container)
    network.connect(container, aliases=["shop"], ipv4_address=address)

    await unmanaged.inject_fault(id_of(container), Fault.CUT_NETWORK)
    cut = networks(container)
    seen = await inspect(unmanaged, container)
    await unmanaged.inject_fault(id_of(container), Fault.RESTORE_NETWORK)

    joined = networks(container)
    assert (cut, seen.ip) == ({}, address)
    assert list(joined) == [network.name]
    assert joined[network.name]["IPAddress"] == address
    assert "shop" in joined[network.name]["Aliases"]


async def test_what_was_cut_off_is_joined_when_the_session_ends(
    bench: DockerBench, network: Any, start: Start
) -> None:
    container = start()
    network.connect(container)
    before = set(networks(container))
    session = bench.another()
    await session.unmanaged().inject_fault(id_of(container), Fault.CUT_NETWORK)
    cut = networks(container)

    await session.close()

    assert cut == {}
    assert set(networks(container)) == before


async def test_one_that_was_started_again_meanwhile_is_in_all_its_networks_at_last(
    unmanaged: UnmanagedDockerContainers, network: Any, start: Start
) -> None:
    container = start()
    network.connect(container)
    before = set(networks(container))
    await unmanaged.inject_fault(id_of(container), Fault.CUT_NETWORK)
    await unmanaged.stop(id_of(container), 0)
    await unmanaged.start(id_of(container))

    await unmanaged.inject_fault(id_of(container), Fault.RESTORE_NETWORK)

    assert set(networks(container)) == before


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        pytest.param("host", "uses the host network", id="host"),
        pytest.param("none", "not connected to any network", id="none"),
    ],
)
async def test_a_network_that_is_not_its_own_is_not_cut(
    unmanaged: UnmanagedDockerContainers, start: Start, mode: str, words: str
) -> None:
    container = start(network_mode=mode)

    with pytest.raises(ContainerRuntimeError, match=words):
        await unmanaged.inject_fault(id_of(container), Fault.CUT_NETWORK)


async def test_the_network_of_another_container_is_not_cut(
    unmanaged: UnmanagedDockerContainers, start: Start
) -> None:
    first = start()
    second = start(network_mode=f"container:{first.id}")

    with pytest.raises(ContainerRuntimeError, match="network of another container"):
        await unmanaged.inject_fault(id_of(second), Fault.CUT_NETWORK)

    assert networks(first)
