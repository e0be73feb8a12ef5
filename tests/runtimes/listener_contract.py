"""The contract of finding the listeners of containers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container
from probetui.k8s.runtime import ContainerID, Listeners, ListenerScope, SocketAddress
from probetui.ports import Containers
from tests.runtimes.bench import POLITE, Bench

Server = Callable[[str], tuple[str, ...]]
"""How to run a program that listens at an `address:port`."""


class ListenerContract:
    """For runtimes whose container networks can be inspected from here."""

    extent = ListenerScope.POD

    @pytest.fixture
    def server(self) -> Server:
        raise AssertionError("a subclass says which program it is")

    @pytest.mark.parametrize(
        "address",
        [
            pytest.param("127.0.0.1", id="loopback"),
            pytest.param("0.0.0.0", id="everywhere"),
        ],
    )
    async def test_a_server_is_found_at_its_address(
        self, bench: Bench, server: Server, address: str, unused_tcp_port: int
    ) -> None:
        endpoint = SocketAddress(address, unused_tcp_port)
        container_id = await self._start(bench, server(str(endpoint)))

        async def is_found() -> bool:
            return await self._listeners(bench, container_id) == Listeners(
                (endpoint,), self.extent
            )

        await bench.until(is_found)

    async def test_an_attached_session_finds_the_same_listeners(
        self, bench: Bench, server: Server, unused_tcp_port: int
    ) -> None:
        endpoint = SocketAddress("127.0.0.1", unused_tcp_port)
        container_id = await self._start(bench, server(str(endpoint)))
        unmanaged, runtime_container_id = await self.attach(bench, container_id)

        async def is_found() -> bool:
            found = await unmanaged.listeners(runtime_container_id)
            return found.endpoints == (endpoint,)

        await bench.until(is_found)

    async def test_a_container_without_listeners_has_none(self, bench: Bench) -> None:
        container_id = await bench.run_ready(POLITE)

        found = await self._listeners(bench, container_id)

        assert found == Listeners((), self.extent)

    async def test_listeners_of_an_exited_container_are_refused(
        self, bench: Bench
    ) -> None:
        container_id = await bench.run_ready(POLITE)
        await bench.runtime.stop_container(container_id, 0)

        with pytest.raises(ContainerRuntimeError):
            await self._listeners(bench, container_id)

    async def attach(
        self, bench: Bench, container_id: ContainerID
    ) -> tuple[Containers, ContainerID]:
        """Return unmanaged access to a container, and its ID there."""
        unmanaged = bench.runtime.unmanaged()
        return unmanaged, container_id

    async def _start(self, bench: Bench, command: tuple[str, ...]) -> ContainerID:
        created = await bench.create(Container("app", bench.image, command=command))
        await bench.runtime.start_container(created)
        return created

    async def _listeners(self, bench: Bench, container_id: ContainerID) -> Listeners:
        return await bench.runtime.listeners(container_id)
