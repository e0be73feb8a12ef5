"""Inject faults for which the CRI has no call: freeze, signal, cut the network.

The runtime reports the main process of a container; the rest is done with the kernel
of this machine, as root.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from probetui.errors import ContainerRuntimeError, wrap_os_errors
from probetui.k8s.pod import Pod
from probetui.kubelet.effects import Fault
from probetui.runtimes import fault_notes as kinds
from probetui.runtimes.cri import client as calls
from probetui.runtimes.cri import runtime_v1_pb2 as cri
from probetui.runtimes.cri.client import CriClient
from probetui.runtimes.cri.freezer import (
    CONTROL_GROUPS,
    ContainerFreezer,
    choose_freezer,
)
from probetui.runtimes.cri.local_processes import PROC, main_pid, send_signal, verbose
from probetui.runtimes.cri.pod_network import (
    NetworkState,
    disconnect_network,
    read_network_state,
    reconnect_network,
)
from probetui.runtimes.fault_notes import FaultNote, FaultNotes, format_undone

logger = logging.getLogger(__name__)

_ON_NETWORK = {Fault.CUT_NETWORK, Fault.RESTORE_NETWORK}

NOT_LINUX = "processes of containers can be reached on Linux only"
NOT_ROOT = "faults in processes of containers need root: run probetui as root"
HOST_NETWORK = "the pod uses the host network, which is never cut"


class _RunningContainer(Struct, frozen=True):
    """A running container: its main process and its sandbox."""

    cri_id: str
    pid: int
    sandbox_id: str


class CriFaultInjector:
    """Injects faults into any container; the caller checks whose it is.

    A runtime refuses commands in a frozen container, so exec probes are errors, and
    thaws it to kill it. A pod without network keeps its IP in the kubelet's eyes: the
    CNI plugin has assigned it.

    Args:
        client: the connection to the runtime.
        notes: records active faults on disk.
        control_groups: the mount point of the cgroup file systems; for tests.
    """

    def __init__(
        self,
        client: CriClient,
        notes: FaultNotes,
        control_groups: Path = CONTROL_GROUPS,
    ) -> None:
        self._client = client
        self._notes = notes
        self._control_groups = control_groups
        self._frozen: dict[str, ContainerFreezer] = {}
        self._cut: dict[str, NetworkState] = {}
        self._lock = asyncio.Lock()

    async def inject_fault(self, cri_id: str, fault: Fault) -> None:
        """Inject a fault into a running container.

        Raises `ContainerRuntimeError` with the reason if that is not possible.
        """
        if reason := _why_unsupported():
            raise ContainerRuntimeError(reason)
        async with self._lock:
            container = await self._find_running(cri_id)
            with wrap_os_errors():
                await self._inject_fault(container, fault)

    async def undo(self) -> None:
        """Undo the faults that were injected here.

        Faults of containers that are gone or out of reach are logged.
        """
        async with self._lock:
            for cri_id, freezer in tuple(self._frozen.items()):
                with _log_leftover("frozen", cri_id):
                    freezer.thaw()
                    self._notes.remove(kinds.FROZEN, cri_id)
            self._frozen.clear()
            for sandbox_id in tuple(self._cut):
                with _log_leftover("cut off", sandbox_id):
                    await self._restore_network(sandbox_id)
            self._cut.clear()

    async def undo_leftovers(self) -> list[str]:
        """Undo the faults left by a session that was killed; return sentences.

        The note of a fault that cannot be undone now, or that is on another runtime,
        stays.
        """
        done = []
        async with self._lock:
            for note in filter(self._notes.is_here, self._notes.leftovers()):
                with _log_leftover(note.kind, note.thing_id):
                    if await self._undo_note(note):
                        done.append(format_undone(note.thing_id[:13], note.kind))
                    self._notes.remove(note.kind, note.thing_id)
        return done

    async def _undo_note(self, note: FaultNote) -> bool:
        """Undo a noted fault; return False if its container or sandbox is gone."""
        if reason := _why_unsupported():
            raise ContainerRuntimeError(reason)
        if note.kind == kinds.CUT_OFF:
            namespace = await self._network_namespace(note.thing_id)
            if namespace is None:
                return False
            reconnect_network(namespace, NetworkState.from_json(note.how))
            return True
        try:
            container = await self._find_running(note.thing_id)
        except ContainerRuntimeError as error:
            if error.unreachable:
                raise
            return False
        self._thaw(container)
        return True

    async def _inject_fault(self, container: _RunningContainer, fault: Fault) -> None:
        match fault:
            case Fault.FREEZE:
                await self._freeze(container)
            case Fault.UNFREEZE:
                self._thaw(container)
            case Fault.STOP:
                send_signal(container.pid, container.cri_id, signal.SIGTERM)
            case Fault.KILL:
                send_signal(container.pid, container.cri_id, signal.SIGKILL)
                # A frozen process does not die, except on pure cgroup v2.
                self._thaw(container)
            case Fault.CUT_NETWORK:
                await self._cut_network(container)
            case Fault.RESTORE_NETWORK:
                await self._restore_network(container.sandbox_id)

    async def _find_running(self, cri_id: str) -> _RunningContainer:
        """Return a running container; its PID is in verbose responses only."""
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
            container.pod_sandbox_id
            for container in listed.containers
            if container.id == cri_id
        ]
        if not sandbox_ids:
            raise ContainerRuntimeError(f"no such container: {cri_id}")
        pid = main_pid(status.info, cri_id)
        return _RunningContainer(cri_id, pid, sandbox_ids[0])

    async def _freeze(self, container: _RunningContainer) -> None:
        freezer = self._frozen.get(container.cri_id)
        if freezer is None:
            freezer = choose_freezer(
                container.pid, container.cri_id, self._control_groups
            )
            if freezer.is_frozen():  # by another process, which undoes it
                return
        # A container frozen here has a freezer, which knows the processes that it
        # stopped.
        self._notes.write(kinds.FROZEN, container.cri_id)
        try:
            has_frozen = await freezer.freeze()
        except BaseException:
            freezer.thaw()
            self._notes.remove(kinds.FROZEN, container.cri_id)
            raise
        if has_frozen:
            self._frozen[container.cri_id] = freezer

    def _thaw(self, container: _RunningContainer) -> None:
        freezer = self._frozen.pop(container.cri_id, None)
        if freezer is None:
            freezer = choose_freezer(
                container.pid, container.cri_id, self._control_groups
            )
        freezer.thaw()
        self._notes.remove(kinds.FROZEN, container.cri_id)

    async def _cut_network(self, container: _RunningContainer) -> None:
        if container.sandbox_id in self._cut:
            return
        namespace = await self._network_namespace(container.sandbox_id)
        if namespace is None:
            raise ContainerRuntimeError(
                "the runtime does not report the pod's network namespace"
            )
        if _is_host_network(namespace):
            raise ContainerRuntimeError(HOST_NETWORK)
        before = read_network_state(namespace)
        self._notes.write(kinds.CUT_OFF, container.sandbox_id, before.as_json())
        disconnect_network(namespace, before)
        self._cut[container.sandbox_id] = before

    async def _restore_network(self, sandbox_id: str) -> None:
        if sandbox_id not in self._cut:
            return
        namespace = await self._network_namespace(sandbox_id)
        if namespace is not None:
            reconnect_network(namespace, self._cut[sandbox_id])
        del self._cut[sandbox_id]
        self._notes.remove(kinds.CUT_OFF, sandbox_id)

    async def _network_namespace(self, sandbox_id: str) -> Path | None:
        """Return the network namespace of a sandbox, None if the sandbox is gone."""
        request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id, verbose=True)
        answer = await self._client.call_unless_gone(calls.POD_SANDBOX_STATUS, request)
        if answer is None or answer.status.state != cri.SANDBOX_READY:
            return None
        if path := _network_file(answer.info):
            return path
        # A sandbox without a process of its own has the path above.
        return PROC / str(main_pid(answer.info, sandbox_id)) / "ns/net"


@contextlib.contextmanager
def _log_leftover(what: str, cri_id: str) -> Iterator[None]:
    """Log an error of undoing a fault, so that the next can be undone."""
    try:
        yield
    except (OSError, ContainerRuntimeError) as error:
        logger.warning("%s is left %s: %s", cri_id[:13], what, error)


def fault_refusal(pod: Pod, fault: Fault) -> str:
    """Return why a fault cannot be injected into a pod, empty if it may be tried."""
    if reason := _why_unsupported():
        return reason
    if pod.host_network and fault in _ON_NETWORK:
        return HOST_NETWORK
    return ""


def _why_unsupported() -> str:
    if sys.platform != "linux":
        return NOT_LINUX
    return NOT_ROOT if os.geteuid() else ""


def _network_file(info: Mapping[str, str]) -> Path | None:
    """Return the bound network namespace of a sandbox, if the runtime names one."""
    spec = verbose(info).get("runtimeSpec") or {}
    for namespace in (spec.get("linux") or {}).get("namespaces") or ():
        path = Path(namespace.get("path") or "")
        if namespace.get("type") == "network" and _is_namespace_file(path):
            return path
    return None


def _is_namespace_file(file: Path) -> bool:
    """Return whether a file is a namespace: they have a file system of their own."""
    try:
        return file.stat().st_dev == (PROC / "self/ns/net").stat().st_dev
    except OSError:
        return False


def _is_host_network(namespace: Path) -> bool:
    """Return whether a namespace is the network of this process."""
    return namespace.samefile(PROC / "self/ns/net")
