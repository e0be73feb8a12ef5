"""The contract, and what only Docker does, against a real daemon."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import docker
import pytest

from probetui.drive.clocks import SystemClock
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.reach import Daemon
from probetui.runtimes.docker.runtime import DockerOptions, DockerRuntime
from probetui.runtimes.docker.translate import OWNER
from tests.runtimes.bench import Bench
from tests.runtimes.capability_contract import (
    EventContract,
    ImageContract,
    LogContract,
    NetworkContract,
)
from tests.runtimes.contract import RuntimeContract

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ENDPOINT = "unix:///var/run/docker.sock"


class DockerBench(Bench):
    """The daemon of this machine; everything made carries an owner of its own."""

    runtime: DockerRuntime

    def __init__(self, sdk: docker.DockerClient, **options: Any) -> None:
        self.sdk = sdk
        self.options = DockerOptions(owner=f"test-{uuid.uuid4().hex}", **options)
        self._foreign: list[Any] = []
        super().__init__(self.another(), SystemClock())

    def another(self) -> DockerRuntime:
        api = Api(base_url=ENDPOINT, version="auto", max_pool_size=600)
        return DockerRuntime(api, Daemon.of(ENDPOINT, api.info()), self.options)

    async def add_foreign(self) -> None:
        self.add_foreign_container()

    def add_foreign_container(self, **fields: Any) -> Any:
        """Run something with a name and labels much like ours, but not ours."""
        found = self.sdk.containers.run(
            self.image,
            ["sleep", "600"],
            detach=True,
            network_mode="none",
            stop_signal="SIGKILL",
            **fields,
        )
        self._foreign.append(found)
        return found

    async def foreign_lives(self) -> bool:
        (foreign,) = self._foreign
        foreign.reload()
        return bool(foreign.status == "running")

    async def close(self) -> None:
        """Remove whatever the test made."""
        await self.runtime.close()
        made = self.sdk.containers.list(
            all=True, filters={"label": f"{OWNER}={self.options.owner}"}
        )
        for each in (*made, *self._foreign):
            each.remove(force=True, v=True)


@pytest.fixture(scope="module")
def sdk() -> Iterator[docker.DockerClient]:
    client = docker.DockerClient(base_url=ENDPOINT)
    yield client
    client.close()


@pytest.fixture
async def bench(sdk: docker.DockerClient) -> AsyncIterator[DockerBench]:
    made = DockerBench(sdk)
    yield made
    await made.close()


class TestDockerContract(
    RuntimeContract, ImageContract, NetworkContract, LogContract, EventContract
):
    """Docker keeps the contract."""

    @pytest.fixture
    def server(self) -> Callable[[int], tuple[str, ...]]:
        return lambda port: ("httpd", "-f", "-p", str(port))
