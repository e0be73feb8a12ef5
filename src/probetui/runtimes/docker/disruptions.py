"""What happens to containers in real life, done on purpose with Docker's own means."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Disruption
from probetui.runtimes import disruption_notes as kinds
from probetui.runtimes.disruption_notes import (
    DisruptionNote,
    DisruptionNotes,
    format_undone,
)
from probetui.runtimes.docker.api import Api
from probetui.runtimes.docker.client import Client
from probetui.runtimes.docker.faults import CONFLICT, NOT_FOUND, RefusedError
from probetui.runtimes.docker.translate import HOST, OF_ANOTHER, Seen, own_address

logger = logging.getLogger(__name__)

_SIGNALS = {Disruption.STOP: "SIGTERM", Disruption.KILL: "SIGKILL"}
_ON_NETWORK = {Disruption.CUT_NETWORK, Disruption.RESTORE_NETWORK}

HOST_NETWORK = "the pod is in the network of the host, which is not cut"
NETWORK_OF_ANOTHER = "it shares the network of another container, which is not cut"
NO_NETWORK = "it is in no network of Docker's that it could be taken out of"
NO_NETWORK_MODE = "none"


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a container was before it was cut off: its networks and its address.

    Of each network it is kept what the container is called there, and what was asked
    for: an address that Docker chose by itself may be another one next time.
    """

    networks: Mapping[str, Mapping[str, Any]]
    ip: str


class Disruptions:
    """Freezes, signals and cuts off containers of whomever; the caller knows whose.

    Frozen is what Docker calls paused: the main process and all others stand still.
    Docker refuses commands in such a container, so that exec probes are errors, and
    wakes it when it is to be stopped.

    What is cut off keeps its address as far as the kubelet is concerned: in a cluster
    it is the CNI plugin's, and not taken away by a cable.

    Args:
        client: the connection to the daemon.
        changed: told that a container is not as it was, by its ID.
        notes: where it is noted what is in force.
    """

    def __init__(
        self,
        client: Client,
        changed: Callable[[str], None],
        notes: DisruptionNotes,
    ) -> None:
        self._client = client
        self._changed = changed
        self._notes = notes
        self._frozen: set[str] = set()
        self._cuts: dict[str, _Cut] = {}
        self._one_at_a_time = asyncio.Lock()

    async def disrupt(
        self, docker_id: str, disruption: Disruption, *, in_network_of: str
    ) -> None:
        """Do it; raises `ContainerRuntimeError`, most often in the daemon's words.

        Args:
            docker_id: the container.
            disruption: what to do.
            in_network_of: which container is cut off; its own ID, or its sandbox's.
        """
        async with self._one_at_a_time:
            match disruption:
                case Disruption.FREEZE:
                    await self._freeze(docker_id)
                case Disruption.UNFREEZE:
                    await self._thaw(docker_id)
                case Disruption.STOP | Disruption.KILL:
                    signal = _SIGNALS[disruption]
                    await self._client.call(
                        lambda api: api.kill(docker_id, signal=signal)
                    )
                case Disruption.CUT_NETWORK:
                    await self._cut(in_network_of)
                case Disruption.RESTORE_NETWORK:
                    await self._join(in_network_of)

    @contextlib.asynccontextmanager
    async def paused(self, docker_ids: Iterable[str]) -> AsyncIterator[None]:
        """Have containers stand still for the length of a block.

        Those that do already go on doing so; those that have ended meanwhile are left.

        Raises:
            ContainerRuntimeError: one of them cannot be paused.
        """
        async with self._one_at_a_time:
            before = set(self._frozen)
            try:
                for docker_id in docker_ids:
                    with _unless_ended():
                        await self._freeze(docker_id)
                yield
            finally:
                for docker_id in self._frozen - before:
                    with _left_with_a_word("frozen", docker_id):
                        await self._thaw(docker_id)

    async def undo(self) -> None:
        """Let go on and join again what was frozen and cut off here.

        What is gone is left; so is what cannot be undone, and the log says so.
        """
        async with self._one_at_a_time:
            for docker_id in tuple(self._frozen):
                with _left_with_a_word("frozen", docker_id):
                    await self._thaw(docker_id)
            for docker_id in tuple(self._cuts):
                with _left_with_a_word("cut off", docker_id):
                    await self._join(docker_id)

    async def undo_left(self) -> list[str]:
        """Let go on and join again what a session left that was killed.

        Returns what was done, in sentences. What cannot be undone now stays noted.
        """
        done = []
        async with self._one_at_a_time:
            for note in self._notes.left():
                with _left_with_a_word(note.kind, note.thing_id):
                    if await self._undo_note(note):
                        what = f"container {note.thing_id[:12]}"
                        done.append(format_undone(what, note.kind))
        return done

    async def _undo_note(self, note: DisruptionNote) -> bool:
        """Undo one; False if there was nothing to undo any more."""
        try:
            inspected = await self._inspect(note.thing_id)
        except RefusedError as error:
            # On another daemon it may be there.
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
                await self._join(note.thing_id)
                return True
            case _:
                return False

    def address_before(self, docker_id: str) -> str:
        """Return the address that a container had which is cut off, else nothing."""
        cut = self._cuts.get(docker_id)
        return "" if cut is None else cut.ip

    def as_before(self, seen: Seen) -> Seen:
        """Return a sandbox that is cut off with the address that it had."""
        sandbox = seen.sandbox
        if sandbox is None or sandbox.ip or not sandbox.is_ready:
            return seen
        ip = self.address_before(seen.docker_id)
        return replace(seen, sandbox=replace(sandbox, ip=ip)) if ip else seen

    async def _freeze(self, docker_id: str) -> None:
        inspected = await self._inspect(docker_id)
        if not inspected["State"].get("Paused"):
            # Known before it is done, so that it is undone whatever comes.
            self._notes.write(kinds.FROZEN, docker_id)
            self._frozen.add(docker_id)
            await self._client.call(lambda api: api.pause(docker_id))

    async def _thaw(self, docker_id: str) -> None:
        self._frozen.discard(docker_id)
        inspected = await self._inspect(docker_id)
        if inspected["State"].get("Paused"):
            await self._client.call(lambda api: api.unpause(docker_id))
        self._notes.remove(kinds.FROZEN, docker_id)

    async def _cut(self, docker_id: str) -> None:
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
        # Known before it is done, so that no relist in between sees a pod without IP.
        cut = _Cut(networks, own_address(inspected))
        how = {"networks": cut.networks, "ip": cut.ip}
        self._notes.write(kinds.CUT_OFF, docker_id, how)
        self._cuts[docker_id] = cut
        try:
            for name in networks:
                await self._client.call(_leaving(docker_id, name))
        except BaseException:
            await self._join(docker_id)
            raise
        finally:
            self._changed(docker_id)

    async def _join(self, docker_id: str) -> None:
        cut = self._cuts.get(docker_id)
        if cut is None:
            return
        try:
            inspected = await self._inspect(docker_id)
            # One that was started again meanwhile is in its first network already.
            here = inspected["NetworkSettings"].get("Networks") or {}
            for name, endpoint in cut.networks.items():
                if name not in here:
                    await self._client.call(_joining(docker_id, name, endpoint))
        except RefusedError as error:
            if error.status != NOT_FOUND:
                raise
        del self._cuts[docker_id]
        self._notes.remove(kinds.CUT_OFF, docker_id)
        self._changed(docker_id)

    async def _inspect(self, docker_id: str) -> dict[str, Any]:
        found: dict[str, Any] = await self._client.call(
            lambda api: api.inspect_container(docker_id)
        )
        return found


def why_not(pod: Pod, disruption: Disruption) -> str:
    """Return why it cannot be done to a pod, empty where it may be tried."""
    if pod.host_network and disruption in _ON_NETWORK:
        return HOST_NETWORK
    return ""


@contextlib.contextmanager
def _unless_ended() -> Iterator[None]:
    """Go on if a container is not there, or does not run, any more."""
    try:
        yield
    except RefusedError as error:
        if error.status not in {CONFLICT, NOT_FOUND}:
            raise


@contextlib.contextmanager
def _left_with_a_word(what: str, docker_id: str) -> Iterator[None]:
    """Go on with the rest when one cannot be undone, and say so if it is there."""
    try:
        yield
    except ContainerRuntimeError as error:
        if not (isinstance(error, RefusedError) and error.status == NOT_FOUND):
            logger.warning("%s is left %s: %s", docker_id[:12], what, error)


def _leaving(docker_id: str, network: str) -> Callable[[Api], Any]:
    return lambda api: api.disconnect_container_from_network(docker_id, network)


def _joining(
    docker_id: str, network: str, endpoint: Mapping[str, Any]
) -> Callable[[Api], Any]:
    wanted = endpoint.get("IPAMConfig") or {}
    links = [tuple(each.split(":", 1)) for each in endpoint.get("Links") or ()]
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
