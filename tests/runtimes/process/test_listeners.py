"""Where plain processes listen."""

from __future__ import annotations

import sys

import pytest

from probetui.k8s.runtime import ContainerID, ListenerScope
from probetui.ports import Containers
from probetui.runtimes.process.runtime import ProcessRuntime
from tests.runtimes.bench import Bench
from tests.runtimes.listener_contract import ListenerContract, Server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere"),
]

LISTEN = (
    "import socket, sys, time; "
    "address, port = sys.argv[1].split(':'); "
    "server = socket.create_server((address, int(port))); "
    "time.sleep(300)"
)


class TestProcessListeners(ListenerContract):
    """Processes have no network of their own: their sockets are looked for."""

    extent = ListenerScope.CONTAINER

    @pytest.fixture
    def server(self) -> Server:
        """Return one that a child of the main process is."""
        return lambda endpoint: (
            "/bin/sh",
            "-c",
            f'{sys.executable} -c "{LISTEN}" {endpoint} & wait',
        )

    async def attach(
        self, bench: Bench, container_id: ContainerID
    ) -> tuple[Containers, ContainerID]:
        """Return the container's main process, as whoever looks at processes has it."""
        assert isinstance(bench.runtime, ProcessRuntime)
        process = bench.runtime._container(container_id).record.process
        assert process is not None
        unmanaged = bench.runtime.unmanaged()
        found = ContainerID(f"process://{process.pid}")
        await unmanaged.list()
        await unmanaged.inspect(found)
        return unmanaged, found
