"""Containers disrupted with Docker's own means, against a real daemon."""

from __future__ import annotations

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import Disruption
from probetui.runtimes.docker.translate import to_container_id
from tests.runtimes.disruption_contract import (
    DisruptionContract,
    NetworkDisruptionContract,
)
from tests.runtimes.docker_bench import DockerBench, bench

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class TestDisruptionContract(DisruptionContract, NetworkDisruptionContract):
    """Docker keeps the contract."""


async def test_a_foreign_container_is_left_alone(bench: DockerBench) -> None:
    foreign = bench.run_foreign()

    with pytest.raises(ContainerRuntimeError):
        await bench.runtime.disrupt(to_container_id(foreign.id), Disruption.KILL)

    assert await bench.foreign_lives()
