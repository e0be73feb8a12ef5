"""Containers on a CRI runtime that others made: a kubelet's, or crictl's."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

import grpc

from probetui.errors import ContainerRuntimeError
from probetui.k8s.listeners import Listeners
from probetui.k8s.pod import Pod
from probetui.k8s.runtime import ContainerID
from probetui.kubelet.effects import Disruption
from probetui.ports import ExecResult, ForeignContainer, ForeignStatus
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import REQUEST_LIMIT, Client
from probetui.runtimes.cri.disruptions import Disruptions, why_not
from probetui.runtimes.cri.events import happenings
from probetui.runtimes.cri.execution import exec_sync
from probetui.runtimes.cri.faults import RefusedError
from probetui.runtimes.cri.listeners import container_listeners
from probetui.runtimes.cri.listing import Listing
from probetui.runtimes.cri.machine import LOCALHOST
from probetui.runtimes.cri.translate import (
    IMAGE,
    instant,
    pod_name,
    to_container_id,
    to_cri_id,
)
from probetui.runtimes.daemon_clock import DaemonClock

ID_PREFIX = "sha256:"


class _Listed(NamedTuple):
    state: int
    sandbox_id: str


class ForeignCri:
    """`ports.ForeignContainers` on the CRI.

    Args:
        client: the connection to the runtime.
        listing: looks at sandboxes and containers, of whomever.
        runtime_name: the runtime's word in container IDs.
        exec_patience: for how long an answer is waited for after an exec's limit.
        disruptions: does to containers what happens to them in real life.
        daemon_clock: converts the runtime's instants.
    """

    can_start = False

    def __init__(
        self,
        client: Client,
        listing: Listing,
        runtime_name: str,
        exec_patience: timedelta,
        disruptions: Disruptions,
        daemon_clock: DaemonClock,
    ) -> None:
        self._client = client
        self._listing = listing
        self._runtime_name = runtime_name
        self._exec_patience = exec_patience
        self._disruptions = disruptions
        self._daemon_clock = daemon_clock
        self._listed: dict[str, _Listed] = {}
        self._kept: dict[str, tuple[_Listed, ForeignStatus]] = {}

    async def list(self) -> tuple[ForeignContainer, ...]:
        """Return all there are, dead or alive."""
        request = cri.ListContainersRequest()
        answer = await self._client.call(calls.LIST_CONTAINERS, request)
        self._listed = {
            each.id: _Listed(each.state, each.pod_sandbox_id)
            for each in answer.containers
        }
        for gone in self._kept.keys() - self._listed:
            del self._kept[gone]
        return tuple(
            self._in_our_time(foreign_container(each, self._runtime_name))
            for each in answer.containers
        )

    async def look(self, container_id: ContainerID) -> ForeignStatus | None:
        """Return what one is like now, None if it is gone.

        One that is in the state of the last look has not changed since.
        """
        cri_id = to_cri_id(container_id)
        if cri_id not in self._listed:
            await self.list()
        listed = self._listed.get(cri_id)
        if listed is None:
            return None
        kept = self._kept.get(cri_id)
        if kept is not None and kept[0] == listed:
            return kept[1]
        found = await self._listing.container(cri_id)
        if found is None:
            return None
        status = replace(found.status, name="", hash=0, restart_count=0)
        seen = ForeignStatus(status, await self._address(listed.sandbox_id))
        self._kept[cri_id] = (listed, seen)
        return seen

    async def exec_sync(
        self,
        container_id: ContainerID,
        command: tuple[str, ...],
        timeout_seconds: int,
    ) -> ExecResult:
        """Run a command in one; 0 seconds is no limit."""
        return await exec_sync(
            self._client,
            to_cri_id(container_id),
            command,
            timeout_seconds,
            self._exec_patience,
        )

    async def listeners(self, container_id: ContainerID) -> Listeners:
        """Return where the network of one's pod is listened."""
        return await container_listeners(self._client, to_cri_id(container_id))

    async def stop(self, container_id: ContainerID, grace_period_seconds: int) -> None:
        """Stop one; what is gone, or does not run, is fine."""
        await stop_container(
            self._client, to_cri_id(container_id), grace_period_seconds
        )

    async def start(self, container_id: ContainerID) -> None:
        """Refuse: an instance runs once, and who made it makes another one."""
        raise ContainerRuntimeError(
            f"{to_cri_id(container_id)[:13]} cannot be started again; who made it, "
            "like a kubelet, makes another one"
        )

    async def disrupt(self, container_id: ContainerID, disruption: Disruption) -> None:
        """Freeze, signal or cut off one, by the kernel of this machine."""
        await self._disruptions.disrupt(to_cri_id(container_id), disruption)

    def why_not(self, pod: Pod, disruption: Disruption) -> str:
        """Return why it cannot be done to a pod, empty where it may be tried."""
        return why_not(pod, disruption)

    def dial_address(self, ip: str, port: int) -> tuple[str, int]:
        """Return the address itself: pods are on this machine."""
        return ip, port

    async def watch(self) -> AsyncGenerator[None]:
        """Yield once per happening; raises when the connection breaks."""
        told = happenings(self._client, lambda _event: True)
        async with aclosing(told):
            async for _ in told:
                yield

    def _in_our_time(self, found: ForeignContainer) -> ForeignContainer:
        created_at = found.created_at
        if created_at is None:
            return found
        return replace(found, created_at=self._daemon_clock.ours(created_at))

    async def _address(self, sandbox_id: str) -> str:
        """Return where a container's ports are, empty for nowhere."""
        sandbox = await self._listing.sandbox(sandbox_id)
        if sandbox is None or not sandbox.status.is_ready:
            return ""
        return LOCALHOST if sandbox.status.host_network else sandbox.status.ip or ""


async def stop_container(
    client: Client, cri_id: str, grace_period_seconds: int
) -> None:
    """Stop a container of whomever; one that is gone, or does not run, is fine."""
    request = cri.StopContainerRequest(
        container_id=cri_id, timeout=grace_period_seconds
    )
    limit = REQUEST_LIMIT + timedelta(seconds=grace_period_seconds)
    try:
        await client.call(calls.STOP_CONTAINER, request, limit=limit)
    except RefusedError as error:
        if error.code is not grpc.StatusCode.NOT_FOUND:
            raise


def foreign_container(found: cri.Container, runtime_name: str) -> ForeignContainer:
    """Return a container with all that it can be found by."""
    pod, name = pod_name(found.labels), found.metadata.name
    names = [name]
    if pod.name:
        names = [f"{pod.namespace}/{pod.name}/{name}", f"{pod.name}/{name}", name]
    return ForeignContainer(
        to_container_id(runtime_name, found.id),
        tuple(names),
        found.state == cri.CONTAINER_RUNNING,
        dict(found.labels),
        _image(found),
        instant(found.created_at),
    )


def _image(found: cri.Container) -> str:
    """Return the image that somebody asked for, empty if only its ID is known."""
    named = found.annotations.get(IMAGE) or found.image.user_specified_image
    if named:
        return str(named)
    return "" if found.image.image.startswith(ID_PREFIX) else str(found.image.image)
