"""A bench on the Docker daemon of this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import docker
import pytest

from probetui.drive.clocks import SystemClock
from probetui.k8s.pod import Container
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import UnmountVolume
from probetui.kubelet.kuberuntime.labels import DOCKER_SANDBOX_ID
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.connection import DEFAULT_SOCKET
from probetui.runtimes.docker.port_publishing import DockerDaemon
from probetui.runtimes.docker.runtime import DockerOptions, DockerRuntime
from probetui.runtimes.docker.translate import to_docker_id
from probetui.runtimes.translation import OWNER
from tests.runtimes.bench import Bench

ENDPOINT = os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET
REQUEST_SECONDS = 120


class CountingApi(DockerApi):
    """The SDK's client, which also counts its requests.

    Attributes:
        inspections: how often each container was inspected.
        watched: set when the daemon has begun to stream events.
        follows_logs: whether the daemon follows logs beyond where they are, which old
            ones do not always.
    """

    def __init__(self, url: str) -> None:
        self.inspections: Counter[str] = Counter()
        self.watched = threading.Event()
        self.follows_logs = True
        super().__init__(url, timeout_seconds=REQUEST_SECONDS, connections=64)

    def inspect_container(self, container: str) -> Any:
        self.inspections[container] += 1
        return super().inspect_container(container)

    def events(self, **parameters: Any) -> Any:
        found = super().events(**parameters)
        self.watched.set()
        return found

    def open_logs(self, container_id: str, **wanted: Any) -> Any:
        if not self.follows_logs:
            wanted["follow"] = False
        return super().open_logs(container_id, **wanted)


class DockerBench(Bench):
    """A runtime with an owner of its own, so that benches do not see each other.

    Args:
        url: the daemon's endpoint.
        options: those of the runtime, but its owner and its folder.
    """

    runtime: DockerRuntime

    def __init__(self, url: str = ENDPOINT, **options: Any) -> None:
        self.url = url
        self.sdk = docker.DockerClient(base_url=url)
        self.folder = Path(tempfile.mkdtemp(prefix="docker-bench-"))
        self.options = DockerOptions(
            self.folder, owner=f"test-{uuid.uuid4().hex}", **options
        )
        self._unmanaged: list[Any] = []
        self._images: list[str] = []
        super().__init__(self.another(), SystemClock())

    def another(self) -> DockerRuntime:
        self.api = CountingApi(self.url)
        return DockerRuntime(
            self.api,
            DockerDaemon.of(self.url, self.api.info(), self.api.version()),
            SystemClock(),
            self.options,
        )

    def docker(self, container_id: str) -> Any:
        """Return the SDK's object of a container or sandbox."""
        return self.sdk.containers.get(to_docker_id(container_id))

    def run_unmanaged(self, **fields: Any) -> Any:
        """Run something that is not probetui's and return it."""
        found = self.sdk.containers.run(
            self.image,
            ["sleep", "600"],
            detach=True,
            network_mode="none",
            stop_signal="SIGKILL",
            **fields,
        )
        self._unmanaged.append(found)
        return found

    def commit(self, container_id: str, name: str) -> None:
        """Make an image of a container, which is removed at the end."""
        repository, _, tag = name.partition(":")
        self.docker(container_id).commit(repository, tag)
        self._images.append(name)

    async def add_unmanaged(self) -> None:
        self.run_unmanaged()

    async def unmanaged_is_running(self) -> bool:
        for container in self._unmanaged:
            container.reload()
        return all(container.status == "running" for container in self._unmanaged)

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

    def volumes(self) -> list[Any]:
        """Return the SDK's objects of our volumes."""
        label = f"{OWNER}={self.options.owner}"
        found: list[Any] = self.sdk.volumes.list(filters={"label": label})
        return found

    async def close(self) -> None:
        """Remove whatever the test made."""
        await self.runtime.close()
        # First: some are copies of ours, labels included.
        for container in self._unmanaged:
            await asyncio.to_thread(container.remove, force=True, v=True)
        containers = self.sdk.containers.list(
            all=True, filters={"label": f"{OWNER}={self.options.owner}"}
        )
        inside = [
            container
            for container in containers
            if DOCKER_SANDBOX_ID in container.labels
        ]
        # Podman removes no sandbox before its containers.
        for group in (
            inside,
            [container for container in containers if container not in inside],
        ):
            await asyncio.gather(
                *(
                    asyncio.to_thread(container.remove, force=True, v=True)
                    for container in group
                )
            )
        # Last: an image in use by a container only loses its name, and stays.
        for name in self._images:
            await asyncio.to_thread(self.sdk.images.remove, name)
        last = self.another()
        for pod in await last.list_volumes():
            for name in pod.volumes:
                await last.unmount_volume(UnmountVolume(pod.pod_uid, name))
        await last.close()
        for volume in self.volumes():
            volume.remove(force=True)
        self.sdk.close()
        shutil.rmtree(self.folder)  # noqa: TID251  # the test's own


@contextmanager
def built_image(*instructions: str) -> Iterator[str]:
    """Have an image with busybox and what the instructions add; yield its tag."""
    tag = f"probetui-test/{uuid.uuid4().hex}:1"
    text = "\n".join(("FROM busybox:1.36", *instructions))
    client = docker.DockerClient(base_url=ENDPOINT)
    client.images.build(fileobj=BytesIO(text.encode()), tag=tag, rm=True)
    try:
        yield tag
    finally:
        client.images.remove(tag, force=True)
        client.close()


@pytest.fixture
async def bench() -> AsyncIterator[DockerBench]:
    """Return a bench that is empty before and after the test."""
    docker_bench = DockerBench()
    yield docker_bench
    await docker_bench.close()
