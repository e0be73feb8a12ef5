"""Fake unmanaged containers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, RuntimeContainerStatus, RuntimeState
from probetui.kubelet.effects import Fault
from probetui.ports import (
    ExecResult,
    UnmanagedContainer,
    UnmanagedContainers,
    UnmanagedStatus,
)
from tests.builders import at
from tests.fakes import FakeClock, FakeEngine, FakeRuntime


class FakeUnmanaged(UnmanagedContainers):
    """Unmanaged containers: running, exited or removed."""

    name = "fake"

    def __init__(self, *names: str, can_start: bool = True) -> None:
        self.can_start = can_start
        self.containers: dict[str, UnmanagedStatus] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self.injected: dict[str, Fault] = {}
        self.inspections = 0
        self.revision = ""
        self._seconds = 0
        for name in names:
            self.run(name)

    def run(self, name: str, ip: str = "", image: str = "") -> None:
        """Let a container run, from now on."""
        self._seconds += 1
        self.containers[name] = UnmanagedStatus(
            RuntimeContainerStatus(
                ContainerID(f"docker://{name}1"),
                "",
                RuntimeState.RUNNING,
                created_at=at(0),
                started_at=at(self._seconds),
                image=image,
            ),
            ip,
        )

    def state_of(self, name: str) -> RuntimeState:
        return self.containers[name].status.state

    async def list(self) -> tuple[UnmanagedContainer, ...]:
        return tuple(
            UnmanagedContainer(
                found.status.container_id,
                (name,),
                found.status.state is RuntimeState.RUNNING,
                self.labels.get(name, {}),
                found.status.image,
                revision=self.revision,
            )
            for name, found in self.containers.items()
        )

    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        self.inspections += 1
        return self.containers.get(self._name(container_id))

    async def exec_sync(
        self, container_id: ContainerID, command: tuple[str, ...], timeout_seconds: int
    ) -> ExecResult:
        return ExecResult(0, self._name(container_id).encode(), b"")

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        name = self._name(container_id)
        ended = replace(
            self.containers[name].status,
            state=RuntimeState.EXITED,
            exit_code=143,
            finished_at=at(self._seconds),
        )
        self.containers[name] = UnmanagedStatus(ended)

    async def start(self, container_id: ContainerID) -> None:
        self.run(self._name(container_id))

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        self.injected[self._name(container_id)] = fault

    def fault_refusal(
        self,
        pod: Pod,
        fault: Fault,
    ) -> str:
        return "it has no cable" if fault is Fault.CUT_NETWORK else ""

    def dial_address(self, ip: str, port: int) -> tuple[str, int]:
        return "127.0.0.1", port + 1

    async def watch(self) -> AsyncIterator[None]:
        yield

    @staticmethod
    def _name(container_id: ContainerID) -> str:
        return container_id.removeprefix("docker://").removesuffix("1")


class RuntimeOfOthers(FakeRuntime):
    """A runtime with unmanaged containers."""

    def __init__(self, unmanaged: FakeUnmanaged) -> None:
        super().__init__(FakeEngine(FakeClock()))
        self._unmanaged = unmanaged

    def unmanaged(self) -> FakeUnmanaged:
        return self._unmanaged
