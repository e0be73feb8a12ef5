"""A bench on the containerd of `tools/engines/containerd.sh`, or on a named one."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from probetui.drive.clocks import SystemClock
from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Container, Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import UnmountVolume
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.runtime import CriOptions, CriRuntime, CriVersion
from probetui.runtimes.cri.translate import to_cri_id
from probetui.runtimes.translation import OWNER
from tests.builders import a_pod
from tests.engines import CRI_ENDPOINT
from tests.runtimes.bench import Bench

SOCKET = CRI_ENDPOINT.removeprefix("unix://")

ENGINE = CriVersion("containerd", "of a test")

PATIENCE = timedelta(seconds=2)
"""Shorter than the kubelet's two minutes, which is too long for tests."""


class CountingClient(CriClient):
    """A client that also records the names of its calls."""

    def __init__(self, socket: str) -> None:
        super().__init__(socket)
        self.made: list[str] = []

    async def call(self, method: Any, request: Any, **options: Any) -> Any:
        self.made.append(method.name)
        return await super().call(method, request, **options)


_OWNERS = "test-"

_PATIENT_TRIES = 9
"""Each takes the seconds that a connection may take."""


class CriBench(Bench):
    """A runtime with an owner of its own, so that benches do not see each other.

    Args:
        socket: the engine's.
        options: those of the runtime, but its owner and its folder.
    """

    runtime: CriRuntime

    # A runtime kills a command that ran too long, and none of its children.
    beats = "while :; do touch beat; sleep 0.05; done"

    def __init__(self, socket: str = SOCKET, **options: Any) -> None:
        self.socket = socket
        self.folder = Path(tempfile.mkdtemp(prefix="cri-bench-"))
        self.options = CriOptions(
            self.folder,
            owner=f"{_OWNERS}{uuid.uuid4().hex}",
            **{"exec_patience": PATIENCE, **options},
        )
        self.client = CountingClient(socket)
        self._others: list[CriClient] = []
        self._unmanaged: list[str] = []
        self._attempts: set[tuple[str, int]] = set()
        runtime = CriRuntime(self.client, ENGINE, SystemClock(), self.options)
        super().__init__(runtime, SystemClock())

    def another(self) -> CriRuntime:
        self._others.append(CriClient(self.socket))
        return CriRuntime(self._others[-1], ENGINE, SystemClock(), self.options)

    async def sandbox(self, pod: Pod, attempt: int = 0) -> str:
        """Run a sandbox and return its ID.

        A runtime refuses two of one pod and attempt; the next free one is taken.
        """
        return await super().sandbox(pod, self._free(pod.uid, attempt))

    async def create(
        self, container: Container, *, attempt: int = 0, sandbox_id: str = ""
    ) -> ContainerID:
        """Create a container, in a sandbox of its own unless one is given.

        Nor are there two instances of one container, even in two sandboxes.
        """
        attempt = self._free(container.name, attempt)
        return await super().create(container, attempt=attempt, sandbox_id=sandbox_id)

    def _free(self, name: str, attempt: int) -> int:
        while (name, attempt) in self._attempts:
            attempt += 1
        self._attempts.add((name, attempt))
        return attempt

    async def ask(self, method: Any, **fields: Any) -> Any:
        """Make a call of the CRI, about any container."""
        client = CriClient(self.socket)
        try:
            return await client.call(method, method.request(**fields))
        finally:
            await client.close()

    async def sandbox_message(self, sandbox_id: str) -> cri.PodSandboxStatus:
        """Return the runtime's status of a sandbox."""
        found = await self.ask(calls.POD_SANDBOX_STATUS, pod_sandbox_id=sandbox_id)
        status: cri.PodSandboxStatus = found.status
        return status

    async def container_message(self, container_id: ContainerID) -> cri.ContainerStatus:
        """Return the runtime's status of a container."""
        cri_id = to_cri_id(container_id)
        found = await self.ask(calls.CONTAINER_STATUS, container_id=cri_id)
        status: cri.ContainerStatus = found.status
        return status

    async def add_unmanaged(self) -> None:
        await self.run_unmanaged()

    async def run_unmanaged(self) -> tuple[str, str]:
        """Run a pod as a kubelet would; return the IDs of sandbox and container."""
        config = cri.PodSandboxConfig(
            metadata=cri.PodSandboxMetadata(
                name="web", uid=uuid.uuid4().hex, namespace="default"
            ),
            hostname="web",
            labels={
                "io.kubernetes.pod.name": "web",
                "io.kubernetes.pod.namespace": "default",
                "io.kubernetes.pod.uid": "uid-of-web",
            },
        )
        sandbox = await self.ask(calls.RUN_POD_SANDBOX, config=config)
        self._unmanaged.append(sandbox.pod_sandbox_id)
        container = await self.ask(
            calls.CREATE_CONTAINER,
            pod_sandbox_id=sandbox.pod_sandbox_id,
            config=cri.ContainerConfig(
                metadata=cri.ContainerMetadata(name="app"),
                image=cri.ImageSpec(image=self.image),
                command=["sleep", "600"],
                labels={**config.labels, "io.kubernetes.container.name": "app"},
            ),
            sandbox_config=config,
        )
        await self.ask(calls.START_CONTAINER, container_id=container.container_id)
        return sandbox.pod_sandbox_id, container.container_id

    async def unmanaged_is_running(self) -> bool:
        for sandbox_id in self._unmanaged:
            found = await self.ask(
                calls.LIST_CONTAINERS,
                filter=cri.ContainerFilter(pod_sandbox_id=sandbox_id),
            )
            if [container.state for container in found.containers] != [
                cri.CONTAINER_RUNNING
            ]:
                return False
        return True

    async def run_container(
        self, container: Container, *, attempt: int = 0, sandbox_id: str = ""
    ) -> ContainerID:
        """Create and start a container, in a sandbox of its own unless one is given."""
        created = await self.create(container, attempt=attempt, sandbox_id=sandbox_id)
        await self.runtime.start_container(created)
        return created

    async def printed(self, container_id: ContainerID) -> list[str]:
        """Return what a container printed until it ended."""
        await self.ended(container_id)
        lines = self.runtime.follow_logs(container_id, tail=100, follow=False)
        return [line.text async for line in lines]

    async def remove_left_behind(self) -> None:
        """Remove the sandboxes of tests that were killed, which keep their names.

        Only for who is `alone`: those of a test that runs look the same.
        """
        listed = await self.ask(calls.LIST_POD_SANDBOX)
        for sandbox in listed.items:
            is_of_test = sandbox.labels.get(OWNER, "").startswith(_OWNERS)
            if is_of_test and sandbox.metadata.uid == a_pod().uid:
                await self.ask(calls.REMOVE_POD_SANDBOX, pod_sandbox_id=sandbox.id)

    async def close(self) -> None:
        """Remove whatever the test made, also where the engine is too busy at first.

        What was left would keep its name from all tests that come after.
        """
        for _ in range(_PATIENT_TRIES):
            try:
                await self._remove_all()
                break
            except ContainerRuntimeError as error:
                if not error.unreachable:
                    raise
        else:
            await self._remove_all()
        await self.runtime.close()
        for other in self._others:
            await other.close()
        shutil.rmtree(self.folder)  # noqa: TID251  # the test's own

    async def _remove_all(self) -> None:
        last = self.another()
        for pod in await last.relist():
            for sandbox in pod.sandboxes:
                await last.remove_pod_sandbox(sandbox.sandbox_id)
        for volumes in await last.list_volumes():
            for name in volumes.volumes:
                await last.unmount_volume(UnmountVolume(volumes.pod_uid, name))
        for sandbox_id in self._unmanaged:
            await self.ask(calls.REMOVE_POD_SANDBOX, pod_sandbox_id=sandbox_id)


@contextmanager
def alone(socket: str = SOCKET) -> Iterator[None]:
    """Keep other test runs off an engine: names of sandboxes are for all of it."""
    name = socket.replace("/", "-")
    with Path(tempfile.gettempdir(), f"probetui-test{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def bench_alone() -> AsyncIterator[CriBench]:
    """Enter a bench that nobody else uses, empty before and after."""
    with alone():
        made = CriBench()
        await made.remove_left_behind()
        yield made
        await made.close()


@pytest.fixture
async def bench() -> AsyncIterator[CriBench]:
    """Return a bench that is empty before and after the test."""
    async with bench_alone() as made:
        yield made
