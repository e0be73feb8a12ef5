"""Where containers on a real Docker daemon listen."""

from __future__ import annotations

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.runtime import ListenerScope
from tests.builders import a_pod
from tests.runtimes.bench import POLITE
from tests.runtimes.docker.bench import DockerBench, bench
from tests.runtimes.listener_contract import ListenerContract, Server

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]


class TestDockerListeners(ListenerContract):
    """Listeners of Docker's containers are found if the daemon is on this machine."""

    @pytest.fixture
    def server(self) -> Server:
        return lambda endpoint: ("httpd", "-f", "-p", endpoint)

    async def test_in_the_hosts_network_it_is_this_machine_that_listens(
        self, bench: DockerBench
    ) -> None:
        pod = a_pod(bench.container(POLITE), host_network=True)
        sandbox_id = await bench.sandbox(pod)
        container_id = await bench.run(POLITE, sandbox_id=sandbox_id)

        found = await bench.runtime.listeners(container_id)

        assert found.extent is ListenerScope.MACHINE

    async def test_a_daemon_on_another_machine_shows_nothing(
        self, bench: DockerBench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        bench.runtime._listeners._processes = None

        with pytest.raises(ContainerRuntimeError, match="another machine"):
            await bench.runtime.listeners(container_id)
