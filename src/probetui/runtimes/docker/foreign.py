"""Containers on Docker that others made: looked at, and moved only if told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Listeners
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Disruption
from probetui.kubelet.labels import DOCKER_TYPE, DOCKER_TYPE_SANDBOX
from probetui.ports import (
    ExecResult,
    ForeignContainer,
    ForeignStatus,
    StartedExec,
)
from probetui.runtimes.daemon_clock import DaemonClock
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.containers import stop_container
from probetui.runtimes.docker.disruptions import Disruptions, why_not
from probetui.runtimes.docker.execs import OwnExecs, execs_of_others
from probetui.runtimes.docker.execution import Executor
from probetui.runtimes.docker.faults import NOT_FOUND, RefusedError
from probetui.runtimes.docker.listeners import ContainerListeners
from probetui.runtimes.docker.reach import Publishing
from probetui.runtimes.docker.translate import (
    ALIVE,
    HOST,
    LOCALHOST,
    OF_ANOTHER,
    container_status,
    own_address,
    published_ports,
    to_container_id,
    to_docker_id,
)

GOOD_FOR_SECONDS = 10
"""When to look again at what seems unchanged, should no event have told of it."""

HAPPENINGS = ("create", "destroy", "die", "oom", "rename", "start")


class _Kept(NamedTuple):
    at: float
    found: ForeignStatus


class ForeignDocker:
    """`ports.ForeignContainers` on Docker.

    Args:
        client: the connection to the daemon.
        executor: runs commands in containers.
        own_execs: those of them that were started here.
        listeners: looks into the networks of containers.
        disruptions: does to containers what happens to them in real life.
        published: how ports are reached where addresses are not; None where they are.
        daemon_clock: converts the daemon's instants.
        host: where the network of the daemon's machine is reached.
    """

    can_start = True

    def __init__(
        self,
        client: Client,
        executor: Executor,
        own_execs: OwnExecs,
        listeners: ContainerListeners,
        disruptions: Disruptions,
        published: Publishing | None,
        daemon_clock: DaemonClock,
        host: str = LOCALHOST,
    ) -> None:
        self._client = client
        self._executor = executor
        self._own_execs = own_execs
        self._listeners = listeners
        self._disruptions = disruptions
        self._published = published
        self._daemon_clock = daemon_clock
        self._host = host
        self._kept: dict[ContainerID, _Kept] = {}
        self._states: dict[ContainerID, str] = {}
        self._targets: dict[tuple[str, int], int] = {}

    async def list(self) -> tuple[ForeignContainer, ...]:
        """Return all there are, dead or alive, sandboxes left out."""
        listed: list[dict[str, Any]] = await self._client.call(
            lambda api: api.containers(all=True)
        )
        states = {to_container_id(each["Id"]): each["State"] for each in listed}
        for container_id, state in self._states.items():
            if states.get(container_id) != state:
                self._kept.pop(container_id, None)
        self._states = states
        await self._daemon_clock.measure()
        return tuple(
            self._foreign(each)
            for each in listed
            if (each["Labels"] or {}).get(DOCKER_TYPE) != DOCKER_TYPE_SANDBOX
        )

    async def look(self, container_id: ContainerID) -> ForeignStatus | None:
        """Return what one is like now, None if it is gone."""
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(container_id)
        if kept is not None and now - kept.at < GOOD_FOR_SECONDS:
            return kept.found
        inspected = await self._inspect(to_docker_id(container_id))
        if inspected is None:
            self._kept.pop(container_id, None)
            return None
        status = await self._daemon_clock.container(container_status(inspected))
        found = ForeignStatus(
            replace(status, name="", image=inspected["Config"]["Image"]),
            await self._address(inspected),
        )
        self._kept[container_id] = _Kept(now, found)
        for port, on_host in published_ports(inspected).items():
            self._targets[found.ip, port] = on_host
        return found

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in one; 0 seconds is no limit."""
        return await self._executor.run(
            to_docker_id(container_id), command, timeout_seconds
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where the network of one is listened."""
        return await self._listeners.of(to_docker_id(container_id))

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Stop one; what is gone, or does not run, is fine."""
        docker_id = to_docker_id(container_id)
        try:
            await stop_container(self._client, docker_id, grace_period_seconds)
        finally:
            self._kept.pop(container_id, None)

    async def start(self, container_id: ContainerID) -> None:
        """Start one that has ended once more, as it is."""
        docker_id = to_docker_id(container_id)
        asked_at = self._daemon_clock.now()
        try:
            await self._client.call(lambda api: api.start(docker_id))
            self._daemon_clock.started(container_id, asked_at)
        finally:
            self._kept.pop(container_id, None)

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze or unfreeze one, signal its main process, or cut it off."""
        docker_id = to_docker_id(container_id)
        try:
            await self._disruptions.disrupt(
                docker_id, disruption, in_network_of=docker_id
            )
        finally:
            self._kept.pop(container_id, None)

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return why_not(pod, disruption)

    def dial_address(self, ip: str, port: int) -> tuple[str, int]:
        """Return where to connect instead of `ip:port`."""
        published = self._targets.get((ip, port))
        if self._published is None or published is None:
            return ip, port
        return self._published.dial, published

    async def watch(self) -> AsyncIterator[None]:
        """Yield once per happening; raises when the connection breaks."""
        filters = {"type": ["container"], "event": list(HAPPENINGS)}
        events = self._client.follow(
            lambda api: api.events(filters=filters, decode=True)
        )
        async with aclosing(events):
            async for event in events:
                self._kept.pop(to_container_id(event["Actor"]["ID"]), None)
                yield
        raise ContainerRuntimeError("the event stream broke off", unreachable=True)

    async def watch_execs(self) -> AsyncIterator[StartedExec]:
        """Yield each command that others start in any container."""
        told = execs_of_others(self._client, self._own_execs, {})
        async with aclosing(told):
            async for each in told:
                yield each

    async def _inspect(self, docker_id: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = await self._client.call(
                lambda api: api.inspect_container(docker_id)
            )
        except RefusedError as error:
            if error.status == NOT_FOUND:
                return None
            raise
        return found

    async def _address(self, inspected: Mapping[str, Any]) -> str:
        """Return where a container's ports are, while it runs."""
        if not inspected["State"]["Running"]:
            return ""
        mode = str(inspected["HostConfig"]["NetworkMode"])
        if mode == HOST:
            return self._host
        if mode.startswith(OF_ANOTHER):
            other = await self._inspect(mode.removeprefix(OF_ANOTHER))
            return "" if other is None else await self._address(other)
        cut_off_from = self._disruptions.address_before(inspected["Id"])
        return own_address(inspected) or cut_off_from

    def _foreign(self, listed: Mapping[str, Any]) -> ForeignContainer:
        created = listed.get("Created")
        created_at = (
            self._daemon_clock.ours(datetime.fromtimestamp(created, UTC))
            if isinstance(created, int)
            else None
        )
        return ForeignContainer(
            to_container_id(listed["Id"]),
            # Links of other containers are names too: their slashes are inside.
            tuple(each.removeprefix("/") for each in listed["Names"] or ()),
            listed["State"] in ALIVE,
            listed["Labels"] or {},
            str(listed.get("Image") or ""),
            created_at,
        )
