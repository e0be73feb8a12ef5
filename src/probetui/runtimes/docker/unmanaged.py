"""Docker containers that probetui did not create, and changes only on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID, Listeners
from probetui.kubelet.effects import Fault
from probetui.kubelet.kuberuntime.labels import DOCKER_TYPE, DOCKER_TYPE_SANDBOX
from probetui.ports import (
    ExecResult,
    StartedExec,
    UnmanagedContainer,
    UnmanagedContainers,
    UnmanagedStatus,
)
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.containers import stop_container
from probetui.runtimes.docker.execution import DockerExecutor, OwnExecs, execs_of_others
from probetui.runtimes.docker.fault_injection import DockerFaultInjector, fault_refusal
from probetui.runtimes.docker.port_publishing import PortPublishing
from probetui.runtimes.docker.processes import DockerListeners
from probetui.runtimes.docker.translate import (
    ALIVE,
    HOST,
    OF_ANOTHER,
    RUNTIME_NAME,
    container_status,
    own_address,
    published_ports,
    to_container_id,
    to_docker_id,
)
from probetui.runtimes.translation import IMAGE, LOCALHOST

_ID_PREFIX = "sha256:"

WATCHED_EVENTS = ("create", "destroy", "die", "oom", "rename", "start")


class UnmanagedDockerContainers(UnmanagedContainers):
    """Containers on Docker.

    Args:
        client: the connection to the daemon.
        executor: runs commands in containers.
        own_execs: records the commands that are started here.
        listeners: finds where containers listen.
        fault_injector: injects faults into containers.
        published: how ports are published; None if containers' addresses are reachable.
        daemon_clock: converts the daemon's instants.
        host: the address of the daemon's machine.
    """

    name = RUNTIME_NAME
    can_start = True

    def __init__(
        self,
        client: DockerClient,
        executor: DockerExecutor,
        own_execs: OwnExecs,
        listeners: DockerListeners,
        fault_injector: DockerFaultInjector,
        published: PortPublishing | None,
        daemon_clock: DaemonClock,
        host: str = LOCALHOST,
    ) -> None:
        self._client = client
        self._executor = executor
        self._own_execs = own_execs
        self._listeners = listeners
        self._fault_injector = fault_injector
        self._published = published
        self._daemon_clock = daemon_clock
        self._host = host
        self._targets: dict[tuple[str, int], int] = {}

    async def list(self) -> tuple[UnmanagedContainer, ...]:
        """Return all containers except sandboxes, running or not."""
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True)
        )
        await self._daemon_clock.measure()
        return tuple(
            self._unmanaged(container)
            for container in listed
            if (container["Labels"] or {}).get(DOCKER_TYPE) != DOCKER_TYPE_SANDBOX
        )

    async def inspect(self, container_id: ContainerID) -> UnmanagedStatus | None:
        """Return the status of a container, None if it is gone."""
        inspected = await self._client.call_or_none(
            lambda api: api.inspect_container(to_docker_id(container_id))
        )
        if inspected is None:
            return None
        status = await self._daemon_clock.container(container_status(inspected))
        unmanaged = UnmanagedStatus(
            replace(status, name="", image=inspected["Config"]["Image"]),
            await self._address(inspected),
        )
        for port, on_host in published_ports(inspected).items():
            self._targets[unmanaged.ip, port] = on_host
        return unmanaged

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in a container; 0 seconds is no limit."""
        return await self._executor.run(
            to_docker_id(container_id), command, timeout_seconds
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return the listeners in a container's network."""
        return await self._listeners.of(to_docker_id(container_id))

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Stop a container, unless it is gone or does not run."""
        await stop_container(
            self._client, to_docker_id(container_id), grace_period_seconds
        )

    async def start(self, container_id: ContainerID) -> None:
        """Start a container again that has ended."""
        docker_id = to_docker_id(container_id)
        asked_at = self._daemon_clock.now()
        await self._client.call(lambda api: api.start(docker_id))
        self._daemon_clock.started(container_id, asked_at)

    async def inject_fault(self, container_id: ContainerID, fault: Fault) -> None:
        """Freeze, unfreeze, signal or cut off a container."""
        docker_id = to_docker_id(container_id)
        await self._fault_injector.inject_fault(
            docker_id, fault, in_network_of=docker_id
        )

    def fault_refusal(self, pod: Pod, fault: Fault) -> str:
        """Return why a pod cannot have a fault, empty where it may be tried."""
        return fault_refusal(pod, fault)

    def dial_address(self, ip: str, port: int) -> tuple[str, int]:
        """Return the address and port to connect to instead of `ip:port`."""
        published = self._targets.get((ip, port))
        if self._published is None or published is None:
            return ip, port
        return self._published.dial, published

    async def watch(self) -> AsyncIterator[None]:
        """Yield once per event; raises when the connection breaks."""
        filters = {"type": ["container"], "event": list(WATCHED_EVENTS)}
        async with aclosing(self._client.events(filters)) as events:
            async for _ in events:
                yield

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in any container."""
        execs = execs_of_others(self._client, self._own_execs, {})
        async with aclosing(execs):
            async for started_exec in execs:
                yield started_exec

    async def _address(self, inspected: Mapping[str, Any]) -> str:
        """Return the address of a running container, empty for none."""
        if not inspected["State"]["Running"]:
            return ""
        mode = str(inspected["HostConfig"]["NetworkMode"])
        if mode == HOST:
            return self._host
        if mode.startswith(OF_ANOTHER):
            other = await self._client.call_or_none(
                lambda api: api.inspect_container(mode.removeprefix(OF_ANOTHER))
            )
            return "" if other is None else await self._address(other)
        cut_off_from = self._fault_injector.address_before(inspected["Id"])
        return own_address(inspected) or cut_off_from

    def _unmanaged(self, listed: Mapping[str, Any]) -> UnmanagedContainer:
        created = listed.get("Created")
        created_at = (
            self._daemon_clock.ours(datetime.fromtimestamp(created, UTC))
            if isinstance(created, int)
            else None
        )
        return UnmanagedContainer(
            to_container_id(listed["Id"]),
            # Links of other containers are names, too, with more slashes.
            tuple(name.removeprefix("/") for name in listed["Names"] or ()),
            listed["State"] in ALIVE,
            listed["Labels"] or {},
            _image(listed),
            created_at,
            revision=listed["State"],
        )


def _image(listed: Mapping[str, Any]) -> str:
    """Return the image name that was requested, empty if only its ID is known."""
    named = (listed["Labels"] or {}).get(IMAGE)
    image = str(named or listed.get("Image") or "")
    return "" if image.startswith(_ID_PREFIX) else image
