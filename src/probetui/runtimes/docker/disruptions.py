"""What happens to containers in real life, done on purpose with Docker's own means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.kubelet.effects import Disruption
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.listing import Listing
from probetui.runtimes.docker.translate import Seen

_SIGNALS = {Disruption.STOP: "SIGTERM", Disruption.KILL: "SIGKILL"}


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a sandbox was before it was cut off: its networks and its address."""

    networks: tuple[str, ...]
    ip: str


class Disruptions:
    """Freezes, signals and cuts off containers of ours.

    Frozen is what Docker calls paused: the main process and all others stand still.
    Docker refuses commands in such a container, so that exec probes are errors, and
    wakes it when it is to be stopped.

    A sandbox that is cut off keeps its address as far as the kubelet is concerned: in
    a cluster it is the CNI plugin's, and not taken away by a cable. When it is joined
    to its networks again, Docker may give it another one.

    Args:
        client: the connection to the daemon.
        listing: what is known of containers; told about what changes.
    """

    def __init__(self, client: Client, listing: Listing) -> None:
        self._client = client
        self._listing = listing
        self._cuts: dict[str, _Cut] = {}

    async def disrupt(self, docker_id: str, disruption: Disruption) -> None:
        """Do it; raises `ContainerRuntimeError` in the daemon's words."""
        found = await self._listing.look(docker_id)
        if found is None or found.container is None:
            raise ContainerRuntimeError(f"no such container: {docker_id}")
        if not await self._listing.is_ours(docker_id):
            raise ContainerRuntimeError(
                f"container {docker_id[:12]} was not made by probetui and is left alone"
            )
        match disruption:
            case Disruption.FREEZE:
                await self._set_paused(docker_id, lambda api: api.pause(docker_id))
            case Disruption.UNFREEZE:
                await self._set_paused(
                    docker_id, lambda api: api.unpause(docker_id), wanted=False
                )
            case Disruption.STOP | Disruption.KILL:
                signal = _SIGNALS[disruption]
                await self._client.call(lambda api: api.kill(docker_id, signal=signal))
            case Disruption.CUT_NETWORK:
                await self._cut(found.sandbox_id)
            case Disruption.RESTORE_NETWORK:
                await self._join(found.sandbox_id)

    def as_before(self, seen: Seen) -> Seen:
        """Return a sandbox that is cut off with the address that it had."""
        cut = self._cuts.get(seen.docker_id)
        if cut is None or seen.sandbox is None or seen.sandbox.ip:
            return seen
        if not seen.sandbox.is_ready:
            return seen
        return replace(seen, sandbox=replace(seen.sandbox, ip=cut.ip))

    async def _set_paused(
        self, docker_id: str, change: Callable[[Api], Any], *, wanted: bool = True
    ) -> None:
        inspected = await self._client.call(
            lambda api: api.inspect_container(docker_id)
        )
        if bool(inspected["State"].get("Paused")) is not wanted:
            await self._client.call(change)

    async def _cut(self, sandbox_id: str) -> None:
        if sandbox_id in self._cuts:
            return
        found = await self._listing.look(sandbox_id)
        if found is None or found.sandbox is None:
            raise ContainerRuntimeError(f"no such sandbox: {sandbox_id}")
        if found.sandbox.host_network:
            raise ContainerRuntimeError(
                "the pod is in the network of the host, which is not cut"
            )
        inspected = await self._client.call(
            lambda api: api.inspect_container(sandbox_id)
        )
        networks = tuple(inspected["NetworkSettings"].get("Networks") or ())
        # Known before it is done, so that no relist in between sees a pod without IP.
        self._cuts[sandbox_id] = _Cut(networks, found.sandbox.ip or "")
        try:
            for name in networks:
                await self._client.call(_leaving(sandbox_id, name))
        except ContainerRuntimeError:
            del self._cuts[sandbox_id]
            raise
        finally:
            self._listing.forget(sandbox_id)

    async def _join(self, sandbox_id: str) -> None:
        cut = self._cuts.get(sandbox_id)
        if cut is None:
            return
        for name in cut.networks:
            await self._client.call(_joining(sandbox_id, name))
        del self._cuts[sandbox_id]
        self._listing.forget(sandbox_id)


def _leaving(sandbox_id: str, network: str) -> Callable[[Api], Any]:
    return lambda api: api.disconnect_container_from_network(sandbox_id, network)


def _joining(sandbox_id: str, network: str) -> Callable[[Api], Any]:
    return lambda api: api.connect_container_to_network(sandbox_id, network)
