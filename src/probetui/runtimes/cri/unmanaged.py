"""Containers of a CRI runtime that others created: a kubelet, or crictl."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, Listeners
from probetui.kubelet.effects import Fault
from probetui.ports import (
    ExecResult,
    UnmanagedContainer,
    UnmanagedContainers,
    UnmanagedStatus,
)
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.container_calls import (
    container_listeners,
    exec_sync,
    stop_container,
    watch_events,
)
from probetui.runtimes.cri.fault_injection import CriFaultInjector, fault_refusal
from probetui.runtimes.cri.listing import CriListing
from probetui.runtimes.cri.translate import to_container_id, to_cri_id, to_instant
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.translation import IMAGE, LOCALHOST, pod_name_from_labels

ID_PREFIX = "sha256:"


class UnmanagedCriContainers(UnmanagedContainers):
    """Containers on the CRI; they run once, and their owner creates others.

    Args:
        client: the connection to the runtime.
        listing: reads the status of any sandbox or container.
        runtime_name: the prefix of its container IDs.
        exec_patience: how long to wait for a response after an exec's timeout.
        disruptions: freezes, kills and disconnects containers.
        daemon_clock: converts the runtime's instants.
    """

    def __init__(
        self,
        client: CriClient,
        listing: CriListing,
        runtime_name: str,
        exec_patience: timedelta,
        disruptions: CriFaultInjector,
        daemon_clock: DaemonClock,
    ) -> None:
        self._client = client
        self._listing = listing
        self._runtime_name = runtime_name
        self._exec_patience = exec_patience
        self._fault_injector = disruptions
        self._daemon_clock = daemon_clock
        self._sandbox_ids: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The prefix of container IDs."""
        return self._runtime_name

    async def list(self) -> tuple[UnmanagedContainer, ...]:
        """Return all containers, exited ones included."""
        request = cri.ListContainersRequest()
        answer = await self._client.call(calls.LIST_CONTAINERS, request)
        self._sandbox_ids = {
            container.id: container.pod_sandbox_id for container in answer.containers
        }
        return tuple(
            self._in_our_time(unmanaged_container(container, self._runtime_name))
            for container in answer.containers
        )

    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        """Return the current status of a listed container, None if it is gone."""
        cri_id = to_cri_id(container_id)
        sandbox_id = self._sandbox_ids.get(cri_id)
        container = sandbox_id and await self._listing.container(cri_id)
        if not sandbox_id or not container:
            return None
        status = replace(container.status, name="", hash=0, restart_count=0)
        return UnmanagedStatus(status, await self._address(sandbox_id))

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; a timeout of 0 seconds is none."""
        return await exec_sync(
            self._client,
            to_cri_id(container_id),
            command,
            timeout_seconds,
            self._exec_patience,
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return the listening sockets of the network of a container's pod."""
        return await container_listeners(self._client, to_cri_id(container_id))

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Stop a container; one that is gone or does not run is fine."""
        await stop_container(
            self._client, to_cri_id(container_id), grace_period_seconds
        )

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Inject a fault, by the kernel of this machine."""
        await self._fault_injector.inject_fault(to_cri_id(container_id), fault)

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty if it may be tried."""
        return fault_refusal(pod, fault)

    async def watch(self) -> AsyncGenerator[None]:
        """Yield once per container event; raises when the stream breaks."""
        events = watch_events(self._client, lambda _event: True)
        async with aclosing(events):
            async for _ in events:
                yield

    def _in_our_time(self, container: UnmanagedContainer) -> UnmanagedContainer:
        created_at = container.created_at
        if created_at is None:
            return container
        return replace(container, created_at=self._daemon_clock.ours(created_at))

    async def _address(self, sandbox_id: str) -> str:
        """Return the IP of a container's ports, empty if it has none."""
        sandbox = await self._listing.sandbox(sandbox_id)
        if sandbox is None or not sandbox.status.is_ready:
            return ""
        return LOCALHOST if sandbox.status.host_network else sandbox.status.ip or ""


def unmanaged_container(
    container: cri.Container, runtime_name: str
) -> UnmanagedContainer:
    """Convert a container, with all criteria for matching."""
    pod, name = pod_name_from_labels(container.labels), container.metadata.name
    names = [name]
    if pod.name:
        names = [f"{pod.namespace}/{pod.name}/{name}", f"{pod.name}/{name}", name]
    return UnmanagedContainer(
        to_container_id(runtime_name, container.id),
        tuple(names),
        container.state == cri.CONTAINER_RUNNING,
        dict(container.labels),
        _image(container),
        to_instant(container.created_at),
        revision=cri.ContainerState.Name(container.state),
    )


def _image(container: cri.Container) -> str:
    """Return the image name that was requested, empty if only its ID is known."""
    named = container.annotations.get(IMAGE) or container.image.user_specified_image
    if named:
        return str(named)
    return (
        ""
        if container.image.image.startswith(ID_PREFIX)
        else str(container.image.image)
    )
