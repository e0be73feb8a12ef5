"""What happens to containers in real life, done on purpose where the CRI has no call.

The runtime says which process a container is; the rest is between that process and the
kernel of this machine, of which one has to be root.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from probetui.errors import ContainerRuntimeError
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Disruption
from probetui.runtimes import disruption_notes as kinds
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import Client
from probetui.runtimes.cri.faults import RefusedError, system_refusals
from probetui.runtimes.cri.freezer import CONTROL_GROUPS, Standstill, standstill
from probetui.runtimes.cri.local_processes import PROC, main_process, send, verbose
from probetui.runtimes.cri.network import (
    Unplugged,
    look_at_network,
    plug,
    unplug,
)
from probetui.runtimes.disruption_notes import (
    DisruptionNote,
    DisruptionNotes,
    format_undone,
)

logger = logging.getLogger(__name__)

_ON_NETWORK = {Disruption.CUT_NETWORK, Disruption.RESTORE_NETWORK}

NOT_LINUX = "only Linux lets processes of containers be reached"
NOT_ROOT = "only root may do that to processes of containers: run probetui as root"
HOST_NETWORK = "the pod is in the network of the host, which is not cut"


@dataclass(frozen=True, slots=True)
class _Found:
    """A container that runs: its main process and the sandbox that it is in."""

    cri_id: str
    pid: int
    sandbox_id: str


class Disruptions:
    """Freezes, signals and cuts off containers of whomever; the caller knows whose.

    A runtime refuses commands in a frozen container, so that exec probes are errors,
    and thaws it to kill it. A pod that is cut off keeps its address as far as the
    kubelet is concerned: that is the CNI plugin's, and not taken away by a cable.

    Args:
        client: the connection to the runtime.
        notes: where it is noted what is in force.
        control_groups: where they are mounted; for tests.
    """

    def __init__(
        self,
        client: Client,
        notes: DisruptionNotes,
        control_groups: Path = CONTROL_GROUPS,
    ) -> None:
        self._client = client
        self._notes = notes
        self._control_groups = control_groups
        self._frozen: dict[str, Standstill] = {}
        self._cut: dict[str, Unplugged] = {}
        self._one_at_a_time = asyncio.Lock()

    async def disrupt(self, cri_id: str, disruption: Disruption) -> None:
        """Do it to a container that runs.

        Raises `ContainerRuntimeError`, which says why it cannot be done.
        """
        if reason := _why_nobody_may():
            raise ContainerRuntimeError(reason)
        async with self._one_at_a_time:
            found = await self._find(cri_id)
            with system_refusals():
                await self._disrupt(found, disruption)

    async def undo(self) -> None:
        """Let go on and join again what was frozen and cut off here.

        What is gone, or cannot be reached any more, is left, and the log says so.
        """
        async with self._one_at_a_time:
            for cri_id, way in tuple(self._frozen.items()):
                with _left_with_a_word("frozen", cri_id):
                    way.end()
                    self._notes.remove(kinds.FROZEN, cri_id)
            self._frozen.clear()
            for sandbox_id in tuple(self._cut):
                with _left_with_a_word("cut off", sandbox_id):
                    await self._join(sandbox_id)
            self._cut.clear()

    async def undo_left(self) -> list[str]:
        """Let go on and join again what a session left that was killed.

        Returns what was done, in sentences. What cannot be undone now stays noted, and
        so does what is on another runtime.
        """
        done = []
        async with self._one_at_a_time:
            for note in filter(self._notes.is_here, self._notes.left()):
                with _left_with_a_word(note.kind, note.thing_id):
                    if await self._undo_note(note):
                        done.append(format_undone(note.thing_id[:13], note.kind))
                    self._notes.remove(note.kind, note.thing_id)
        return done

    async def _undo_note(self, note: DisruptionNote) -> bool:
        """Undo one; False if it is gone, with whatever was done to it."""
        if reason := _why_nobody_may():
            raise ContainerRuntimeError(reason)
        if note.kind == kinds.CUT_OFF:
            namespace = await self._network_of(note.thing_id)
            if namespace is None:
                return False
            plug(namespace, Unplugged.from_json(note.how))
            return True
        try:
            found = await self._find(note.thing_id)
        except ContainerRuntimeError as error:
            if error.unreachable:
                raise
            return False
        self._thaw(found)
        return True

    async def _disrupt(self, found: _Found, disruption: Disruption) -> None:
        match disruption:
            case Disruption.FREEZE:
                await self._freeze(found)
            case Disruption.UNFREEZE:
                self._thaw(found)
            case Disruption.STOP:
                send(found.pid, found.cri_id, signal.SIGTERM)
            case Disruption.KILL:
                send(found.pid, found.cri_id, signal.SIGKILL)
                # What stands still does not even die, but where there are only groups
                # of the second kind.
                self._thaw(found)
            case Disruption.CUT_NETWORK:
                await self._cut_off(found)
            case Disruption.RESTORE_NETWORK:
                await self._join(found.sandbox_id)

    async def _find(self, cri_id: str) -> _Found:
        """Return a container that runs, by way of what only verbose answers have."""
        status = await self._client.call(
            calls.CONTAINER_STATUS,
            cri.ContainerStatusRequest(container_id=cri_id, verbose=True),
        )
        if status.status.state != cri.CONTAINER_RUNNING:
            state = cri.ContainerState.Name(status.status.state)
            raise ContainerRuntimeError(f"container is in {state} state")
        listed = await self._client.call(
            calls.LIST_CONTAINERS,
            cri.ListContainersRequest(filter=cri.ContainerFilter(id=cri_id)),
        )
        sandbox_ids = [
            each.pod_sandbox_id for each in listed.containers if each.id == cri_id
        ]
        if not sandbox_ids:
            raise ContainerRuntimeError(f"no such container: {cri_id}")
        pid = main_process(status.info, cri_id)
        return _Found(cri_id, pid, sandbox_ids[0])

    async def _freeze(self, found: _Found) -> None:
        way = standstill(found.pid, found.cri_id, self._control_groups)
        if way.is_frozen():  # by somebody who may not want it undone
            return
        self._notes.write(kinds.FROZEN, found.cri_id)
        try:
            did_it = await way.begin()
        except BaseException:
            way.end()
            self._notes.remove(kinds.FROZEN, found.cri_id)
            raise
        if did_it:
            self._frozen[found.cri_id] = way

    def _thaw(self, found: _Found) -> None:
        way = self._frozen.pop(found.cri_id, None)
        if way is None:
            way = standstill(found.pid, found.cri_id, self._control_groups)
        way.end()
        self._notes.remove(kinds.FROZEN, found.cri_id)

    async def _cut_off(self, found: _Found) -> None:
        if found.sandbox_id in self._cut:
            return
        namespace = await self._network_of(found.sandbox_id)
        if namespace is None:
            raise ContainerRuntimeError("the runtime does not say which network it is")
        if _is_of_this_machine(namespace):
            raise ContainerRuntimeError(HOST_NETWORK)
        before = look_at_network(namespace)
        self._notes.write(kinds.CUT_OFF, found.sandbox_id, before.as_json())
        unplug(namespace, before)
        self._cut[found.sandbox_id] = before

    async def _join(self, sandbox_id: str) -> None:
        if sandbox_id not in self._cut:
            return
        namespace = await self._network_of(sandbox_id)
        if namespace is not None:
            plug(namespace, self._cut[sandbox_id])
        del self._cut[sandbox_id]
        self._notes.remove(kinds.CUT_OFF, sandbox_id)

    async def _network_of(self, sandbox_id: str) -> Path | None:
        """Return the network namespace of a sandbox, None if it is gone."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        try:
            answer = await self._client.call(calls.POD_SANDBOX_STATUS, request)
        except RefusedError as error:
            if error.code is grpc.StatusCode.NOT_FOUND:
                return None
            raise
        if answer.status.state != cri.SANDBOX_READY:
            return None
        if path := _network_file(answer.info):
            return path
        # Where a sandbox has no process of its own, only the path above is known.
        return PROC / str(main_process(answer.info, sandbox_id)) / "ns/net"


@contextlib.contextmanager
def _left_with_a_word(what: str, cri_id: str) -> Iterator[None]:
    """Go on with the rest when one cannot be undone, and say so."""
    try:
        yield
    except (OSError, ContainerRuntimeError) as error:
        logger.warning("%s is left %s: %s", cri_id[:13], what, error)


def why_not(pod: Pod, disruption: Disruption) -> str:
    """Return why it cannot be done here to a pod, empty where it may be tried."""
    if reason := _why_nobody_may():
        return reason
    if pod.host_network and disruption in _ON_NETWORK:
        return HOST_NETWORK
    return ""


def _why_nobody_may() -> str:
    if sys.platform != "linux":
        return NOT_LINUX
    return NOT_ROOT if os.geteuid() else ""


def _network_file(info: Mapping[str, str]) -> Path | None:
    """Return the file of a sandbox's network namespace, if it has one here."""
    spec = verbose(info).get("runtimeSpec") or {}
    for each in (spec.get("linux") or {}).get("namespaces") or ():
        path = Path(each.get("path") or "")
        if each.get("type") == "network" and _is_network(path):
            return path
    return None


def _is_network(file: Path) -> bool:
    """Tell whether a file is a namespace's: those are on a file system of their own."""
    try:
        return file.stat().st_dev == (PROC / "self/ns/net").stat().st_dev
    except OSError:
        return False


def _is_of_this_machine(namespace: Path) -> bool:
    """Tell whether that is the network which this process is in itself."""
    return namespace.samefile(PROC / "self/ns/net")
