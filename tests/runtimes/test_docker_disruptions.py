"""Containers disrupted with Docker's own means, against a real daemon."""

from __future__ import annotations

import asyncio

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Disruption
from probetui.runtimes.docker.translate import to_container_id
from tests.builders import a_pod
from tests.runtimes.bench import POLITE
from tests.runtimes.disruption_contract import DisruptionContract
from tests.runtimes.docker_bench import DockerBench, bench

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]

PORT = 18081
ANSWERS_WITHIN_SECONDS = 1


class TestDisruptionContract(DisruptionContract):
    """Docker keeps the contract."""


async def is_reached(address: str) -> bool:
    """Tell whether a server in a pod accepts connections."""
    try:
        async with asyncio.timeout(ANSWERS_WITHIN_SECONDS):
            _, writer = await asyncio.open_connection(address, PORT)
    except (OSError, TimeoutError):
        return False
    writer.close()
    await writer.wait_closed()
    return True


async def a_server(bench: DockerBench) -> tuple[ContainerID, str]:
    """Run a server and return it with the address at which it answers."""
    command = ("httpd", "-f", "-p", str(PORT))
    container_id = await bench.run_container(
        Container("app", bench.image, command=command)
    )
    (address,) = (await bench.pod()).ips

    async def answers() -> bool:
        return await is_reached(address)

    await bench.until(answers)
    return container_id, address


async def test_a_pod_that_is_cut_off_keeps_its_address_and_does_not_answer(
    bench: DockerBench,
) -> None:
    container_id, address = await a_server(bench)

    await bench.runtime.disrupt(container_id, Disruption.CUT_NETWORK)

    pod = await bench.pod()
    assert pod.ips == (address,)
    assert pod.sandboxes[0].is_ready
    assert not await is_reached(address)


async def test_joined_again_it_answers_at_the_address_it_has_then(
    bench: DockerBench,
) -> None:
    container_id, _ = await a_server(bench)
    await bench.runtime.disrupt(container_id, Disruption.CUT_NETWORK)

    await bench.runtime.disrupt(container_id, Disruption.RESTORE_NETWORK)

    (address,) = (await bench.pod()).ips
    assert await is_reached(address)


async def test_to_cut_and_to_join_twice_is_no_error(bench: DockerBench) -> None:
    container_id, _ = await a_server(bench)

    for disruption in (Disruption.CUT_NETWORK, Disruption.RESTORE_NETWORK):
        await bench.runtime.disrupt(container_id, disruption)
        await bench.runtime.disrupt(container_id, disruption)

    (address,) = (await bench.pod()).ips
    assert await is_reached(address)


async def test_the_network_of_the_host_is_not_cut(bench: DockerBench) -> None:
    sandbox_id = await bench.sandbox(a_pod(host_network=True))
    container_id = await bench.run(POLITE, sandbox_id=sandbox_id)

    with pytest.raises(ContainerRuntimeError, match="in the network of the host"):
        await bench.runtime.disrupt(container_id, Disruption.CUT_NETWORK)


async def test_a_foreign_container_is_left_alone(bench: DockerBench) -> None:
    foreign = bench.run_foreign()

    with pytest.raises(ContainerRuntimeError):
        await bench.runtime.disrupt(to_container_id(foreign.id), Disruption.KILL)

    assert await bench.foreign_lives()
