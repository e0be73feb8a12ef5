"""Processes under the contract; what only they promise is in `process/`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import Fault
from tests.runtimes.bench import UNAWARE, Bench
from tests.runtimes.capability_contract import (
    EventContract,
    LabelContract,
    LogContract,
    NetworkContract,
)
from tests.runtimes.contract import RuntimeContract
from tests.runtimes.fault_contract import FaultContract, inject_fault
from tests.runtimes.message_contract import MessageContract
from tests.runtimes.process.bench import ProcessBench
from tests.runtimes.streaming_contract import StreamingContract
from tests.runtimes.volume_contract import VolumeContract

SERVER = """
import os, socket, sys
server = socket.create_server((os.environ["POD_IP"], int(sys.argv[1])))
while True:
    server.accept()[0].close()
"""


class TestProcessRuntime(
    StreamingContract,
    RuntimeContract,
    NetworkContract,
    LabelContract,
    LogContract,
    EventContract,
    VolumeContract,
    MessageContract,
    FaultContract,
):
    @pytest.fixture
    async def bench(self, tmp_path: Path) -> AsyncIterator[Bench]:
        bench = ProcessBench(tmp_path)
        yield bench
        await bench.clean_up()

    @pytest.mark.skipif(sys.platform != "linux", reason="handlers are seen in /proc")
    async def test_a_program_without_a_handler_is_not_ended_by_the_stop_signal(
        self, bench: Bench
    ) -> None:
        await super().test_a_program_without_a_handler_is_not_ended_by_the_stop_signal(
            bench
        )

    @pytest.mark.skipif(sys.platform != "linux", reason="handlers are seen in /proc")
    async def test_a_process_without_a_handler_ignores_the_signal(
        self, bench: Bench
    ) -> None:
        await super().test_a_process_without_a_handler_ignores_the_signal(bench)

    async def test_the_network_of_the_machine_is_not_cut(self, bench: Bench) -> None:
        container_id = await bench.run(UNAWARE)

        with pytest.raises(ContainerRuntimeError, match="share the network"):
            await inject_fault(bench, container_id, Fault.CUT_NETWORK)

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return lambda port: (sys.executable, "-c", SERVER, str(port))
