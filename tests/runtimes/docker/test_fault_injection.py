"""Containers disrupted with Docker's own means, against a real daemon."""

from __future__ import annotations

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import Fault
from probetui.runtimes.docker.translate import to_container_id
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.fault_contract import (
    FaultContract,
    NetworkFaultContract,
)

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class TestFaultContract(FaultContract, NetworkFaultContract):
    """Docker keeps the contract."""


async def test_a_foreign_container_is_left_alone(bench: DockerBench) -> None:
    unmanaged = bench.run_unmanaged()

    with pytest.raises(ContainerRuntimeError):
        await bench.runtime.inject_fault(to_container_id(unmanaged.id), Fault.KILL)

    assert await bench.unmanaged_is_running()
