"""Processes under the contract, and what only they promise."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from probetui.drive.clocks import SystemClock
from probetui.ports import Runtime
from probetui.runtimes.process.runtime import ProcessRuntime
from tests.runtimes.bench import Bench
from tests.runtimes.capability_contract import (
    EventContract,
    LogContract,
    NetworkContract,
)
from tests.runtimes.contract import RuntimeContract

SERVER = """
import os, socket, sys
server = socket.create_server((os.environ["POD_IP"], int(sys.argv[1])))
while True:
    server.accept()[0].close()
"""


class ProcessBench(Bench):
    """Processes below a folder of the test's."""

    def __init__(self, base: Path) -> None:
        self.base = base
        clock = SystemClock()
        super().__init__(ProcessRuntime(base, clock), clock)

    def another(self) -> Runtime:
        return ProcessRuntime(self.base, SystemClock())

    async def add_foreign(self) -> None:
        (self.base / "theirs").mkdir(parents=True)
        (self.base / "theirs/sandbox.json").write_text("[]")

    async def foreign_lives(self) -> bool:
        return (self.base / "theirs/sandbox.json").exists()

    async def clean_up(self) -> None:
        cleaner = self.another()
        for pod in await cleaner.relist():
            for sandbox in pod.sandboxes:
                await cleaner.remove_pod_sandbox(sandbox.sandbox_id)
        await cleaner.close()
        await self.runtime.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ProcessBench]:
    bench = ProcessBench(tmp_path)
    yield bench
    await bench.clean_up()


class TestProcessRuntime(RuntimeContract, NetworkContract, LogContract, EventContract):
    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return lambda port: (sys.executable, "-c", SERVER, str(port))
