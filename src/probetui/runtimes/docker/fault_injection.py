"""Fault injection with Docker's own means: pause, signals, detached networks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Fault
from probetui.runtimes import fault_notes as kinds
from probetui.runtimes.docker.api import DockerApi
from probetui.runtimes.docker.client import DockerClient
from probetui.runtimes.docker.errors import (
    CONFLICT,
    NOT_FOUND,
    DockerStatusError,
    ignore_status,
)
from probetui.runtimes.docker.translate import (
    HOST,
    OF_ANOTHER,
    InspectedContainer,
    own_address,
)
from probetui.runtimes.fault_notes import FaultNote, FaultNotes, format_undone

logger = logging.getLogger(__name__)

_SIGNALS = {Fault.STOP: "SIGTERM", Fault.KILL: "SIGKILL"}
_ON_NETWORK = {Fault.CUT_NETWORK, Fault.RESTORE_NETWORK}

HOST_NETWORK = "the pod uses the host network, which is never cut"
NETWORK_OF_ANOTHER = "it shares the network of another container, which is never cut"
NO_NETWORK = "it is not connected to any network of Docker"
NO_NETWORK_MODE = "none"


class _Cut(Struct, frozen=True):
    """The networks and the address of a container that is cut off.

    Attributes:
        networks: the endpoint settings in each network, by its name. An address that
            Docker chose itself may be another one when it is connected again.
        ip: the address that it had.
    """

    networks: Mapping[str, Mapping[str, Any]]
    ip: str


class DockerFaultInjector:
    """Freezes, signals and cuts off any container; callers check whose it is.

    To freeze is to pause, as Docker calls it, all processes of the container. Docker
    refuses commands in a paused container, so that exec probes are errors, and
    unpauses it to stop it.

    A pod that is cut off keeps its address for the kubelet: in a cluster it is the CNI
    plugin's, and does not go away with the link.

    Args:
        client: the connection to the daemon.
        changed: called with the ID of a container that was changed.
        notes: records on disk which faults are active.
    """

    def __init__(
        self,
        client: DockerClient,
        changed: Callable[[str], None],
        notes: FaultNotes,
    ) -> None:
        self._client = client
        self._changed = changed
        self._notes = notes
        self._frozen: set[str] = set()
        self._cuts: dict[str, _Cut] = {}
        self._lock = asyncio.Lock()

    async def inject_fault(
        self, docker_id: str, fault: Fault, *, in_network_of: str
    ) -> None:
        """Inject a fault into a container.

        Args:
            docker_id: the container.
            fault: what to do.
            in_network_of: the container to cut off: itself or its sandbox.

        Raises:
            ContainerRuntimeError: it is not possible, or the daemon refuses.
        """
        async with self._lock:
            match fault:
                case Fault.FREEZE:
                    await self._freeze(docker_id)
                case Fault.UNFREEZE:
                    await self._thaw(docker_id)
                case Fault.STOP | Fault.KILL:
                    signal = _SIGNALS[fault]
                    await self._client.call(
                        lambda api: api.kill(docker_id, signal=signal)
                    )
                case Fault.CUT_NETWORK:
                    await self._cut_network(in_network_of)
                case Fault.RESTORE_NETWORK:
                    await self._restore_network(in_network_of)

    @contextlib.asynccontextmanager
    async def paused(self, docker_ids: Iterable[str]) -> AsyncIterator[None]:
        """Pause containers for the length of a block.

        Paused ones stay so afterwards; those that have ended meanwhile are ignored.

        Raises:
            ContainerRuntimeError: one of them cannot be paused.
        """
        async with self._lock:
            before = set(self._frozen)
            try:
                for docker_id in docker_ids:
                    with ignore_status(CONFLICT, NOT_FOUND):  # it has ended
                        await self._freeze(docker_id)
                yield
            finally:
                for docker_id in self._frozen - before:
                    with _log_leftover("frozen", docker_id):
                        await self._thaw(docker_id)

    async def undo(self) -> None:
        """Undo all faults that were injected here; log those that cannot be undone."""
        async with self._lock:
            for docker_id in tuple(self._frozen):
                with _log_leftover("frozen", docker_id):
                    await self._thaw(docker_id)
            for docker_id in tuple(self._cuts):
                with _log_leftover("cut off", docker_id):
                    await self._restore_network(docker_id)

    async def undo_leftovers(self) -> list[str]:
        """Undo the faults that a killed session left; return what was done.

        A fault that cannot be undone now stays noted.
        """
        done = []
        async with self._lock:
            for note in self._notes.leftovers():
                with _log_leftover(note.kind, note.thing_id):
                    if await self._undo_note(note):
                        name = f"container {note.thing_id[:12]}"
                        done.append(format_undone(name, note.kind))
        return done

    async def _undo_note(self, note: FaultNote) -> bool:
        """Undo one fault; False if there was nothing to undo any more."""
        try:
            inspected = await self._inspect(note.thing_id)
        except DockerStatusError as error:
            # Of another daemon it is not known.
            if error.status == NOT_FOUND and self._notes.is_here(note):
                self._notes.remove(note.kind, note.thing_id)
            return False
        match note.kind:
            case kinds.FROZEN:
                await self._thaw(note.thing_id)
                return bool(inspected["State"].get("Paused"))
            case kinds.CUT_OFF:
                networks = note.how.get("networks")
                if not isinstance(networks, dict):
                    raise ContainerRuntimeError("its networks were not noted")
                self._cuts[note.thing_id] = _Cut(networks, str(note.how.get("ip", "")))
                await self._restore_network(note.thing_id)
                return True
            case _:
                return False

    def address_before(self, docker_id: str) -> str:
        """Return the address that a container had before it was cut off, or empty."""
        cut = self._cuts.get(docker_id)
        return "" if cut is None else cut.ip

    def as_before(self, seen: InspectedContainer) -> InspectedContainer:
        """Return an inspection with the address of before, if it is cut off."""
        sandbox = seen.sandbox
        if sandbox is None or sandbox.ip or not sandbox.is_ready:
            return seen
        ip = self.address_before(seen.docker_id)
        return replace(seen, sandbox=replace(sandbox, ip=ip)) if ip else seen

    async def _freeze(self, docker_id: str) -> None:
        inspected = await self._inspect(docker_id)
        if not inspected["State"].get("Paused"):
            # Recorded first, so that it is undone in any case.
            self._notes.write(kinds.FROZEN, docker_id)
            self._frozen.add(docker_id)
            await self._client.call(lambda api: api.pause(docker_id))

    async def _thaw(self, docker_id: str) -> None:
        self._frozen.discard(docker_id)
        inspected = await self._inspect(docker_id)
        if inspected["State"].get("Paused"):
            await self._client.call(lambda api: api.unpause(docker_id))
        self._notes.remove(kinds.FROZEN, docker_id)

    async def _cut_network(self, docker_id: str) -> None:
        if docker_id in self._cuts:
            return
        inspected = await self._inspect(docker_id)
        mode = str(inspected["HostConfig"]["NetworkMode"])
        networks = inspected["NetworkSettings"].get("Networks") or {}
        if mode == HOST:
            raise ContainerRuntimeError(HOST_NETWORK)
        if mode.startswith(OF_ANOTHER):
            raise ContainerRuntimeError(NETWORK_OF_ANOTHER)
        if not networks or mode == NO_NETWORK_MODE:
            raise ContainerRuntimeError(NO_NETWORK)
        # Recorded first, so that no relist in between sees a pod without an IP.
        cut = _Cut(networks, own_address(inspected))
        details = {"networks": cut.networks, "ip": cut.ip}
        self._notes.write(kinds.CUT_OFF, docker_id, details)
        self._cuts[docker_id] = cut
        try:
            for name in networks:
                await self._client.call(_disconnect(docker_id, name))
        except BaseException:
            await self._restore_network(docker_id)
            raise
        finally:
            self._changed(docker_id)

    async def _restore_network(self, docker_id: str) -> None:
        cut = self._cuts.get(docker_id)
        if cut is None:
            return
        with ignore_status(NOT_FOUND):
            inspected = await self._inspect(docker_id)
            # One that was restarted meanwhile is in its first network already.
            here = inspected["NetworkSettings"].get("Networks") or {}
            for name, endpoint in cut.networks.items():
                if name not in here:
                    await self._client.call(_connect(docker_id, name, endpoint))
        del self._cuts[docker_id]
        self._notes.remove(kinds.CUT_OFF, docker_id)
        self._changed(docker_id)

    async def _inspect(self, docker_id: str) -> dict[str, Any]:
        inspected: dict[str, Any] = await self._client.call(
            lambda api: api.inspect_container(docker_id)
        )
        return inspected


def fault_refusal(pod: Pod, fault: Fault) -> str:
    """Return why a pod cannot have a fault, empty where it may be tried."""
    if pod.host_network and fault in _ON_NETWORK:
        return HOST_NETWORK
    return ""


@contextlib.contextmanager
def _log_leftover(what: str, docker_id: str) -> Iterator[None]:
    """Log a fault that cannot be undone, unless the container is gone."""
    try:
        yield
    except ContainerRuntimeError as error:
        if not (isinstance(error, DockerStatusError) and error.status == NOT_FOUND):
            logger.warning("%s is left %s: %s", docker_id[:12], what, error)


def _disconnect(docker_id: str, network: str) -> Callable[[DockerApi], Any]:
    return lambda api: api.disconnect_container_from_network(docker_id, network)


def _connect(
    docker_id: str, network: str, endpoint: Mapping[str, Any]
) -> Callable[[DockerApi], Any]:
    wanted = endpoint.get("IPAMConfig") or {}
    links = [tuple(link.split(":", 1)) for link in endpoint.get("Links") or ()]
    return lambda api: api.connect_container_to_network(
        docker_id,
        network,
        ipv4_address=wanted.get("IPv4Address") or None,
        ipv6_address=wanted.get("IPv6Address") or None,
        link_local_ips=wanted.get("LinkLocalIPs") or None,
        aliases=endpoint.get("Aliases") or None,
        links=links or None,
        driver_opt=endpoint.get("DriverOpts") or None,
    )
